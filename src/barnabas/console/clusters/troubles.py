"""What is wrong with a cluster now, and what to do about it: sentences made from the facts, worst first."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from barnabas.console.clusters.facts import Facts

_NAMED = 3  # then "and N more"
_DISK_LOW = 0.10


class Trouble(NamedTuple):
    severity: str  # bad: records cannot be read or written; warning: they could be lost or late
    what: str
    way_out: str
    page: str = ""  # where to look, below the cluster's address


def troubles(facts: Facts) -> list[Trouble]:
    found = list(_found(facts))
    return sorted(found, key=lambda each: each.severity != "bad")


def _found(facts: Facts) -> Iterator[Trouble]:
    if facts.problem:
        yield Trouble(
            "bad", f"The cluster does not answer: {facts.problem}", "Is a node up? barnabas doctor", "cluster"
        )
    fenced = [str(each.id) for each in facts.nodes.values() if each.fenced]
    if fenced:
        yield Trouble(
            "warning",
            f"Node {_some(fenced)} is down or fenced",
            "Start it again; it catches up by itself. If it is gone for good: barnabas cluster drain NODE",
            "cluster",
        )
    offline = [
        f"{topic.name}-{each.index}" for topic in facts.topics.values() for each in topic.partitions if each.leader < 0
    ]
    if offline:
        yield Trouble(
            "bad",
            f"{_count(offline, 'partition')} without a leader: {_some(offline)}",
            "Start the nodes that have its replicas; only they have its records",
            "cluster",
        )
    lacking = [
        f"{topic.name}-{each.index}"
        for topic in facts.topics.values()
        for each in topic.partitions
        if each.leader >= 0 and each.is_under_replicated
    ]
    if lacking:
        yield Trouble(
            "warning",
            f"{_count(lacking, 'partition')} with replicas that are not in sync: {_some(lacking)}",
            "Wait if a node has just come back; else look at its log and disk (barnabas doctor)",
            "cluster",
        )
    for folder in facts.folders:
        if folder.error:
            yield Trouble(
                "bad",
                f"A disk of node {folder.node} failed: {folder.path}",
                "Replace it, then start the node",
                "cluster",
            )
        elif folder.total_bytes > 0 and folder.usable_bytes < folder.total_bytes * _DISK_LOW:
            share = 100 * folder.usable_bytes // folder.total_bytes
            yield Trouble(
                "warning",
                f"The disk of node {folder.node} has {share} % left ({folder.path})",
                "Shorten retention of the largest topics, purge one, or add a node and balance",
                "topics",
            )

    for told in facts.metrics.problems if facts.metrics is not None else ():
        known = "ready" in told or any(told.startswith(f"node {each} does not answer") for each in fenced)
        if told.startswith("node ") and not known:  # the rest is known from the metadata
            yield Trouble("warning", told[:1].upper() + told[1:], "barnabas doctor on that node says more", "cluster")


def _some(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")


def _count(things: list[str], name: str) -> str:
    return f"{len(things)} {name}{'' if len(things) == 1 else 's'}"
