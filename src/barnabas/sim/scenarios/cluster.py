"""What a seed makes of a world with several nodes: as one_node.py, with replicas, faults between nodes, and an operator
who moves replicas, elects leaders and adds partitions meanwhile.

Who is struck is drawn too: any node, or the one that matters most just now, because it leads the quorum, a partition or
a coordinator's partition.
"""

from random import Random
from typing import ClassVar

from barnabas.model.errors import ErrorCode
from barnabas.sim import inspection
from barnabas.sim.computer import Computer
from barnabas.sim.faults import FAULTS, OF_CLUSTERS, Fault
from barnabas.sim.faults.calm_kill import CalmKill
from barnabas.sim.faults.many_nodes import PowerLossOfAll
from barnabas.sim.requests import create_topic
from barnabas.sim.scenarios.one_node import Scenario
from barnabas.sim.workloads.base import Workload
from barnabas.sim.workloads.operator import Operator
from barnabas.sim.workloads.transactions import BackToBackProducer
from barnabas.sim.world import World

_KINDS: tuple[type[Fault], ...] = (*FAULTS, *OF_CLUSTERS, CalmKill)
REPLICAS = 3


class ClusterScenario(Scenario):
    nodes = REPLICAS
    replicas: ClassVar[dict[str, int]] = {}  # topic: how many it has, where that is not REPLICAS

    def __init__(self, seed: int) -> None:
        random = self.random = Random(seed ^ 0xC1A5)
        self.kinds: list[type[Fault]] = random.sample(_KINDS, random.randint(1, 6))
        self.loses_unflushed = any(kind.loses_unflushed for kind in self.kinds)
        self.all_flushed = random.random() < 0.2
        self.fault_seconds = random.choice((10.0, 20.0, 40.0))
        self.settings = {
            "offsets.topic.num.partitions": "2",
            "transaction.state.log.num.partitions": "2",
            "min.insync.replicas": "2",
            "log.flush.offset.checkpoint.interval.ms": random.choice(("1000", "5000", "60000")),
            "replica.high.watermark.checkpoint.interval.ms": random.choice(("500", "5000")),
            "log.retention.check.interval.ms": "7000",
            "log.cleaner.backoff.ms": "3000",
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": "2000",
            "broker.session.timeout.ms": random.choice(("3000", "9000")),
            "broker.heartbeat.interval.ms": random.choice(("500", "2000")),
            "replica.lag.time.max.ms": random.choice(("1500", "5000", "30000")),
            "leader.imbalance.check.interval.seconds": random.choice(("5", "300")),
        }
        if self.all_flushed:
            self.settings["log.flush.interval.messages"] = "1"
        shape = {
            "internal.segment.bytes": random.choice(("1500", "6000", "1000000")),
            "index.interval.bytes": random.choice(("0", "300", "4096")),
        }
        flushed = {"flush.messages": "1"} | shape
        tx = flushed if PowerLossOfAll in self.kinds else random.choice((shape, shape, flushed))
        self.topics = {"flushed": (2, flushed), "plain": (1, shape), "tx": (2, tx), "copies": (1, tx)}

    def prepare(self, world: World) -> None:
        super().prepare(world)
        for name, (_, configs) in self.topics.items():
            least = configs.get("min.insync.replicas", self.settings["min.insync.replicas"])
            world.min_insync[name] = min(int(least), self.replicas.get(name, REPLICAS))

    def begin(self, world: World) -> None:
        replicas, most = self.replicas, min(REPLICAS, len(world.computers))

        class Setup(Workload):
            topics = self.topics

            async def step(self) -> None:
                for name, (partitions, configs) in self.topics.items():
                    code = await create_topic(self.client, name, partitions, configs, replicas.get(name, most))
                    if code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
                        return
                self.finishing = True

        setup = Setup(world, "setup")
        world.run_until(setup.task.done, 30)
        setup.task.result()
        self.add_clients(world)
        self.add_operators(world)

    def add_operators(self, world: World) -> None:
        for workload in world.workloads:
            workload.pause_seconds *= 3  # three nodes do three times the work for each request
        if self.random.random() < 0.5:
            Operator(world, "operator")
        if self.random.random() < 0.4:
            quick = BackToBackProducer(world, "back-to-back")
            quick.partitions = [("tx", 0), ("tx", 1), ("flushed", 0), ("flushed", 1)]

    def victim(self, world: World) -> Computer:
        random = self.random
        choice = random.random()
        chosen: Computer | None = None
        if choice < 0.25:
            chosen = inspection.controller(world)
        elif choice < 0.6 and (image := world.newest_image()) is not None:
            names = sorted(name for name in image.topics if not name.startswith("admin"))
            if names:
                partition = random.choice(image.topics[random.choice(names)].partitions)
                chosen = world.computers[partition.leader - 1] if partition.leader > 0 else None
        return chosen if chosen is not None else random.choice(world.computers)
