"""What a seed makes of the world: topics, clients, and which faults strike when.

A run has four parts: the clients begin, faults strike with quiet times between them, everything heals and the clients
go on for longer than every timeout, and at last they finish and everything is read and compared.
"""

import asyncio
from collections.abc import Iterator
from random import Random

from barnabas.sim.checkers import Final
from barnabas.sim.computer import Computer
from barnabas.sim.faults import FAULTS, Fault
from barnabas.sim.history import Partition
from barnabas.sim.requests import create_topic
from barnabas.sim.workloads.admin import Admin
from barnabas.sim.workloads.base import Workload
from barnabas.sim.workloads.copier import Copier
from barnabas.sim.workloads.group_member import ClassicMember, ConsumerMember
from barnabas.sim.workloads.idempotent_producer import IdempotentProducer
from barnabas.sim.workloads.plain_producer import PlainProducer
from barnabas.sim.workloads.reader import Reader
from barnabas.sim.workloads.transactions import TransactionalProducer
from barnabas.sim.world import World


class Scenario:
    nodes = 1
    quiet_seconds = 20.0  # after the faults; longer than a transaction's and a session's timeout

    def __init__(self, seed: int) -> None:
        random = self.random = Random(seed ^ 0x5EED)
        self.kinds: list[type[Fault]] = random.sample(FAULTS, random.randint(1, 5))
        self.loses_unflushed = any(kind.loses_unflushed for kind in self.kinds)
        self.all_flushed = random.random() < (0.6 if self.loses_unflushed else 0.2)
        self.fault_seconds = random.choice((10.0, 20.0, 40.0))
        self.settings = {
            "offsets.topic.num.partitions": "2",
            "transaction.state.log.num.partitions": "2",
            "log.flush.offset.checkpoint.interval.ms": random.choice(("1000", "5000", "60000")),
            "log.retention.check.interval.ms": "7000",
            "log.cleaner.backoff.ms": "3000",
            "transaction.abort.timed.out.transaction.cleanup.interval.ms": "2000",
        }
        if self.all_flushed:
            self.settings["log.flush.interval.messages"] = "1"
        shape = {
            "internal.segment.bytes": random.choice(("1500", "6000", "1000000")),
            "index.interval.bytes": random.choice(("0", "300", "4096")),
        }
        flushed = {"flush.messages": "1"} | shape
        tx = flushed if self.loses_unflushed else random.choice((shape, flushed))
        self.topics: dict[str, tuple[int, dict[str, str]]] = {
            "flushed": (2, flushed),
            "plain": (1, shape),
            "tx": (2, tx),
            "copies": (1, tx),
        }

    # --- the beginning ----------------------------------------------------------------------------------------------

    def make_world(self, seed: int, nodes: int) -> World:
        return World(seed, nodes, self.settings)

    def prepare(self, world: World) -> None:
        for name, (count, configs) in self.topics.items():
            world.topics[name] = count
            world.losses.flushed[name] = self.all_flushed or "flush.messages" in configs
        world.losses.flushed["__consumer_offsets"] = self.all_flushed
        world.losses.flushed["__transaction_state"] = True

    def begin(self, world: World) -> None:
        class Setup(Workload):
            topics = self.topics

            async def step(self) -> None:
                for name, (partitions, configs) in self.topics.items():
                    await create_topic(self.client, name, partitions, configs)
                self.finishing = True

        setup = Setup(world, "setup")
        world.run_until(setup.task.done, 30)
        setup.task.result()
        self.add_clients(world)

    def add_clients(self, world: World) -> None:
        random = self.random
        mixed: list[Partition] = [("flushed", 0), ("flushed", 1), ("plain", 0)]
        tx: list[Partition] = [("tx", 0), ("tx", 1), ("flushed", 0)]
        for number in range(random.randint(1, 3)):
            IdempotentProducer(world, f"idempotent{number}").partitions = mixed
        PlainProducer(world, "plain0").partitions = mixed
        for number in range(random.randint(0, 2)):
            producer = TransactionalProducer(world, f"tx{number}")
            producer.partitions = tx
            producer.generation = random.choice((1, 2))
        if self.all_flushed or not self.loses_unflushed:
            for number in range(random.choice((0, 1, 1, 2))):
                copier = Copier(world, f"copier{number}")
                copier.source, copier.target, copier.generation = ("tx", 0), ("copies", 0), random.choice((1, 2))
        for number in range(random.randint(0, 2)):
            classic = ClassicMember(world, f"classic{number}")
            classic.group, classic.topic, classic.partition_count = "classic-group", "flushed", 2
        for number in range(random.randint(0, 2)):
            member = ConsumerMember(world, f"consumer{number}")
            member.group, member.topic = "consumer-group", "flushed"
        everything = self.partitions()
        for committed_only in (False, True):
            reader = Reader(world, f"reader-{'committed' if committed_only else 'all'}")
            reader.partitions, reader.committed_only = everything, committed_only
        Admin(world, "admin")

    def partitions(self) -> list[Partition]:
        return [(name, index) for name, (count, _) in self.topics.items() for index in range(count)]

    # --- trouble ----------------------------------------------------------------------------------------------------

    def victim(self, world: World) -> Computer:
        return world.computers[0]

    async def trouble(self, world: World) -> None:
        """Faults one after another, now and then two at once; returns when all have healed."""
        end = world.loop.now + self.fault_seconds
        random = self.random
        while world.loop.now < end:
            await asyncio.sleep(random.choice((0.2, 1.0, 4.0)) * random.random())
            chosen = [random.choice(self.kinds)]
            if random.random() < 0.2:
                chosen.append(random.choice(self.kinds))
            faults = [kind(world, self.victim(world), Random(random.getrandbits(64))) for kind in chosen]
            for fault in faults:
                world.count(fault.name)
            await asyncio.gather(*(fault.strike() for fault in faults))

    def heal(self, world: World) -> None:
        world.trace.note("--- everything heals")
        world.network.heal()
        for computer in world.all_computers:
            computer.platter.heal()
            computer.wall_offset_seconds = 0.0
            computer.slow_sync_seconds = 0.0
            computer.resume()
            if computer.is_stopping:  # whoever asked it to waits no longer for its end
                computer.kill()
            if not computer.is_up:
                computer.start()

    # --- the end ----------------------------------------------------------------------------------------------------

    def settle(self, world: World) -> Iterator[str]:
        """What happens between the faults and the end of the clients; gives what went wrong in it."""
        yield from ()

    def settled(self, world: World) -> Iterator[str]:
        """The same, after the last client has ended."""
        yield from ()

    def problems(self, world: World, finals: list[Final]) -> Iterator[str]:
        """What only this scenario checks; what was read at the end by cluster."""
        yield from ()
