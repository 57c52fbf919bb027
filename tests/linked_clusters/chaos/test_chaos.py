"""Every fault in turn, for BARNABAS_LINK_MINUTES minutes (3); then both ends are equal, byte for byte."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cluster.whole import await_whole
from tests.linked_clusters.chaos.clusters import LINK, World, world_in
from tests.linked_clusters.chaos.comparing import caught_up, compare
from tests.linked_clusters.chaos.faults import FAULTS, TOPICS
from tests.linked_clusters.chaos.load import Load
from tests.linked_clusters.pair import link, status
from tests.support.figures import Figure
from tests.support.java import JavaTools
from tests.support.members import until

MINUTES = float(os.environ.get("BARNABAS_LINK_MINUTES", "3"))
SEED = int(os.environ.get("BARNABAS_LINK_SEED", "1"))
_NEARLY = 300  # records behind with which a link follows, while the load goes on

pytestmark = [pytest.mark.long, pytest.mark.timeout(MINUTES * 60 + 1800)]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    made = world_in(tmp_path, SEED)
    try:
        made.start()
        yield made
    finally:
        made.stop()


def _turns(rng: random.Random) -> Iterator[str]:
    """All of them, in another order each time."""
    while True:
        names = list(FAULTS)
        rng.shuffle(names)
        yield from names


def test_both_ends_are_equal_after_every_fault(world: World, java: JavaTools, figure: Figure) -> None:
    load = Load(world.source.bootstrap)
    load.write_brief()
    link(world.target.bootstrap, world.source.from_outside, name=LINK)
    until(
        lambda: set(TOPICS) <= {each["topic"] for each in status(world.target.bootstrap, LINK)["partitions"]},
        "all topics are at the target",
        60,
    )
    began, faults, late, kinds = time.monotonic(), 0, list[float](), set[str]()
    for name in _turns(world.rng):
        if time.monotonic() - began > MINUTES * 60:
            break
        print(f"{time.monotonic() - began:6.0f} s  {name}", end="", flush=True)
        FAULTS[name](world, load)
        faults += 1
        kinds.add(name)
        over = time.monotonic()
        caught_up(world, _NEARLY)
        late.append(time.monotonic() - over)
        print(f": follows again after {late[-1]:.1f} s", flush=True)
    load.finish()
    await_whole(world.source, 120)
    await_whole(world.target, 120)
    caught_up(world)
    done = compare(world, load, java)
    late.sort()
    print(f"{faults} faults of {len(kinds)} kinds; {done}; topics made anew {load.generations} times")
    figure(
        "linked-chaos",
        minutes=(time.monotonic() - began) / 60,
        faults=faults,
        kinds=len(kinds),
        partitions=done.partitions,
        replicas=done.replicas,
        batches=done.batches,
        megabytes=done.size / 1e6,
        acknowledged=done.acknowledged,
        committed=done.committed,
        aborted=done.aborted,
        groups=done.groups,
        made_anew=load.generations,
        p50_s=late[len(late) // 2],
        worst_s=late[-1],
    )
