"""Settings that name zones, said before anybody waits for what they cannot bring: a warning, as the zone may come.

The cluster takes them: brokers register later than settings are set, and those of a zone that is down come back.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TYPE_CHECKING

from barnabas.cli.common.failure import warn

if TYPE_CHECKING:
    from barnabas.client.admin.admin import Admin

PREFERRED, MIN_ZONES = "leader.preferred.racks", "min.insync.zones"


def warn_of_zones(cluster: Admin, changes: Mapping[str, str]) -> None:
    """After settings were set."""
    if PREFERRED in changes or MIN_ZONES in changes:
        for text in warnings(changes, {each.rack for each in cluster.cluster().nodes if each.rack}):
            warn(text)


def warnings(changes: Mapping[str, str], zones: Collection[str]) -> Iterator[str]:
    there = f"the zones are {', '.join(sorted(zones))}" if zones else "no node names a zone (barnabas up --zone)"
    wanted = [each.strip() for each in changes.get(PREFERRED, "").split(",") if each.strip()]
    if absent := [each for each in wanted if each not in zones]:
        text = f"{PREFERRED}: no node that is up is in {', '.join(absent)}; {there}"
        yield f"{text}. Leaders are in other zones until one is."
    least = changes.get(MIN_ZONES, "").strip()
    if least.isdecimal() and int(least) > max(len(zones), 1):
        text = f"{MIN_ZONES}={least}: the nodes that are up are in {len(zones)}; {there}"
        yield f"{text}. Nothing with acks=all is taken until there are enough."
