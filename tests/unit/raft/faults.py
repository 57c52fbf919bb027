"""What happens to a world: one function each. A seed draws which of them, and how often."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.core.raft.events import ConnectionLost, Resign
from barnabas.core.raft.messages import AddRaftVoterRequest, RemoveRaftVoterRequest

if TYPE_CHECKING:
    from tests.unit.raft.world import World


def propose(world: "World") -> None:
    leader = world.leader()
    if leader:
        for _ in range(world.rng.choice([1, 1, 1, 4])):
            if leader.up:
                world.propose(leader)


def crash(world: "World") -> None:
    candidates = world.up()
    leader = world.leader()
    if candidates:
        member = leader if leader and world.rng.random() < 0.5 else world.rng.choice(candidates)
        world.trace(member, "killed")
        member.crash()
        for other in world.up():
            if world.rng.random() < 0.7:
                world.at(world.now_ms + 1, world.event, other, other.restarts, ConnectionLost(member.id))


def crash_all(world: "World") -> None:
    if world.rng.random() < 0.3:
        for member in world.up():
            member.crash()


def restart(world: "World") -> None:
    for member in world.members.values():
        if not member.up and world.rng.random() < 0.7:
            member.start()


def cut(world: "World") -> None:
    ids = list(world.members)
    side = set(world.rng.sample(ids, world.rng.randint(1, len(ids))))
    one_way = world.rng.random() < 0.3
    for a in side:
        for b in set(ids) - side:
            world.cut.add((a, b))
            if not one_way:
                world.cut.add((b, a))


def heal(world: "World") -> None:
    world.cut.clear()


def pause(world: "World") -> None:
    if world.up():
        world.rng.choice(world.up()).paused_until = world.now_ms + world.rng.randint(50, 500)


def resign(world: "World") -> None:
    leader = world.leader()
    if leader:
        leader.step(Resign())


def snapshot(world: "World") -> None:
    for member in world.up():
        if world.rng.random() < 0.4:
            member.take_snapshot()


def add_voter(world: "World") -> None:
    member = world.rng.choice(list(world.members.values()))
    world.ask_admin(
        AddRaftVoterRequest(
            cluster_id="cluster",
            timeout_ms=300,
            voter_id=member.id,
            voter_directory_id=member.disk.directory_id,
            listeners=(member.endpoint,),
            ack_when_committed=world.rng.random() < 0.7,
        )
    )


def remove_voter(world: "World") -> None:
    member = world.rng.choice(list(world.members.values()))
    world.ask_admin(
        RemoveRaftVoterRequest(cluster_id="cluster", voter_id=member.id, voter_directory_id=member.disk.directory_id)
    )


def wipe(world: "World") -> None:
    """At most one disk of a world, so that as a rule a majority is left."""
    down = [member for member in world.members.values() if not member.up]
    if down and world.ledger.check_durable and world.rng.random() < 0.3:
        world.ledger.check_durable = False
        world.rng.choice(down).wipe()


def strand(world: "World") -> None:
    """A leader alone with what it is told: a long tail that nobody will commit."""
    leader = world.leader()
    if leader:
        for other in world.members:
            world.cut |= {(leader.id, other), (other, leader.id)}
        for _ in range(world.rng.randint(1, 6)):
            world.propose(leader)


def propose_and_crash(world: "World") -> None:
    leader = world.leader()
    if leader:
        world.propose(leader)
        world.run_until(world.now_ms + world.rng.randint(0, 15))
        if leader.up:
            leader.crash()


# Faults of which a seed draws some, each as often as it draws: a world of one kind of trouble finds other bugs than one
# that has a little of everything.
FAULTS: list[Callable[["World"], None]] = [
    crash,
    crash_all,
    cut,
    strand,
    propose_and_crash,
    snapshot,
    add_voter,
    remove_voter,
    pause,
    resign,
    wipe,
]
ALWAYS: list[Callable[["World"], None]] = [*[propose] * 5, *[restart] * 3, *[heal] * 2]
