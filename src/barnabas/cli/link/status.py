"""`barnabas link status`: each partition with its lag in records and seconds, the rate, and when it is done."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from barnabas.cli.common import human
from barnabas.cli.common.options import to_paste
from barnabas.cli.common.screen import Column, emit_json, facts, say, table
from barnabas.cli.link import links

if TYPE_CHECKING:
    from barnabas.cli.common.cluster import Cluster
    from barnabas.wire.messages import LinkedPartition

_SAMPLE_S = 1.0
_WATCH_S = 2.0
_ROWS_MAX = 40


def show(cluster: Cluster, name: str, *, watch: bool, as_json: bool) -> bool:
    """Gives whether all is well."""
    settings = links.must_exist(cluster, name)
    first = links.progress(cluster, name)
    time.sleep(_SAMPLE_S)
    while True:
        begun = time.monotonic()
        found = links.progress(cluster, name)
        fine = not found.errors and not any(p.error_message for p in found.partitions)
        if as_json:
            emit_json(_as_json(found, first, settings))
        else:
            _print(found, first, settings, cluster.bootstrap)
        if not watch:
            return fine
        first = found
        time.sleep(max(_WATCH_S - (time.monotonic() - begun), 0))
        say()


def _rates(found: links.Progress, before: links.Progress, seconds: float) -> tuple[float, float]:
    """Records and bytes a second."""
    old = {(p.topic, p.partition_index): p for p in before.partitions}
    records = fetched = 0
    for partition in found.partitions:
        known = old.get((partition.topic, partition.partition_index))
        if known is not None:
            records += max(partition.end_offset - known.end_offset, 0)
            fetched += max(partition.bytes_fetched - known.bytes_fetched, 0)
    return records / seconds, fetched / seconds


def _seconds_behind(partition: LinkedPartition) -> float | None:
    if partition.source_end_offset <= partition.end_offset and partition.source_end_offset >= 0:
        return 0.0
    if partition.caught_up_ms < 0:
        return None
    return max(time.time() - partition.caught_up_ms / 1000, 0.0)


def _print(found: links.Progress, before: links.Progress, settings: dict[str, str | None], bootstrap: str) -> None:
    records, size = _rates(found, before, _SAMPLE_S)
    lag = found.total_lag
    left = "caught up" if not lag else "not moving" if not records else human.duration(lag / records)
    mean = _mean_record(found)
    behind = f"{human.plural(lag, 'record')}" + (f", about {human.size(lag * mean)}" if lag and mean else "")
    if settings.get("paused") == "true":
        behind = "not known while it is paused"
        left = f"paused; on again: {to_paste(f'link resume {found.name}', bootstrap)}"
    lines = [
        ("follows", settings["bootstrap.servers"] or ""),
        (
            "topics",
            human.plural(len({p.topic for p in found.partitions}), "topic")
            + f", {human.plural(len(found.partitions), 'partition')}",
        ),
        ("behind", behind),
        ("rate", f"{human.rate(records, 1)}, {human.size(size)}/s"),
        ("done in", left),
    ]
    if found.synced_ms >= 0:
        lines.append(("topics and groups", f"as at the source {human.moment(found.synced_ms)}"))
    lines += [("problem", error) for error in found.errors]
    facts(lines)
    rows = [_row(partition) for partition in found.partitions[:_ROWS_MAX]]
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


def _mean_record(found: links.Progress) -> float:
    """Bytes of a record, of those that this run of the nodes has fetched; 0: none yet."""
    fetched, records = sum(p.bytes_fetched for p in found.partitions), sum(p.end_offset for p in found.partitions)
    return fetched / records if records else 0.0


def _row(partition: LinkedPartition) -> list[str]:
    behind = _seconds_behind(partition)
    source = partition.source_end_offset
    state = partition.error_message or ("follows" if source >= 0 else "begins")
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


def _as_json(found: links.Progress, before: links.Progress, settings: dict[str, str | None]) -> object:
    records, size = _rates(found, before, _SAMPLE_S)
    return {
        "name": found.name,
        "from": settings["bootstrap.servers"],
        "lag_records": found.total_lag,
        "records_per_second": round(records, 1),
        "bytes_per_second": round(size, 1),
        "seconds_left": None if not records and found.total_lag else round(found.total_lag / max(records, 1), 1),
        "synced_ms": found.synced_ms,
        "errors": found.errors,
        "partitions": [
            {
                "topic": p.topic,
                "partition": p.partition_index,
                "end_offset": p.end_offset,
                "source_end_offset": p.source_end_offset,
                "seconds_behind": _seconds_behind(p),
                "records_skipped": p.records_skipped,
                "error": p.error_message,
            }
            for p in found.partitions
        ],
    }
