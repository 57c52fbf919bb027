"""A source, a target and a link, from its making to its reverse.

| part     | what happens                                                                                          |
|----------|-------------------------------------------------------------------------------------------------------|
| begin    | topics and clients at the source, the link at the target                                              |
| trouble  | faults on both clusters and between them; at times topics are promoted "now" at its end, both write on |
| settle   | producers of the source stop; unless it was done before, promoted as planned; then reversed            |
| settled  | the former source has caught up: the logs are compared                                                 |

How many nodes each cluster has is drawn: one or three.
"""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from random import Random

from barnabas.sim.checkers import Final
from barnabas.sim.checkers.inside import finished
from barnabas.sim.checkers.linked import l1_nothing_missing, l3_equal, l4_groups, l5_transactions, l7_cut_is_kept
from barnabas.sim.checkers.linked.l2_same_bytes import SameEpochSameBytes
from barnabas.sim.checkers.linked.logs import log_of
from barnabas.sim.computer import Computer
from barnabas.sim.faults.base import Fault
from barnabas.sim.faults.between_clusters import (
    ClustersApart,
    ClustersOneWay,
    NodeApart,
    ResetsBetweenClusters,
    all_ways,
)
from barnabas.sim.faults.between_nodes import CutOff, OneWay, Resets, SlowNode, between
from barnabas.sim.faults.clean_restart import CleanRestart
from barnabas.sim.faults.crash_in_change import CrashInChange
from barnabas.sim.faults.disks import SlowSync
from barnabas.sim.faults.kill import Kill
from barnabas.sim.faults.links import Cut, Slow
from barnabas.sim.faults.many_nodes import KillTogether, RollingRestart
from barnabas.sim.faults.pause import Pause
from barnabas.sim.faults.power_loss import PowerLoss
from barnabas.sim.history import Partition
from barnabas.sim.linked.pair import Pair, Phase
from barnabas.sim.scenarios.cluster import REPLICAS, ClusterScenario
from barnabas.sim.workloads.abandoned import AbandoningProducer
from barnabas.sim.workloads.group_member import ClassicMember, ConsumerMember
from barnabas.sim.workloads.idempotent_producer import IdempotentProducer
from barnabas.sim.workloads.linked.operator import LinkOperator
from barnabas.sim.workloads.linked.producers import Intruder, MovedProducer, Restless
from barnabas.sim.workloads.operator import Operator
from barnabas.sim.workloads.reader import Reader
from barnabas.sim.workloads.transactions import TransactionalProducer
from barnabas.sim.world import World

_OF_NODES: tuple[type[Fault], ...] = (Kill, CrashInChange, CleanRestart, Pause, Cut, Slow, SlowSync, PowerLoss)
_OF_CLUSTERS: tuple[type[Fault], ...] = (CutOff, OneWay, SlowNode, Resets, KillTogether, RollingRestart)
_BETWEEN: tuple[type[Fault], ...] = (ClustersApart, ClustersOneWay, NodeApart, ResetsBetweenClusters)
_SIZES = ((1, 1), (1, REPLICAS), (REPLICAS, 1), (REPLICAS, REPLICAS), (REPLICAS, REPLICAS))
_CATCH_UP_SECONDS = 90.0


class Linked(ClusterScenario):
    now_share = 0.5  # of the seeds promote with what is here, while the source is cut off or lost

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        random = self.random
        self.sizes: tuple[int, int] = random.choice(_SIZES)
        self.nodes = self.sizes[0]
        self.now = random.random() < self.now_share
        self.kinds = [*random.sample(_OF_NODES, random.randint(1, 3)), *random.sample(_BETWEEN, random.randint(1, 2))]
        if max(self.sizes) > 1:
            self.kinds += random.sample(_OF_CLUSTERS, random.randint(0, 2))
        self.loses_unflushed = any(kind.loses_unflushed for kind in self.kinds)
        self.fault_seconds = random.choice((5.0, 12.0, 20.0))
        self.topics.pop("copies")
        self.settings |= {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}
        self.abandoned_ms = random.choice((5_000, 30_000, 120_000))
        self.restless_seconds = random.choice((0.3, 2.0))

    # --- the beginning ----------------------------------------------------------------------------------------------

    def make_world(self, seed: int, nodes: int) -> World:
        one, other = self.sizes
        source = World(seed, one, self._settings(one), "source")
        self.pair = Pair(source, World(seed, other, self._settings(other), "target", beside=source))
        self.same_bytes, self.groups = SameEpochSameBytes(self.pair), l4_groups.GroupsBehind(self.pair)
        self.starts = l1_nothing_missing.NothingPassedOver(self.pair)
        source.looks += [self.same_bytes.look, self.groups.look, self.starts.look]
        self.pair.target.losses.followed = source.losses
        return source

    def _settings(self, nodes: int) -> dict[str, str]:
        return self.settings | {"min.insync.replicas": str(min(2, nodes))}

    def prepare(self, world: World) -> None:
        for cluster in world.clusters:
            super().prepare(cluster)
            cluster.trimmed.add("short")
            for topic in Restless.topics:
                cluster.losses.flushed[topic] = True
            copies = min(self.sizes[0], len(cluster.computers))  # a link makes as many replicas as the source has
            cluster.losses.single_copies = copies == 1 < len(cluster.computers)
            cluster.min_insync = {name: min(least, copies) for name, least in cluster.min_insync.items()}

    def add_clients(self, world: World) -> None:
        """Called with the source, when its topics are there."""
        random, pair = self.random, self.pair
        self.operator = LinkOperator(pair)
        self.restless = Restless(pair)
        self.restless.pause_seconds = self.restless_seconds
        self._writers(pair.source, "", random.randint(1, 2))
        abandoning = AbandoningProducer(pair.source, "abandoning")
        abandoning.partitions, abandoning.timeout_ms, abandoning.pause_seconds = self._tx(), self.abandoned_ms, 2.0
        for kind, name in ((ClassicMember, "classic"), (ConsumerMember, "consumer")):
            member = kind(pair.source, name)
            member.group, member.topic, member.partition_count = f"{name}-group", "flushed", 2
        for cluster in world.clusters:
            for committed_only in (False, True) if cluster is pair.target else (True,):
                reader = Reader(cluster, f"reader-{'committed' if committed_only else 'all'}")
                reader.partitions, reader.committed_only = self.partitions(), committed_only
            if len(cluster.computers) > 1 and random.random() < 0.5:
                # A link leaves a topic alone that is there already: each cluster has its own.
                Operator(cluster, "operator").grown_topic = f"{cluster.name}-grows"
        Intruder(pair, pair.target, self.partitions(), Phase.LINKED)
        done = self._spawn(world, self._link())
        world.run_until(done.done, 60)
        done.result()

    def add_operators(self, world: World) -> None:
        for cluster in world.clusters:
            for workload in cluster.workloads:
                workload.pause_seconds *= 3

    async def _link(self) -> None:
        await self.operator.make_link()
        await self.operator.wait_for(list(self.topics))

    def _tx(self) -> list[Partition]:
        return [("tx", 0), ("tx", 1), ("flushed", 0)]

    def _writers(self, world: World, prefix: str, count: int) -> None:
        for number in range(count):
            IdempotentProducer(world, f"{prefix}idempotent{number}").partitions = [
                ("flushed", 0),
                ("flushed", 1),
                ("plain", 0),
            ]
        producer = TransactionalProducer(world, f"{prefix}tx")
        producer.partitions, producer.generation = self._tx(), self.random.choice((1, 2))

    def _spawn(self, world: World, work: Coroutine[object, None, None]) -> "asyncio.Task[None]":
        return world.loop.spawn(self.operator.process, work)

    # --- trouble ----------------------------------------------------------------------------------------------------

    async def trouble(self, world: World) -> None:
        end = world.loop.now + self.fault_seconds
        while world.loop.now < end:
            await asyncio.sleep(self.random.choice((0.2, 1.0, 4.0)) * self.random.random())
            await self._strike(world, 2 if self.random.random() < 0.25 else 1)
        if self.now:
            await self._promote_now(world)

    async def _strike(self, world: World, count: int) -> None:
        faults: list[Fault] = []
        for _ in range(count):
            cluster = self.random.choice(world.clusters)
            kinds = [kind for kind in self.kinds if len(cluster.computers) > 1 or kind not in _OF_CLUSTERS]
            kind = self.random.choice(kinds)
            faults.append(kind(cluster, self.victim(cluster), Random(self.random.getrandbits(64))))
            world.count(faults[-1].name)
        await asyncio.gather(*(fault.strike() for fault in faults))

    async def _promote_now(self, world: World) -> None:
        """The source is cut off, or dead, or it is well, and so is the target but for a node that is cut off from its
        own cluster, still fills what it leads, and is lost then. The source's producers write on all the same."""
        pair, random = self.pair, self.random
        how = random.choice(("cut off", "killed", "well", "well, not the target"))
        world.trace.note(f"the source is {how} when the target is promoted")
        victim = self.victim(pair.target)
        if how == "cut off":
            world.network.block(all_ways(ClustersApart(pair.source, pair.source.computers[0], Random(0))))
        elif how == "killed":
            for computer in pair.source.computers:
                computer.kill()
        elif how != "well":
            others = [computer.host for computer in pair.target.computers if computer is not victim]
            world.network.block(between([victim.host], others) + between(others, [victim.host]))
        await asyncio.sleep(2.0 * random.random())
        pair.planned = False
        task = self._spawn(world, self.operator.promote())
        if random.random() < 0.7:
            while pair.phase is Phase.LINKED:
                await asyncio.sleep(0.01)
            await self._strike_target(Kill, victim)
        while not task.done():
            await asyncio.sleep(0.1)
        task.result()
        for _ in range(100):  # a leader that has not heard of it refuses producers as before
            if all(pair.is_promoted_for(computer) for computer in pair.target.computers):
                break
            await asyncio.sleep(0.1)
        self._writers(pair.target, "t-", 1)
        await asyncio.sleep(4.0 * random.random())

    async def _strike_target(self, kind: type[Fault], victim: Computer) -> None:
        await asyncio.sleep(0.3 * self.random.random())
        victim.world.count(kind.name)
        await kind(victim.world, victim, Random(self.random.getrandbits(64))).strike()

    # --- the end ----------------------------------------------------------------------------------------------------

    def settle(self, world: World) -> Iterator[str]:
        pair = self.pair
        yield from self._stop_source()
        if pair.phase is Phase.LINKED:
            yield from self._promote_as_planned(world)
        if pair.phase is not Phase.PROMOTED:
            return
        world.run_for(3.0 + 5.0 * self.random.random())
        yield from self._reverse(world)

    def _stop_source(self) -> Iterator[str]:
        kinds = (IdempotentProducer, TransactionalProducer, Restless, ClassicMember, ConsumerMember)
        yield from finished([workload for workload in self.pair.source.workloads if isinstance(workload, kinds)])

    def _promote_as_planned(self, world: World) -> Iterator[str]:
        pair = self.pair
        yield from self._until_done(world, self.operator.drained, "the link does not catch up")
        yield from l1_nothing_missing.when_drained(pair, self._everything())
        if self.random.random() < 0.5:
            strike = world.loop.spawn(None, self._strike_target(Kill, self.victim(pair.target)))
            world.run_until(strike.done, 60)
        yield from self._until_done(world, self.operator.promote, "the topics cannot be promoted")
        if pair.phase is not Phase.PROMOTED:
            return
        world.run_until(lambda: all(l3_equal.seen(pair.target, p) for p in self._everything()), 30)
        yield from l1_nothing_missing.at_promotion(pair, self._everything())
        yield from l4_groups.at_planned_promotion(pair, self.partitions())
        for workload in list(pair.source.workloads):
            if type(workload) is IdempotentProducer:
                MovedProducer(pair.target, workload)
        self._writers(pair.target, "t-", 1)

    def _until_done(self, world: World, work: Callable[[], Coroutine[object, None, None]], why: str) -> Iterator[str]:
        task = self._spawn(world, work())
        if not world.run_until(task.done, _CATCH_UP_SECONDS):
            yield f"S8 {why} within {_CATCH_UP_SECONDS:.0f} s"
            task.cancel()
        else:
            task.result()

    def _everything(self) -> list[Partition]:
        return [*self.partitions(), *((topic, 0) for topic in Restless.topics)]

    def _reversed(self) -> list[Partition]:
        """What is given back: a topic that the source has made anew is another one."""
        pair = self.pair
        return [
            partition
            for partition in self._everything()
            if partition in pair.promised
            and pair.canonical_id(pair.source, partition[0]) == pair.canonical_id(pair.target, partition[0])
        ]

    def _reverse(self, world: World) -> Iterator[str]:
        pair, partitions = self.pair, self._reversed()
        if pair.planned is False:
            yield from l1_nothing_missing.at_promotion(pair, partitions)
        pair.common = l7_cut_is_kept.common_ends(pair, partitions)
        topics = sorted({topic for topic, _ in partitions})
        # Whole topics are given back. Where a partition had no leader, nobody can say what will be cut.
        for partition in (each for each in self._everything() if each[0] in topics):
            end, view = pair.common.get(partition), log_of(pair.source, partition)
            if end is None or view is None or view.high_watermark > end:
                pair.source.losses.cut.add(partition)
        pair.source.losses.followed = pair.target.losses
        yield from self._until_done(world, lambda: self.operator.reverse(topics), "the link cannot be reversed")
        Intruder(pair, pair.source, self.partitions(), Phase.REVERSED)
        if self.random.random() < 0.5:
            cluster = self.random.choice(world.clusters)
            kind = self.random.choice((Kill, PowerLoss, Pause))
            world.count(kind.name)
            fault = kind(cluster, self.victim(cluster), Random(self.random.getrandbits(64)))
            strike = world.loop.spawn(None, fault.strike())
            world.run_until(strike.done, 60)
        world.run_for(5.0)

    def settled(self, world: World) -> Iterator[str]:
        partitions = self._reversed()
        if self.pair.phase is Phase.REVERSED:
            world.run_until(lambda: l3_equal.caught_up(self.pair, partitions), _CATCH_UP_SECONDS)
            yield from l3_equal.check(self.pair, partitions)
            yield from l7_cut_is_kept.check(self.pair)
            yield from self._until_done(world, self.operator.pause, "the link cannot be paused")

    def problems(self, world: World, finals: list[Final]) -> Iterator[str]:
        yield from self.same_bytes.problems
        yield from self.groups.problems
        yield from self.starts.problems
        yield from l1_nothing_missing.check(self.pair, finals[1])
        yield from l5_transactions.check(self.pair, finals[1])
