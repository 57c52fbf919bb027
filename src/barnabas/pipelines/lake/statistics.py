"""What a Parquet file says about itself in its footer: its rows, and the bounds of their places and times."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet as pq

from barnabas.model.json_values import JsonObject
from barnabas.pipelines.lake.log import DataFile

COLUMNS = ("partition", "offset", "timestamp")


def described(table: Path, place: Path) -> DataFile:
    about = place.stat()
    path = place.relative_to(table)
    values = dict(part.split("=", 1) for part in path.parent.parts)
    return DataFile(path.as_posix(), dict(values), about.st_size, int(about.st_mtime * 1000), json.dumps(_stats(place)))


def _stats(place: Path) -> JsonObject:
    footer = pq.read_metadata(place)
    low: JsonObject = {}
    high: JsonObject = {}
    for group in range(footer.num_row_groups):
        for index in range(footer.row_group(group).num_columns):
            column = footer.row_group(group).column(index)
            name = column.path_in_schema
            if name not in COLUMNS or column.statistics is None or not column.statistics.has_min_max:
                continue
            least, greatest = _plain(column.statistics.min), _plain(column.statistics.max)
            low[name] = min(low.get(name, least), least)
            high[name] = max(high.get(name, greatest), greatest)
    return {
        "numRecords": footer.num_rows,
        "minValues": low,
        "maxValues": high,
        "nullCount": dict.fromkeys(low, 0),
    }


def _plain(value: object) -> object:
    """Times as Delta writes them. Those of records are whole milliseconds, so nothing is cut off."""
    if not isinstance(value, datetime):
        return value
    moment = value if value.tzinfo else value.replace(tzinfo=UTC)
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.") + f"{moment.microsecond // 1000:03d}Z"
