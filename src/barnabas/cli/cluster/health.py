"""What is wrong with a cluster, worst first, as lines with a way out and as an exit code for scripts.

0   healthy: every node is up, the quorum has all its voters, every partition all its replicas
3   degraded: everything is served, but a further failure may not be survived (or a disk is nearly full, or replicas
    share a zone although they need not)
4   unavailable: a partition has no leader, or one that refuses producers for want of disk or of zones in sync, or the
    quorum has none
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.cli.common import human
from barnabas.cli.common.options import DEFAULT_BOOTSTRAP, to_paste

if TYPE_CHECKING:
    from barnabas.cli.cluster.view import View
    from barnabas.operate.placement.nouns import Partition

HEALTHY, DEGRADED, UNAVAILABLE = 0, 3, 4
_NEARLY_FULL = 0.05  # of the disk is free, or less
_NEARLY_FULL_BYTES = 1 << 30
_NAMED_MAX = 5  # partitions of a line


@dataclass(frozen=True, slots=True)
class Problem:
    severity: int
    text: str
    way_out: str


def problems(found: View, bootstrap: str = DEFAULT_BOOTSTRAP) -> list[Problem]:
    """`bootstrap`: where this was asked, for the commands that help."""
    listed = [*_quorum(found, bootstrap), *_partitions(found, bootstrap), *_nodes(found, bootstrap), *_disks(found)]
    return sorted(listed, key=lambda each: -each.severity)


def exit_code(listed: list[Problem]) -> int:
    return max((each.severity for each in listed), default=HEALTHY)


def _quorum(found: View, bootstrap: str) -> list[Problem]:
    down = [
        each.id for each in found.brokers if each.id in found.voters and (not each.up or each.id in found.lost_votes)
    ]
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
    way_out = f"Start {_it(down)} again, or replace {_it(down)}: docs/operations.md, a machine is dead."
    if lost := [node for node in down if node in found.lost_votes]:
        remove, add = (to_paste(f"cluster voters --{what} {lost[0]}", bootstrap) for what in ("remove", "add"))
        way_out = f"Node {lost[0]} has a new folder, and its vote belongs to the old one: {remove}, then {add}."
    return [Problem(DEGRADED, text, way_out)]


def _partitions(found: View, bootstrap: str) -> list[Problem]:
    listed = []
    if found.without_leader:
        text = f"{human.plural(len(found.without_leader), 'partition')} without a leader"
        listed.append(Problem(UNAVAILABLE, text, "Start the nodes that hold their in-sync replicas."))
    if refusing := found.refusing_writes:
        count = human.plural(len(refusing), "partition")
        text = f"{count} in sync in too few zones for min.insync.zones: {_names(refusing)}"
        way_out = "They refuse acks=all. Start nodes of other zones, add replicas there, or lower min.insync.zones."
        listed.append(Problem(UNAVAILABLE, text, way_out))
    if found.under_replicated:
        text = f"{human.plural(len(found.under_replicated), 'partition')} under-replicated"
        way_out = "Start the nodes that are down; replicas catch up by themselves."
        if all(each.up for each in found.brokers):
            out = sorted({node for each in found.under_replicated for node in each.replicas if node not in each.isr})
            way_out = f"All nodes are up: replicas on {_ids(out)} catch up, or cannot; look at the log and disk there."
        listed.append(Problem(DEGRADED, text, way_out))
    if sharing := found.sharing_a_zone:
        count = human.plural(len(sharing), "partition")
        text = f"{count} with replicas in one zone that could be in two: {_names(sharing)}"
        listed.append(Problem(DEGRADED, text, f"Move them: {to_paste('cluster balance', bootstrap)}."))
    return listed


def _names(partitions: list[Partition]) -> str:
    return ", ".join(each.name for each in partitions[:_NAMED_MAX]) + (", ..." if len(partitions) > _NAMED_MAX else "")


def _nodes(found: View, bootstrap: str) -> list[Problem]:
    down = [each.id for each in found.brokers if not each.up and each.port]
    if not down:
        return []
    text = f"{human.plural(len(down), 'node')} down: {_ids(down)}"
    way_out = f"Start {_it(down)} again"
    if found.quorum_leader >= 0:
        node = down[0] if len(down) == 1 else "NODE"
        way_out += f", or take {_it(down)} out: {to_paste(f'cluster drain {node}', bootstrap)}"
    return [Problem(DEGRADED, text, f"{way_out}.")]


def _disks(found: View) -> list[Problem]:
    listed = []
    for disk in found.disks:
        if disk.total_bytes > 0 and disk.usable_bytes < min(_NEARLY_FULL_BYTES, disk.total_bytes * _NEARLY_FULL):
            text = f"the disk of node {disk.broker_id} is nearly full: {human.size(disk.usable_bytes)} free"
            severity = DEGRADED
            if not disk.usable_bytes:
                text = f"the disk of node {disk.broker_id} is full: it refuses producers"
                leads = next((each.leads for each in found.brokers if each.id == disk.broker_id), 0)
                if leads:  # what nobody else can lead
                    text += f" of the {human.plural(leads, 'partition')} that it leads"
                    severity = UNAVAILABLE
            listed.append(Problem(severity, text, "Free some, shorten retention, or move partitions to other nodes."))
        if disk.failed:
            text = f"node {disk.broker_id} cannot use its data folder {disk.path}"
            listed.append(Problem(DEGRADED, text, "Look at its log."))
    return listed


def _it(nodes: list[int]) -> str:
    return "it" if len(nodes) == 1 else "them"


def _ids(ids: list[int]) -> str:
    return ", ".join(map(str, ids))
