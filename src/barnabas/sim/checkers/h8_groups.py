"""H8: a group's committed offset never goes back by itself, a partition has one owner in each generation, and a
generation that has been followed by another is over (where members note their heartbeats: lasting_member.py).

The offsets topic is not flushed by itself, so a power loss may take commits back unless the node flushes everything.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from barnabas.sim.checkers.base import Final
from barnabas.sim.history import Partition

if TYPE_CHECKING:
    from barnabas.sim.world import World


def check(world: World, final: Final) -> Iterator[str]:
    strict = world.losses.flushed["__consumer_offsets"]
    yield from _owners(world, strict)
    yield from _outlived(world)
    # Members read, then commit more than they read; an accepted commit is a floor for all that is read after it.
    told = sorted(
        [(item.at, 1, item) for item in world.history.committed]
        + [(item.at, 0, item) for item in world.history.fetched_offsets],
        key=lambda entry: entry[:2],
    )
    floors: dict[tuple[str, Partition, int], int] = {}
    late = {(item.group, item.partition, item.offset) for item in world.history.unanswered_commits}
    for at, is_commit, item in told:
        key = (item.group, item.partition, 0 if strict else item.era)
        if is_commit:
            floors[key] = item.offset
        elif item.offset < floors.get(key, -1) and (item.group, item.partition, item.offset) not in late:
            yield (
                f"H8 group {item.group} on {item.partition}: offset {item.offset} read at {at - 1000:.4f}, "
                f"but {floors[key]} had been accepted"
            )


def _owners(world: World, strict: bool) -> Iterator[str]:
    owners: dict[tuple[str, int, Partition], str] = {}
    for at, group, generation, member, partitions in world.history.owners:
        for partition in sorted(partitions):
            owner = owners.setdefault((group, generation, partition), member)
            if owner != member and (strict or not world.losses.era):
                where = f"H8 {group} generation {generation}"
                yield f"{where}: {partition} owned by {owner} and {member} (at {at - 1000:.4f})"


def _outlived(world: World) -> Iterator[str]:
    followed: dict[tuple[str, int], float] = {}  # when a later generation had been assigned
    for at, group, generation, _, _ in world.history.owners:
        for before in range(max(0, generation - 20), generation):
            followed.setdefault((group, before), at)
    for asked_at, group, generation, member in world.history.heartbeats:
        if (over_at := followed.get((group, generation))) is not None and over_at < asked_at:
            yield (
                f"H8 {group}: a heartbeat of {member} in generation {generation}, asked at {asked_at - 1000:.4f}, was "
                f"accepted; a later generation was assigned at {over_at - 1000:.4f}"
            )
            return
