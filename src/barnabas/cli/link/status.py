"""`barnabas link status`: each partition with its lag in records and seconds, the rate, and when it is done."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from barnabas.cli.common import human
from barnabas.cli.common.options import to_paste
from barnabas.cli.common.screen import Column, emit_json, facts, say, table
from barnabas.cli.link import links
from barnabas.operate.cluster_links import Progress, rates, seconds_behind

if TYPE_CHECKING:
    from barnabas.cli.common.cluster import Cluster
    from barnabas.wire.messages import LinkedPartition

_SAMPLE_S = 1.0
_WATCH_S = 2.0
_ROWS_MAX = 40
_NAMED_MAX = 10


def show(cluster: Cluster, name: str, *, watch: bool, as_json: bool) -> bool:
    """Gives whether all is well."""
    settings = links.must_exist(cluster, name)
    first = links.progress(cluster, name)
    time.sleep(_SAMPLE_S)
    while True:
        begun = time.monotonic()
        found = links.progress(cluster, name)
        if as_json:
            emit_json(_as_json(found, first, settings))
        else:
            _print(found, first, settings, cluster.bootstrap)
        if not watch:
            return found.is_well
        first = found
        time.sleep(max(_WATCH_S - (time.monotonic() - begun), 0))
        say()


def _print(found: Progress, before: Progress, settings: dict[str, str | None], bootstrap: str) -> None:
    records, size = rates(found, before, _SAMPLE_S)
    lag = found.total_lag
    left = "caught up" if not lag else "not moving" if not records else human.duration(lag / records)
    mean = _mean_record(found)
    behind = f"{human.plural(lag, 'record')}" + (f", about {human.size(lag * mean)}" if lag and mean else "")
    if settings.get("paused") == "true":
        behind = "not known while it is paused"
        left = f"paused; on again: {to_paste(f'link resume {found.name}', bootstrap)}"
    elif found.unreached_since_ms >= 0:
        behind, left = f"{behind} when the source was last heard", "not known: the source is not reached"
    elif found.promoted and not found.partitions:
        behind, left = "nothing: its topics were promoted", "done"
    lines = [
        ("follows", settings["bootstrap.servers"] or ""),
        (
            "topics",
            f"{human.plural(len(found.topics), 'topic')}, {human.plural(len(found.partitions), 'partition')}",
        ),
        ("behind", behind),
        ("rate", f"{human.rate(records, 1)}, {human.size(size)}/s"),
        ("done in", left),
    ]
    if found.synced_ms >= 0:
        lines.append(("topics and groups", f"as at the source {human.moment(found.synced_ms)}"))
    if found.users >= 0:
        lines.append(("users", _users(found)))
    if found.promoted:
        lines.append(("promoted", _named(found.promoted)))
    if (since := found.unreached_since_ms) >= 0:
        lines.append(("source", f"not reached since {human.moment(since)}, for {_lasting(since)}"))
    lines += [("problem", error) for error in found.errors]
    facts(lines)
    rows = [_row(found, partition) for partition in found.partitions[:_ROWS_MAX]]
    if rows:
        say()
        columns = (
            Column("topic", flexible=True, style="bold"),
            Column("partition", right=True),
            Column("here", right=True),
            Column("source", right=True),
            Column("lag", right=True),
            Column("behind", right=True),
            Column("state", flexible=True),
        )
        table(columns, rows)
    if len(found.partitions) > _ROWS_MAX:
        say(f"... and {len(found.partitions) - _ROWS_MAX} more partitions: --json has all")


def _named(topics: list[str]) -> str:
    return f"{human.plural(len(topics), 'topic')}: {_first(topics)}"


def _first(names: list[str]) -> str:
    more = f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else ""
    return f"{', '.join(names[:_NAMED_MAX])}{more}"


def _users(found: Progress) -> str:
    text = f"{human.plural(found.users, 'user')} came over"
    if own := found.own_users:
        text += f"; left alone, being users or super users of this cluster's own: {_first(own)}"
    return text


def _lasting(since_ms: int) -> str:
    return human.duration(max(time.time() - since_ms / 1000, 0.001))


def _state(found: Progress, partition: LinkedPartition) -> str:
    since = found.unreached_ms.get((partition.topic, partition.partition_index))
    if since is not None:
        return f"source not reached for {_lasting(since)}"
    return "follows" if partition.source_end_offset >= 0 else "begins"


def _mean_record(found: Progress) -> float:
    """Bytes of a record, of those that this run of the nodes has fetched; 0: none yet."""
    fetched, records = sum(p.bytes_fetched for p in found.partitions), sum(p.end_offset for p in found.partitions)
    return fetched / records if records else 0.0


def _row(found: Progress, partition: LinkedPartition) -> list[str]:
    heard = (partition.topic, partition.partition_index) not in found.unreached_ms
    behind = seconds_behind(partition, time.time() * 1000) if heard else None
    source = partition.source_end_offset
    state = partition.error_message or _state(found, partition)
    if partition.records_skipped:
        state += f", {human.plural(partition.records_skipped, 'record')} deleted at the source before they came"
    return [
        partition.topic,
        str(partition.partition_index),
        human.count(partition.end_offset),
        human.count(source) if source >= 0 else "?",
        human.count(max(source - partition.end_offset, 0)) if source >= 0 else "?",
        "?" if behind is None else human.duration(behind) if behind else "0 s",
        state,
    ]


def _as_json(found: Progress, before: Progress, settings: dict[str, str | None]) -> object:
    records, size = rates(found, before, _SAMPLE_S)
    return {
        "name": found.name,
        "from": settings["bootstrap.servers"],
        "lag_records": found.total_lag,
        "records_per_second": round(records, 1),
        "bytes_per_second": round(size, 1),
        "seconds_left": None if not records and found.total_lag else round(found.total_lag / max(records, 1), 1),
        "synced_ms": found.synced_ms,
        "errors": found.errors,
        "unreached_since_ms": found.unreached_since_ms,
        "promoted": found.promoted,
        "users": None if found.users < 0 else found.users,
        "own_users": found.own_users,
        "partitions": [
            {
                "topic": p.topic,
                "partition": p.partition_index,
                "end_offset": p.end_offset,
                "source_end_offset": p.source_end_offset,
                "seconds_behind": seconds_behind(p, time.time() * 1000),
                "records_skipped": p.records_skipped,
                "error": p.error_message,
            }
            for p in found.partitions
        ],
    }
