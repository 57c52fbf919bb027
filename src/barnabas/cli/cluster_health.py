"""What is wrong with a cluster, worst first, as lines with a way out and as an exit code for scripts.

0   healthy: every node is up, the quorum has all its voters, every partition all its replicas
3   degraded: everything is served, but a further failure may not be survived (or a disk is nearly full)
4   unavailable: a partition has no leader, or the quorum has none
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.cli import human

if TYPE_CHECKING:
    from barnabas.cli.cluster_view import View

HEALTHY, DEGRADED, UNAVAILABLE = 0, 3, 4
_NEARLY_FULL = 0.05  # of the disk is free, or less
_NEARLY_FULL_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class Problem:
    severity: int
    text: str
    way_out: str


def problems(found: View) -> list[Problem]:
    listed = [*_quorum(found), *_partitions(found), *_nodes(found), *_disks(found)]
    return sorted(listed, key=lambda each: -each.severity)


def exit_code(listed: list[Problem]) -> int:
    return max((each.severity for each in listed), default=HEALTHY)


def _quorum(found: View) -> list[Problem]:
    down = [each.id for each in found.brokers if each.id in found.voters and not each.up]
    if found.quorum_leader < 0:
        return [
            Problem(
                UNAVAILABLE,
                "the quorum has no leader: nothing can be created, changed or failed over",
                "Start the controllers that are down: a majority of the voters has to be up.",
            )
        ]
    if not down:
        return []
    voters = len(found.voters)
    spare = voters - len(down) - (voters // 2 + 1)
    more = "no further voter may fail" if spare <= 0 else f"{human.plural(spare, 'further voter')} may fail"
    text = f"{len(down)} of {human.plural(voters, 'voter')} of the quorum down ({_ids(down)}): {more}"
    return [Problem(DEGRADED, text, "Start it again, or replace it: docs/operations.md, a machine is dead.")]


def _partitions(found: View) -> list[Problem]:
    listed = []
    if found.without_leader:
        text = f"{human.plural(len(found.without_leader), 'partition')} without a leader"
        listed.append(Problem(UNAVAILABLE, text, "Start the nodes that hold their in-sync replicas."))
    if found.under_replicated:
        text = f"{human.plural(len(found.under_replicated), 'partition')} under-replicated"
        listed.append(Problem(DEGRADED, text, "Start the nodes that are down; replicas catch up by themselves."))
    return listed


def _nodes(found: View) -> list[Problem]:
    down = [each.id for each in found.brokers if not each.up and each.port]
    if not down:
        return []
    text = f"{human.plural(len(down), 'node')} down: {_ids(down)}"
    return [Problem(DEGRADED, text, "Start it again, or take it out: barnabas cluster drain NODE.")]


def _disks(found: View) -> list[Problem]:
    listed = []
    for disk in found.disks:
        if disk.total_bytes > 0 and disk.usable_bytes < min(_NEARLY_FULL_BYTES, disk.total_bytes * _NEARLY_FULL):
            text = f"the disk of node {disk.broker_id} is nearly full: {human.size(disk.usable_bytes)} free"
            if not disk.usable_bytes:
                text = f"the disk of node {disk.broker_id} is full: it refuses producers"
            listed.append(Problem(DEGRADED, text, "Free some, shorten retention, or move partitions to other nodes."))
        if disk.failed:
            text = f"node {disk.broker_id} cannot use its data folder {disk.path}"
            listed.append(Problem(DEGRADED, text, "Look at its log."))
    return listed


def _ids(ids: list[int]) -> str:
    return ", ".join(map(str, ids))
