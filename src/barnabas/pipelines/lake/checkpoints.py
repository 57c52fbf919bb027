"""Every so many versions the whole state of the log in one Parquet file, so that opening a table stays quick.

Also Delta's own format: one column for each kind of action, one action in a row. Old versions that a checkpoint covers
are removed after a while.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from barnabas.model.json_values import JsonObject
from barnabas.pipelines.lake.log import LAST_CHECKPOINT, Action, Snapshot, sync_folder

EVERY = 50
KEEP_VERSIONS_MS = 86_400_000

_TEXTS = pa.map_(pa.string(), pa.string())
_SCHEMA = pa.schema(
    {
        "txn": pa.struct({"appId": pa.string(), "version": pa.int64(), "lastUpdated": pa.int64()}),
        "add": pa.struct(
            {
                "path": pa.string(),
                "partitionValues": _TEXTS,
                "size": pa.int64(),
                "modificationTime": pa.int64(),
                "dataChange": pa.bool_(),
                "stats": pa.string(),
            }
        ),
        "remove": pa.struct({"path": pa.string(), "deletionTimestamp": pa.int64(), "dataChange": pa.bool_()}),
        "metaData": pa.struct(
            {
                "id": pa.string(),
                "name": pa.string(),
                "description": pa.string(),
                "format": pa.struct({"provider": pa.string(), "options": _TEXTS}),
                "schemaString": pa.string(),
                "partitionColumns": pa.list_(pa.string()),
                "configuration": _TEXTS,
                "createdTime": pa.int64(),
            }
        ),
        "protocol": pa.struct({"minReaderVersion": pa.int32(), "minWriterVersion": pa.int32()}),
    }
)


def write_checkpoint(folder: Path, snapshot: Snapshot) -> None:
    """Put it beside the log, then say that it is there: a reader that sees only one of the two is right as well."""
    rows = [_shaped(action) for action in snapshot.actions()]
    place = _file(folder, snapshot.version)
    draft = place.with_name(f".{place.name}.{os.getpid()}.tmp")
    pq.write_table(pa.Table.from_pylist(rows, schema=_SCHEMA), draft)
    draft.replace(place)
    note = folder / f".{LAST_CHECKPOINT}.{os.getpid()}.tmp"
    note.write_text(json.dumps({"version": snapshot.version, "size": len(rows)}))
    note.replace(folder / LAST_CHECKPOINT)
    sync_folder(folder)


def read_checkpoint(folder: Path, version: int) -> Iterator[Action]:
    for row in pq.read_table(_file(folder, version)).to_pylist():
        for kind, body in row.items():
            if body is not None:
                yield {kind: _plain(body)}


def forget_old_versions(folder: Path, checkpoint: int, keep_ms: int = KEEP_VERSIONS_MS) -> int:
    """Remove versions and checkpoints from before a checkpoint, when they are old. Returns how many."""
    before = time.time() - keep_ms / 1000
    gone = 0
    for place in folder.iterdir():
        version = place.name.split(".", 1)[0]
        if version.isdigit() and int(version) < checkpoint and place.stat().st_mtime < before:
            place.unlink(missing_ok=True)
            gone += 1
    return gone


def _shaped(action: Action) -> JsonObject:
    """Maps travel as lists of pairs."""
    [(kind, body)] = action.items()
    shaped = dict(body)
    for name in ("partitionValues", "configuration"):
        if name in shaped:
            shaped[name] = list(shaped[name].items())
    if kind == "metaData":
        shaped["format"] = {**shaped["format"], "options": list(shaped["format"]["options"].items())}
    return {kind: shaped}


def _plain(body: JsonObject) -> JsonObject:
    plain = {name: value for name, value in body.items() if value is not None}
    for name in ("partitionValues", "configuration"):
        if name in plain:
            plain[name] = dict(plain[name])
    if "format" in plain:
        plain["format"] = {**plain["format"], "options": dict(plain["format"]["options"] or [])}
    return plain


def _file(folder: Path, version: int) -> Path:
    return folder / f"{version:020d}.checkpoint.parquet"
