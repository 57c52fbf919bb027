"""Ways in which nodes suffer. Each leaves them all up, and counted in."""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from tests.cluster.company import TOPIC
from tests.cluster.edits import EDITS
from tests.cluster.whole import await_whole
from tests.support.cluster import BarnabasCluster
from tests.support.wire import FIND_COORDINATOR

NodeFault = Callable[[BarnabasCluster, random.Random], None]
BEYOND_EVERY_TIMEOUT_SECONDS = 8.0


def _killed(cluster: BarnabasCluster, *victims: int) -> None:
    cluster.kill(*victims)
    time.sleep(2)
    cluster.start(*victims)


def leader_killed(cluster: BarnabasCluster, rng: random.Random) -> None:
    _killed(cluster, cluster.leader(TOPIC))


def controller_killed(cluster: BarnabasCluster, rng: random.Random) -> None:
    _killed(cluster, cluster.controller())


def coordinator_killed(cluster: BarnabasCluster, rng: random.Random) -> None:
    found = cluster.ask(cluster.up[0], FIND_COORDINATOR, 3, {"key": "readers", "key_type": 0})
    _killed(cluster, int(found["node_id"]))


def all_killed(cluster: BarnabasCluster, rng: random.Random) -> None:
    _killed(cluster, *cluster.nodes)


def leader_paused(cluster: BarnabasCluster, rng: random.Random) -> None:
    victim = cluster.leader(TOPIC)
    cluster.pause(victim)
    time.sleep(BEYOND_EVERY_TIMEOUT_SECONDS)
    cluster.resume(victim)


def rolling_restart(cluster: BarnabasCluster, rng: random.Random) -> None:
    for number in cluster.nodes:
        cluster.restart(number)
        await_whole(cluster)


def files_edited(cluster: BarnabasCluster, rng: random.Random) -> None:
    victim = cluster.leader(TOPIC)
    cluster.kill(victim)
    name = rng.choice(sorted(EDITS))
    print(f"  {name}", flush=True)
    EDITS[name](cluster.nodes[victim].data, f"{TOPIC}-0")
    cluster.start(victim)


NODE_FAULTS: dict[str, NodeFault] = {
    fault.__name__.replace("_", " "): fault
    for fault in (
        leader_killed,
        controller_killed,
        coordinator_killed,
        all_killed,
        leader_paused,
        rolling_restart,
        files_edited,
    )
}
