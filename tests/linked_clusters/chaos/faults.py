"""Ways in which two linked clusters suffer. Each ends with all nodes up and counted in, the way between them whole, and
the link on and unthrottled; what follows from it may still go on."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.linked_clusters.chaos.clusters import LINK, World
from tests.linked_clusters.chaos.load import BRIEF, EVENTS, GROWN, ORDERS, PAYMENTS, SHORT, Load
from tests.linked_clusters.pair import barnabas
from tests.support.cluster import BarnabasCluster
from tests.support.links import OUTSIDE
from tests.support.wire import ELECT_LEADERS

Fault = Callable[[World, Load], None]

ALTER_PARTITION_REASSIGNMENTS = 45
DEAD_S, PAUSED_S, CUT_S, SLOW_S = 2.0, 6.0, 8.0, 8.0  # sessions are 3 s
_PREFERRED = 0


# --- nodes ------------------------------------------------------------------------------------------------------------


def _kill(cluster: BarnabasCluster, *victims: int) -> None:
    cluster.kill(*victims)
    time.sleep(DEAD_S)
    cluster.start(*victims)


def _pause(cluster: BarnabasCluster, victim: int) -> None:
    cluster.pause(victim)
    try:
        time.sleep(PAUSED_S)
    finally:
        cluster.resume(victim)
    cluster.await_brokers(set(cluster.nodes), 60)


def _leader(world: World, cluster: BarnabasCluster) -> int:
    topic, partitions = world.rng.choice(((ORDERS, 4), (PAYMENTS, 3), (EVENTS, 3), (SHORT, 2)))
    return cluster.leader(topic, world.rng.randrange(partitions))


def _controller(cluster: BarnabasCluster) -> int:
    cluster.until(lambda: cluster.controller() > 0, "there is a controller", 30)
    return cluster.controller()


def source_leader_killed(world: World, load: Load) -> None:
    _kill(world.source, _leader(world, world.source))


def source_controller_killed(world: World, load: Load) -> None:
    _kill(world.source, _controller(world.source))


def source_all_killed(world: World, load: Load) -> None:
    _kill(world.source, *world.source.nodes)


def source_leader_paused(world: World, load: Load) -> None:
    _pause(world.source, _leader(world, world.source))


def target_leader_killed(world: World, load: Load) -> None:
    _kill(world.target, _leader(world, world.target))


def target_controller_killed(world: World, load: Load) -> None:
    _kill(world.target, _controller(world.target))


def target_keeper_killed(world: World, load: Load) -> None:
    _kill(world.target, world.keeper())


def target_all_killed(world: World, load: Load) -> None:
    _kill(world.target, *world.target.nodes)


def target_leader_paused(world: World, load: Load) -> None:
    _pause(world.target, _leader(world, world.target))


def target_keeper_paused(world: World, load: Load) -> None:
    _pause(world.target, world.keeper())


def one_of_each_killed(world: World, load: Load) -> None:
    """At the same moment."""
    mine, theirs = _leader(world, world.target), _leader(world, world.source)
    world.source.kill(theirs)
    world.target.kill(mine)
    time.sleep(DEAD_S)
    world.source.start(theirs)
    world.target.start(mine)


def source_restarted_in_turn(world: World, load: Load) -> None:
    for number in world.source.nodes:
        world.source.restart(number)


def target_restarted_in_turn(world: World, load: Load) -> None:
    for number in world.target.nodes:
        world.target.restart(number)


# --- leaders ----------------------------------------------------------------------------------------------------------


def _move_leaders(world: World, cluster: BarnabasCluster) -> None:
    """Every partition gets another preferred leader, which then leads it."""
    moved: dict[str, list[dict[str, object]]] = {}
    for topic in cluster.metadata(cluster.up[0])["topics"]:
        if topic["is_internal"]:
            continue
        for part in topic["partitions"]:
            replicas = list(part["replica_nodes"])
            by = world.rng.randrange(1, max(len(replicas), 2))
            turned = replicas[by:] + replicas[:by]
            moved.setdefault(topic["name"], []).append({"partition_index": part["partition_index"], "replicas": turned})
    topics = [{"name": name, "partitions": partitions} for name, partitions in moved.items()]
    cluster.ask(cluster.up[0], ALTER_PARTITION_REASSIGNMENTS, 0, {"timeout_ms": 30_000, "topics": topics})
    cluster.ask(
        cluster.up[0],
        ELECT_LEADERS,
        2,
        {"election_type": _PREFERRED, "topic_partitions": None, "timeout_ms": 30_000},
    )


def source_leaders_moved(world: World, load: Load) -> None:
    _move_leaders(world, world.source)


def target_leaders_moved(world: World, load: Load) -> None:
    _move_leaders(world, world.target)


# --- the way between the clusters ------------------------------------------------------------------------------------


def _for_a_while(world: World, seconds: float) -> None:
    try:
        time.sleep(seconds)
    finally:
        world.way.heal()
        world.way.loss = 0.0


def way_cut(world: World, load: Load) -> None:
    world.way.cut([OUTSIDE], world.source.nodes)
    _for_a_while(world, CUT_S * world.rng.choice((1, 1, 4)))


def way_cut_to_one(world: World, load: Load) -> None:
    world.way.cut([OUTSIDE], [_leader(world, world.source)])
    _for_a_while(world, CUT_S)


def answers_lost(world: World, load: Load) -> None:
    """Requests arrive, and nothing comes back."""
    world.way.close(*((number, OUTSIDE) for number in world.source.nodes))
    _for_a_while(world, CUT_S)


def way_refused(world: World, load: Load) -> None:
    """Every connection ends, and new ones are refused."""
    world.way.refuse(world.source.nodes)
    world.way.reset()
    try:
        time.sleep(CUT_S)
    finally:
        world.way.accept(world.source.nodes)


def way_reset(world: World, load: Load) -> None:
    for _ in range(15):
        world.way.reset()
        time.sleep(0.4)


def way_slow(world: World, load: Load) -> None:
    world.way.delay_seconds = 0.3
    _for_a_while(world, SLOW_S)


def way_loses(world: World, load: Load) -> None:
    world.way.loss = 0.3
    _for_a_while(world, SLOW_S)


# --- the link, and what changes at the source ------------------------------------------------------------------------


def link_paused(world: World, load: Load) -> None:
    barnabas("link", "pause", LINK, "-b", world.target.bootstrap)
    time.sleep(CUT_S)
    barnabas("link", "resume", LINK, "-b", world.target.bootstrap)


def link_throttled(world: World, load: Load) -> None:
    barnabas("link", "throttle", LINK, "5kB", "-b", world.target.bootstrap)
    time.sleep(SLOW_S)
    barnabas("link", "throttle", LINK, "0", "-b", world.target.bootstrap)


def topic_grown(world: World, load: Load) -> None:
    load.grow()


def topic_made_anew(world: World, load: Load) -> None:
    load.make_anew()


def topic_made_anew_while_cut(world: World, load: Load) -> None:
    world.way.cut([OUTSIDE], world.source.nodes)
    try:
        load.make_anew()
        load.grow()
    finally:
        world.way.heal()


def target_killed_while_the_topic_is_made_anew(world: World, load: Load) -> None:
    victim = world.keeper()
    world.target.kill(victim)
    load.make_anew()
    world.target.start(victim)


FAULTS: dict[str, Fault] = {
    fault.__name__.replace("_", " "): fault
    for fault in (
        source_leader_killed,
        source_controller_killed,
        source_all_killed,
        source_leader_paused,
        target_leader_killed,
        target_controller_killed,
        target_keeper_killed,
        target_all_killed,
        target_leader_paused,
        target_keeper_paused,
        one_of_each_killed,
        source_restarted_in_turn,
        target_restarted_in_turn,
        source_leaders_moved,
        target_leaders_moved,
        way_cut,
        way_cut_to_one,
        answers_lost,
        way_refused,
        way_reset,
        way_slow,
        way_loses,
        link_paused,
        link_throttled,
        topic_grown,
        topic_made_anew,
        topic_made_anew_while_cut,
        target_killed_while_the_topic_is_made_anew,
    )
}
TOPICS = (ORDERS, EVENTS, PAYMENTS, SHORT, GROWN, BRIEF)
