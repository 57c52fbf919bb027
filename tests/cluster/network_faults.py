"""Ways in which the network between nodes breaks. Whoever calls heals it again."""

from __future__ import annotations

import time
from collections.abc import Callable

from tests.cluster.company import TOPIC
from tests.support.cluster import BarnabasCluster
from tests.support.links import Links

NetworkFault = Callable[[Links, BarnabasCluster], None]


def leader_alone(links: Links, cluster: BarnabasCluster) -> None:
    links.cut_off(cluster.leader(TOPIC))


def controller_alone(links: Links, cluster: BarnabasCluster) -> None:
    links.cut_off(cluster.controller())


def leader_unheard(links: Links, cluster: BarnabasCluster) -> None:
    """It hears everybody, and nobody hears it."""
    leader = cluster.leader(TOPIC)
    links.close(*((leader, other) for other in cluster.nodes if other != leader))


def leader_deaf(links: Links, cluster: BarnabasCluster) -> None:
    """Everybody hears it, and it hears nobody."""
    leader = cluster.leader(TOPIC)
    links.close(*((other, leader) for other in cluster.nodes if other != leader))


def bridge(links: Links, cluster: BarnabasCluster) -> None:
    """The leader and the controller (or another one) see each other only through the rest."""
    one, two = cluster.leader(TOPIC), cluster.controller()
    if one == two:
        two = next(number for number in cluster.nodes if number != one)
    links.cut([one], [two])


def halves(links: Links, cluster: BarnabasCluster) -> None:
    """The leader and the controller are on the smaller side, where there is room for both."""
    room = (len(cluster.nodes) - 1) // 2
    first = [cluster.leader(TOPIC), cluster.controller(), *cluster.nodes]
    smaller = set(list(dict.fromkeys(first))[:room])
    links.cut(smaller, set(cluster.nodes) - smaller)


def slow(links: Links, cluster: BarnabasCluster) -> None:
    links.delay_seconds = 0.2


def resets(links: Links, cluster: BarnabasCluster) -> None:
    for _ in range(10):
        links.reset()
        time.sleep(0.3)


NETWORK_FAULTS: dict[str, NetworkFault] = {
    "leader alone": leader_alone,
    "controller alone": controller_alone,
    "leader unheard": leader_unheard,
    "leader deaf": leader_deaf,
    "bridge": bridge,
    "halves": halves,
    "slow": slow,
    "resets": resets,
}
