"""How far a stream is behind, from Spark's own progress.

Spark's Kafka connector tells it in `query.lastProgress.sources[i].metrics` (avg/max/minOffsetsBehindLatest). A Python
source has no say in that field, but tells the end of its topics, so the same numbers follow from any progress:

    offsets_behind(query.lastProgress)[0]["maxOffsetsBehindLatest"]
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from barnabas.model.json_values import Json
from barnabas.pipelines.source.bounds import offsets_from_json

if TYPE_CHECKING:
    from pyspark.sql.streaming.listener import StreamingQueryProgress


def offsets_behind(progress: StreamingQueryProgress | Mapping[str, Json] | None) -> list[dict[str, float]]:
    """For each source of a query's progress what the connector's `metrics` has; empty where there is no offset yet."""
    told: Json = json.loads(progress.json) if progress is not None and not isinstance(progress, Mapping) else progress
    return [_behind(each) for each in (told or {}).get("sources", ())]


def _behind(source: Mapping[str, Json]) -> dict[str, float]:
    read, latest = _offsets(source.get("endOffset")), _offsets(source.get("latestOffset"))
    behind = [max(0, offset - read.get(place, 0)) for place, offset in latest.items()]
    if not behind:
        return {}
    return {
        "avgOffsetsBehindLatest": sum(behind) / len(behind),
        "maxOffsetsBehindLatest": max(behind),
        "minOffsetsBehindLatest": min(behind),
    }


def _offsets(told: Json) -> dict[tuple[str, int], int]:
    found = json.loads(told) if isinstance(told, str) else told
    try:
        return offsets_from_json(found or {})
    except (AttributeError, TypeError, ValueError):  # a source of another kind, with offsets of its own shape
        return {}
