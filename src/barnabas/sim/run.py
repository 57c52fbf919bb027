"""One seed, from its beginning to its verdict."""

import asyncio
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field

from barnabas.sim import inspection
from barnabas.sim.bugs.base import note_error
from barnabas.sim.callback_cost import CallbackCost, held_in_both
from barnabas.sim.checkers import CHECKERS, Final, inside, s4_decision_first, s8_work_goes_on, s9_nothing_left
from barnabas.sim.computer import Computer
from barnabas.sim.history import Partition
from barnabas.sim.scenarios.cluster import ClusterScenario
from barnabas.sim.scenarios.one_node import Scenario
from barnabas.sim.scenarios.targeted import TARGETED
from barnabas.sim.story import tell
from barnabas.sim.workloads.reader import Reader
from barnabas.sim.world import World

ITSELF_FAILED = "the simulation itself failed"  # this problem says nothing about the node
_LOOK_SECONDS = 0.25  # how often the inside of the nodes is looked at


@dataclass(slots=True)
class Verdict:
    seed: int
    problems: list[str]
    story: list[str]
    digest: str
    simulated_seconds: float
    answers: int
    acknowledged: int
    faults: dict[str, int] = field(default_factory=dict)
    worst_callback_ms: float = 0.0  # CPU time, measured: the one figure that the seed does not decide
    worst_callback: str = ""

    @property
    def ok(self) -> bool:
        return not self.problems


def run_seed(
    seed: int, bug: Callable[[], AbstractContextManager[None]] = nullcontext, nodes: int = 1, targeted: str = ""
) -> Verdict:
    """Run one seed; `bug` plants a fault in the node's own code, to test the tests. `targeted` names a scenario of
    scenarios/targeted.py, which says itself how many nodes it needs at least."""
    verdict, cost = _run(seed, bug, nodes, targeted)
    if cost.beyond:  # the loop was held, or the machine was busy for a moment
        verdict, _ = _run(seed, bug, nodes, targeted, cost)
    return verdict


def _run(
    seed: int,
    bug: Callable[[], AbstractContextManager[None]],
    nodes: int,
    targeted: str,
    first: CallbackCost | None = None,
) -> tuple[Verdict, CallbackCost]:
    """`first`: what callbacks took when the seed was run before."""
    scenario: Scenario
    if targeted:
        scenario = TARGETED[targeted](seed)
        nodes = max(nodes, scenario.nodes)
    else:
        scenario = Scenario(seed) if nodes == 1 else ClusterScenario(seed)
    world = scenario.make_world(seed, nodes)
    scenario.prepare(world)
    with world, bug():
        problems = list(_problems(world, scenario))
    if first is not None:
        problems.extend(held_in_both(first, world.loop.cost))
    problems.sort(key=_gravity)
    verdict = Verdict(
        seed,
        problems,
        tell(world, problems[0]) if problems else [],
        world.trace.digest(),
        world.loop.now - 1000.0,
        sum(cluster.history.answers for cluster in world.clusters),
        sum(
            len(sent.values) for cluster in world.clusters for sent in cluster.history.sent if sent.acked_at is not None
        ),
        world.faults,
        world.loop.cost.worst_ms,
        world.loop.cost.worst_name,
    )
    return verdict, world.loop.cost


def _gravity(problem: str) -> int:
    """What a client saw comes first; that somebody did not get on may have a reason further down."""
    return 0 if problem.startswith(("H", "L")) else 2 if problem.startswith("S8") else 1


def _problems(world: World, scenario: Scenario) -> Iterator[str]:
    try:
        yield from _live(world, scenario)
    except Exception as error:  # the verdict of the seed: it failed, and this is why
        note_error(error)
        where = traceback.extract_tb(error.__traceback__)[-1]
        yield f"{ITSELF_FAILED}: {error!r} ({where.filename.rpartition('/')[2]}:{where.lineno})"


def _live(world: World, scenario: Scenario) -> Iterator[str]:
    for computer in world.all_computers:
        computer.start()
    if not _all_ready(world):
        yield f"S8 not ready: {_not_ready(world)}"
        yield from _surprises(world)
        return
    _look_now_and_then(world)
    for cluster in world.clusters:
        cluster.on_ready.append(
            lambda started: world.loop.for_process(started.process, 0.0, _look_at_start, started.world, started)
        )
    scenario.begin(world)
    world.run_for(2.0)
    trouble = world.loop.spawn(None, scenario.trouble(world))
    world.run_until(trouble.done, 600)
    trouble.result()
    scenario.heal(world)
    if not _all_ready(world):
        yield f"S8 not ready once faults have stopped: {_not_ready(world)}"
        yield from _surprises(world)
        return
    healed = world.loop.now
    world.run_for(scenario.quiet_seconds)
    for cluster in world.clusters:
        yield from inside.progress(cluster, healed)
        yield from s8_work_goes_on.unanswered(cluster, healed)
    yield from scenario.settle(world)
    yield from inside.finished([workload for cluster in world.clusters for workload in cluster.workloads])
    yield from scenario.settled(world)
    world.run_for(12.0)  # the last transactions time out, sessions too
    for cluster in world.clusters:
        yield from inside.nothing_hangs(cluster)
    yield from _verdict(world, scenario)


def _verdict(world: World, scenario: Scenario) -> Iterator[str]:
    finals: list[Final] = []
    for cluster in world.clusters:
        final = _read_everything(cluster, scenario.partitions())
        if final is None:
            yield "S8 the end cannot be read"
            return
        finals.append(final)
    world.run_for(6.0)
    for cluster in world.clusters:
        yield from s9_nothing_left.check(cluster)
        cluster.same_bytes.look(again=True)
    for cluster in world.clusters:
        yield from _rebuilt(cluster)
    yield from _surprises(world)
    for cluster, final in zip(world.clusters, finals, strict=True):
        yield from cluster.history.problems
        for watch in (
            cluster.leaders,
            cluster.votes,
            cluster.committed,
            cluster.same_bytes,
            cluster.watermarks,
            cluster.work_goes_on,
        ):
            yield from watch.problems
        for check in CHECKERS:
            yield from check(cluster, final)
    yield from scenario.problems(world, finals)


def _surprises(world: World) -> Iterator[str]:
    for cluster in world.clusters:
        yield from cluster.surprises


def _all_ready(world: World) -> bool:
    return world.run_until(lambda: all(computer.ready for computer in world.all_computers), 30)


def _not_ready(world: World) -> str:
    return ", ".join(computer.name for computer in world.all_computers if not computer.ready)


def _rebuilt(world: World) -> Iterator[str]:
    """S5: kill every node; what they rebuild from their logs is what they had in memory."""
    if down := [computer.name for computer in world.computers if computer.node is None]:
        yield f"S8 {', '.join(down)} stopped, and no fault did it"
        return
    before = world.inside(world.computers[0].process, lambda: inside.state(world))
    for computer in world.computers:
        computer.kill()
    for computer in world.computers:
        computer.start()
    if not _all_ready(world) or not world.run_until(lambda: inside.everything_led(world), 30):
        yield f"S8 not ready after the last kill: {_not_ready(world) or 'a partition has no leader'}"
        return
    world.run_for(1.0)
    after = world.inside(world.computers[0].process, lambda: inside.state(world))
    if world.losses.damaged:  # transactions that wait for a refused partition go on where they can
        before, after = ({"topics": found["topics"]} for found in (before, after))
    yield from inside.differences(before, after)


def _look_at_start(world: World, computer: Computer) -> None:
    if computer.node is not None and not world.excused and len(world.computers) == 1:
        world.history.problems.extend(s4_decision_first.check(computer.node))


def _look_now_and_then(world: World) -> None:
    looks = 0

    def look_around() -> None:
        nonlocal looks
        looks += 1
        for cluster in world.clusters:
            _look_at(cluster, same_bytes=looks % 8 == 0)
        for look in world.looks:
            look(looks)
        world.loop.for_process(None, _LOOK_SECONDS, look_around)

    look_around()


def _look_at(world: World, *, same_bytes: bool) -> None:
    alone = len(world.computers) == 1
    for computer in world.computers:
        for partition in inspection.replicas(computer):
            world.watermarks.look(computer, partition)
            if not alone:
                world.leaders.look(computer, partition.partition)
        world.leaders.look_at_quorum(computer)
        world.votes.look(computer)
    if not alone:
        world.health.look()
        world.losses.look()
        world.work_goes_on.look()
        world.committed.look()
        if same_bytes:
            world.same_bytes.look()


def _read_everything(world: World, partitions: list[Partition]) -> Final | None:
    readers = {
        committed_only: _FinalReader(world, f"final-{name}", partitions, committed_only)
        for committed_only, name in ((False, "all"), (True, "committed"))
    }
    if not world.run_until(lambda: all(reader.task.done() for reader in readers.values()), 60):
        return None
    return Final(readers[False].result, readers[True].result)


class _FinalReader(Reader):
    def __init__(self, world: World, name: str, partitions: list[Partition], committed_only: bool) -> None:
        self.partitions = partitions
        self.committed_only = committed_only
        self.result: dict[Partition, list[tuple[int, bytes]]] = {}
        super().__init__(world, name)

    async def step(self) -> None:
        for partition in self.partitions:
            self.result[partition] = await self.read_all(partition, patient=True)
        self.finishing = True
        await asyncio.sleep(0)
