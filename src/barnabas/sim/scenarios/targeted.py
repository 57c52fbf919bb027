"""Scenarios that aim at one promise each, as swarm testing does: few kinds of faults, settings and topics chosen so
that the rare coincidence is common. The general scenario (cluster.py) has everything and meets these seldom.

| name             | what is common in it                                                                            |
|------------------|-------------------------------------------------------------------------------------------------|
| `pairs`          | topics of two replicas: one that is down leaves one, which may or may not acknowledge alone     |
| `zones`          | such topics, where one replica is enough for a commit, but two zones have to be in sync         |
| `cut-logs`       | followers that lose the end of their log and catch up slowly, while leaders are killed          |
| `late-leaders`   | leaders that are cut off, replaced, and heard again                                             |
| `late-requests`  | such leaders, whose requests from before reach the controller when they follow and are behind   |
| `large-requests` | requests that name thousands of things, which must not hold the loop (callback_cost.py)         |
| `abandoned`      | transactions whose producer never returns, on one node whose clock is wrong at boot             |
| `page-cache`     | one node is killed before it has flushed, and loses power after it has recovered                |
| `unheard-ends`   | one node loses power while the ends of transactions, asked for once, are not flushed            |
| `lost-markers`   | such transactions on three nodes, while leaders are cut off and replaced                        |
| `slow-disks`     | all machines lose power while some of them have not flushed                                     |
| `moved-groups`   | groups that move to another coordinator while the former one is well and still asked            |
| `strangers`      | access rules and logins; somebody without rights asks for everything while nodes are killed     |
| `distant`        | nodes that are far from each other, with followers that send fetches ahead                      |
| `linked`         | two clusters and a link, which is promoted and reversed (linked/scenario.py)                    |
"""

from typing import ClassVar

from barnabas.sim.faults.base import Fault
from barnabas.sim.faults.calm_kill import CalmKill
from barnabas.sim.faults.clean_restart import CleanRestart
from barnabas.sim.faults.clock_jump import WrongClockAtBoot
from barnabas.sim.faults.kill import Kill
from barnabas.sim.faults.links import Slow
from barnabas.sim.faults.many_nodes import PowerLossOfSlowDisks
from barnabas.sim.faults.moved_leader import MovedCoordinator
from barnabas.sim.faults.pause import Pause
from barnabas.sim.faults.power_loss import KillThenPowerLoss, PowerLoss, PowerLossAtAnEnd
from barnabas.sim.faults.replicas_in_turn import CutLog, DelayedProposal, InTurn, LateLeader
from barnabas.sim.linked.scenario import Linked
from barnabas.sim.scenarios.cluster import ClusterScenario
from barnabas.sim.scenarios.one_node import Scenario
from barnabas.sim.workloads.abandoned import AbandoningProducer, UnheardProducer
from barnabas.sim.workloads.idempotent_producer import IdempotentProducer
from barnabas.sim.workloads.large_requests import LargeRequests
from barnabas.sim.workloads.lasting_member import LastingMember, VisitingMember
from barnabas.sim.workloads.plain_producer import PlainProducer
from barnabas.sim.workloads.rules import Rules
from barnabas.sim.workloads.stranger import Stranger
from barnabas.sim.world import World


class Targeted(ClusterScenario):
    aims: ClassVar[tuple[type[Fault], ...]]  # one of these is always there
    beside: ClassVar[tuple[type[Fault], ...]]  # and these at times

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        random = self.random
        self.kinds = [*self.aims, *random.sample(self.beside, random.randint(0, len(self.beside)))]
        self.loses_unflushed = any(kind.loses_unflushed for kind in self.kinds)
        self.fault_seconds = 30.0
        self.settings |= {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}


class Pairs(Targeted):
    aims = (InTurn,)
    beside = (Kill, CleanRestart, CalmKill, Pause)
    replicas: ClassVar[dict[str, int]] = {"flushed": 2, "plain": 2, "copies": 2}

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        count, configs = self.topics["plain"]
        self.topics["plain"] = (count, configs | {"min.insync.replicas": "1"})

    def prepare(self, world: World) -> None:
        super().prepare(world)
        world.losses.single_copies = True


class Zones(Targeted):
    aims = (InTurn,)
    beside = (Kill, CleanRestart, CalmKill, Pause)
    replicas: ClassVar[dict[str, int]] = {"flushed": 2, "plain": 2, "copies": 2}

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.settings |= {"min.insync.replicas": "1", "min.insync.zones": "2"}

    def prepare(self, world: World) -> None:
        super().prepare(world)
        world.min_insync |= dict.fromkeys(self.topics, 2)  # every computer has a rack of its own


class CutLogs(Targeted):
    aims = (CutLog,)
    beside = (Kill, PowerLoss, Slow)
    replicas: ClassVar[dict[str, int]] = {"plain": 2, "tx": 2}

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.settings |= {
            "replica.fetch.max.bytes": "300",  # a batch or two: whoever comes back is behind for a while
            "replica.lag.time.max.ms": "30000",
            "log.flush.offset.checkpoint.interval.ms": "60000",
        }
        self.settings.pop("log.flush.interval.messages", None)
        self.all_flushed = False
        shape = {"internal.segment.bytes": "1000000"}  # a closed segment is flushed
        self.topics |= {"plain": (1, shape), "tx": (2, shape), "copies": (1, shape)}


class LateLeaders(Targeted):
    aims: ClassVar[tuple[type[Fault], ...]] = (LateLeader,)
    beside: ClassVar[tuple[type[Fault], ...]] = (Kill, Slow, Pause)

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.settings["replica.lag.time.max.ms"] = "1500"


class LateRequests(LateLeaders):
    aims = (DelayedProposal,)
    beside = ()

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.settings |= {
            "replica.lag.time.max.ms": "1000",  # it speaks before it knows that the controller does not hear it
            "replica.fetch.max.bytes": "300",  # a batch or two: whoever comes back is behind for a while
        }


class ManyAtOnce(Targeted):
    aims = (Slow,)
    beside = (Kill, CleanRestart)

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.fault_seconds = 10.0

    def add_clients(self, world: World) -> None:
        super().add_clients(world)
        for number in range(2):
            LargeRequests(world, f"large{number}")


class Abandoned(Scenario):
    """One node, so that whoever reads the transactions again is the one whose clock was wrong."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        others: tuple[type[Fault], ...] = (Kill, CleanRestart)
        self.kinds = [WrongClockAtBoot, *self.random.sample(others, self.random.randint(0, 2))]
        self.loses_unflushed = False
        self.fault_seconds = 15.0

    def add_clients(self, world: World) -> None:
        add_abandoning(world)


class PageCache(Scenario):
    """One node with small segments, so that some are closed and not flushed yet."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.kinds = [KillThenPowerLoss]
        self.loses_unflushed, self.all_flushed = True, False
        self.fault_seconds = 15.0
        self.settings["log.flush.offset.checkpoint.interval.ms"] = "1000"
        self.settings.pop("log.flush.interval.messages", None)
        shape = {"internal.segment.bytes": "1500"}
        flushed = shape | {"flush.messages": "1"}
        self.topics |= {"plain": (1, shape), "flushed": (2, flushed), "tx": (2, flushed), "copies": (1, flushed)}


class UnheardEnds(Scenario):
    """One node, whose markers and decisions are flushed by fsyncs that are slow and overtake each other."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.kinds = [PowerLossAtAnEnd]
        self.loses_unflushed = self.all_flushed = True
        self.fault_seconds = 30.0
        self.settings["log.flush.interval.messages"] = "1"

    def add_clients(self, world: World) -> None:
        for number in range(4):
            UnheardProducer(world, f"unheard{number}").partitions = [("tx", 0), ("tx", 1), ("flushed", 0)]


class LostMarkers(LateLeaders):
    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.fault_seconds = 15.0

    def add_clients(self, world: World) -> None:
        add_abandoning(world)


def add_abandoning(world: World) -> None:
    for number in range(2):
        AbandoningProducer(world, f"abandoning{number}").partitions = [("tx", 0), ("tx", 1), ("flushed", 0)]


class SlowDisks(Targeted):
    aims = (PowerLossOfSlowDisks,)
    beside = (Kill,)

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.fault_seconds = 15.0


class MovedGroups(Targeted):
    """Nothing but leadership fails: a coordinator that is cut off may answer from the past, as in Kafka."""

    aims = (MovedCoordinator,)
    beside = ()

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.fault_seconds = 20.0
        self.settings |= {"offsets.topic.num.partitions": "4", "leader.imbalance.check.interval.seconds": "300"}

    def add_clients(self, world: World) -> None:
        for number in range(4):
            for kind in (LastingMember, VisitingMember):
                member = kind(world, f"{kind.__name__.lower()}{number}")
                member.group, member.topic, member.partition_count = f"group{number}", "flushed", 2


class Strangers(Targeted):
    """Nodes and clients log in by PLAIN; clients are one user with rules, the operator is a super user."""

    aims = (Kill,)
    beside = (Pause, CleanRestart, LateLeader, Slow)
    passwords: ClassVar[dict[str, str]] = {
        name: f"password of {name}" for name in ("nodes", "admin", "worker", "stranger")
    }

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.fault_seconds = 15.0
        users = " ".join(f'user_{name}="{password}"' for name, password in self.passwords.items())
        module = "org.apache.kafka.common.security.plain.PlainLoginModule required"
        self.settings |= {
            "listener.security.protocol.map": "PLAINTEXT:SASL_PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "sasl.mechanism.controller.protocol": "PLAIN",
            "listener.name.plaintext.plain.sasl.jaas.config": (
                f'{module} username="nodes" password="{self.passwords["nodes"]}" {users};'
            ),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:nodes;User:admin",
        }

    def prepare(self, world: World) -> None:
        super().prepare(world)
        world.passwords, world.users = self.passwords, self._user

    def _user(self, client: str) -> str:
        if client.startswith("stranger"):
            return "stranger"
        return "admin" if client.startswith(("setup", "rules", "admin", "operator")) else "worker"

    def add_clients(self, world: World) -> None:
        rules = Rules(world, "rules")
        world.run_until(rules.task.done, 30)
        rules.task.result()
        super().add_clients(world)
        for number in range(2):
            Stranger(world, f"stranger{number}").partitions = self.partitions()


class Distant(ClusterScenario):
    """The faults of the general scenario. Records follow each other within a round trip, so that several answers to a
    follower are on their way when something happens to it, to its leader or to the network."""

    def prepare(self, world: World) -> None:
        super().prepare(world)
        world.network.base_delay_seconds = self.random.choice((0.003, 0.01))

    def add_operators(self, world: World) -> None:
        super().add_operators(world)
        for workload in world.workloads:
            if isinstance(workload, IdempotentProducer | PlainProducer):
                workload.pause_seconds = 0.02


TARGETED: dict[str, type[Scenario]] = {
    "pairs": Pairs,
    "zones": Zones,
    "cut-logs": CutLogs,
    "late-leaders": LateLeaders,
    "late-requests": LateRequests,
    "large-requests": ManyAtOnce,
    "abandoned": Abandoned,
    "page-cache": PageCache,
    "unheard-ends": UnheardEnds,
    "lost-markers": LostMarkers,
    "slow-disks": SlowDisks,
    "moved-groups": MovedGroups,
    "strangers": Strangers,
    "distant": Distant,
    "linked": Linked,
}
