"""`barnabas link promote`: waits for the last records and offsets, then makes ordinary topics of the linked ones."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from barnabas.cli.common import human
from barnabas.cli.common.failure import Failure
from barnabas.cli.common.options import to_paste
from barnabas.cli.common.screen import note, say
from barnabas.cli.link import links

if TYPE_CHECKING:
    from barnabas.cli.common.cluster import Cluster
    from barnabas.core.cluster.name_patterns import NamePatterns

_LOOK_S = 0.2
_HEARD_WITHIN_S, _HEARD_LOOK_S = 5.0, 0.05
_UNREACHED_S = 5.0  # without an answer of the source nothing more comes
_QUIET_S = 1.0  # nothing new from the source for so long: its producers have stopped


@dataclass(frozen=True)
class Promoted:
    link: str
    topics: list[str]
    missing: dict[tuple[str, int], int | None]  # records that were not here, by partition; None: the source is unknown

    def as_json(self) -> object:
        return {
            "link": self.link,
            "topics": self.topics,
            "missing": [
                {"topic": topic, "partition": index, "records": records}
                for (topic, index), records in sorted(self.missing.items())
                if records != 0
            ],
        }

    def show(self) -> None:
        say(f"{self.link}: {human.plural(len(self.topics), 'topic')} promoted: {', '.join(self.topics[:10])}")
        lost = {place: records for place, records in sorted(self.missing.items()) if records}
        for (topic, index), records in lost.items():
            say(f"  {topic}-{index}: {human.plural(records or 0, 'record')} had not come over")
        unknown = sum(records is None for records in self.missing.values())
        if unknown:
            say(f"  of {human.plural(unknown, 'partition')} the source was not heard: what is missing is not known")
        if not lost and not unknown:
            say("  nothing was missing when the source was last heard")


def promoted(
    cluster: Cluster, name: str, wanted: NamePatterns | None, wait_s: float | None, *, quiet: bool
) -> Promoted:
    """`wait_s` None: at once."""
    stored = links.must_exist(cluster, name)
    filled = links.topics_of(cluster, name)
    chosen = _chosen(sorted(filled), name, wanted, cluster.bootstrap)
    if wait_s is not None:
        if stored.get("paused") == "true":
            resume = to_paste(f"link resume {name}", cluster.bootstrap)
            raise Failure(
                f"{name} is paused: what the source has written since is not here",
                f"Let it catch up ({resume}), or promote with what is here (--now).",
            )
        expected = {(topic, part.partition_index) for topic in chosen for part in filled[topic].partitions}
        _drain(cluster, name, expected, wait_s, quiet=quiet)
    last = links.progress(cluster, name)
    missing: dict[tuple[str, int], int | None] = {
        (topic, part.partition_index): None  # no node tells of it: the link is paused, or its node does not answer
        for topic, known in filled.items()
        if topic in chosen
        for part in known.partitions
    }
    missing |= {
        (p.topic, p.partition_index): last.lag(p) if p.source_end_offset >= 0 else None
        for p in last.partitions
        if p.topic in chosen
    }
    links.alter(cluster, links.TOPIC, {topic: {"link.name": None} for topic in chosen})
    _await_leaders(cluster, name, set(chosen))
    return Promoted(name, chosen, missing)


def _chosen(filled: list[str], name: str, wanted: NamePatterns | None, bootstrap: str) -> list[str]:
    found = [topic for topic in filled if wanted is None or wanted.match(topic)]
    if not found:
        raise Failure(
            f"{name} fills no topic" + (" like that" if wanted is not None else ""),
            f"It fills: {', '.join(filled[:10])}"
            if filled
            else f"Look at it: {to_paste(f'link status {name}', bootstrap)}",
        )
    return found


def _await_leaders(cluster: Cluster, name: str, topics: set[str]) -> None:
    """Until every node has heard of it: a leader that has not refuses producers for good (POLICY_VIOLATION)."""
    deadline = time.monotonic() + _HEARD_WITHIN_S
    while any(p.topic in topics for p in links.progress(cluster, name).partitions) and time.monotonic() < deadline:
        time.sleep(_HEARD_LOOK_S)


def _drain(cluster: Cluster, name: str, expected: set[tuple[str, int]], wait_s: float, *, quiet: bool) -> None:
    """Until all that the source has is here, for a while, and the offsets of groups that were committed by then."""
    begun = time.monotonic()
    deadline, quiet_since, ends, told = begun + wait_s, begun, None, ""
    unreached_since: float | None = None
    while True:
        found = links.progress(cluster, name)
        ours = [p for p in found.partitions if (p.topic, p.partition_index) in expected]
        now, lag = time.monotonic(), sum(found.lag(p) for p in ours)
        heard = len(ours) == len(expected)  # a partition without a leader here is told by nobody
        heard = heard and all(p.source_end_offset >= 0 and not p.error_message for p in ours)
        new_ends = [p.source_end_offset for p in ours]
        unreached_since = (unreached_since or now) if found.unreached else None
        if lag or new_ends != ends or not heard or found.unreached:
            quiet_since, ends = now, new_ends
            quiet_since_ms = time.time() * 1000
        elif now - quiet_since >= _QUIET_S and found.synced_ms >= quiet_since_ms:
            return
        text = f"{human.plural(lag, 'record')} to come ..." if lag else "waits for the last offsets ..."
        if not quiet and text != told and now - begun > _QUIET_S:
            note(text)
            told = text
        if now >= deadline or (unreached_since is not None and now - unreached_since > _UNREACHED_S):
            untold = len(expected) - len(ours)
            why = f"{human.plural(lag, 'record')} are not here yet, or more come"
            if untold:
                why = f"no node tells of {human.plural(untold, 'partition')}: without a leader, or the link is paused"
            if found.unreached or found.errors:
                why = (found.unreached or found.errors)[0]
            raise Failure(
                f"not promoted: after {human.duration(now - begun)} {why}",
                "Stop the producers at the source, wait longer (--wait 5m), or promote with what is here (--now).",
            )
        time.sleep(_LOOK_S)
