"""The table's own log: which Parquet files belong to it, in the format of Delta Lake.

A folder of Parquet files has no notion of "all or nothing". The log gives it one: each change of the table is one
numbered JSON file in `_delta_log/`, and creating the next number either succeeds or says that somebody else was first.
It is the open Delta protocol (reader version 1, writer version 2), so other tools that speak it read the table without
knowing of us: delta-rs, DuckDB, Spark with Delta, Trino. No JAR and no library is needed to write it.

How far each partition of a topic has come is in the same commit as its rows (`txn` actions): that is what makes it
exactly once.
"""

from __future__ import annotations

import json
import os
import time
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from barnabas.model.json_values import JsonObject
from barnabas.pipelines.errors import PipelineError

FOLDER = "_delta_log"
PROTOCOL = {"minReaderVersion": 1, "minWriterVersion": 2}
LAST_CHECKPOINT = "_last_checkpoint"
ATTEMPTS = 50
FORGET_REMOVED_MS = 7 * 86_400_000

Action = dict[str, JsonObject]


class Taken(Exception):
    """Somebody else made this version."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A Parquet file of the table: its place under the table's folder, and what is known without opening it."""

    path: str
    partition_values: dict[str, str | None]
    size: int
    modified_ms: int
    stats: str | None = None

    def add(self, data_change: bool = True) -> Action:
        return {
            "add": {
                "path": self.path,
                "partitionValues": self.partition_values,
                "size": self.size,
                "modificationTime": self.modified_ms,
                "dataChange": data_change,
                "stats": self.stats,
            }
        }

    def remove(self, now_ms: int, data_change: bool = True) -> Action:
        return {"remove": {"path": self.path, "deletionTimestamp": now_ms, "dataChange": data_change}}


@dataclass(slots=True)
class Snapshot:
    """The table after some version; -1 is a table that is not there yet."""

    version: int = -1
    meta: JsonObject | None = None
    files: dict[str, DataFile] = field(default_factory=dict)
    removed: dict[str, int] = field(default_factory=dict)  # path -> when
    positions: dict[str, int] = field(default_factory=dict)  # what `txn` actions say: name -> version

    def apply(self, action: Action) -> None:
        for kind, body in action.items():
            if kind == "add":
                told = body.get("stats")
                path, values = body["path"], dict(body.get("partitionValues") or {})
                self.files[path] = DataFile(path, values, body["size"], body["modificationTime"], told)
                self.removed.pop(path, None)
            elif kind == "remove":
                self.files.pop(body["path"], None)
                self.removed[body["path"]] = body.get("deletionTimestamp") or 0
            elif kind == "txn":
                self.positions[body["appId"]] = body["version"]
            elif kind == "metaData":
                self.meta = body
            elif kind == "protocol" and (body["minReaderVersion"] > 1 or body["minWriterVersion"] > 2):
                raise PipelineError("the table was changed by a newer Delta writer and cannot be written from here")

    @property
    def schema_text(self) -> str | None:
        return self.meta["schemaString"] if self.meta is not None else None

    @property
    def partition_columns(self) -> list[str]:
        return list(self.meta["partitionColumns"]) if self.meta is not None else []

    def actions(self) -> list[Action]:
        """All that is needed to know this table again. Files that left it long ago are nobody's business any more."""
        since = int(time.time() * 1000) - FORGET_REMOVED_MS
        known: list[Action] = [{"protocol": dict(PROTOCOL)}]
        if self.meta is not None:
            known.append({"metaData": self.meta})
        known += [position(name, value) for name, value in sorted(self.positions.items())]
        known += [each.add(data_change=False) for each in self.files.values()]
        known += [
            {"remove": {"path": path, "deletionTimestamp": at, "dataChange": False}}
            for path, at in self.removed.items()
            if at > since
        ]
        return known


class DeltaLog:
    def __init__(self, table: Path) -> None:
        self.folder = table / FOLDER
        self._known = Snapshot()

    def snapshot(self) -> Snapshot:
        """The newest; only what came since the last look is read."""
        if self._known.version < 0:
            self._known = self._from_checkpoint()
        known = self._known
        while True:
            try:
                text = self._file(known.version + 1).read_text()
            except FileNotFoundError:
                return known
            for line in text.splitlines():
                if line.strip():
                    known.apply(json.loads(line))
            known.version += 1

    def commit(self, decide: Callable[[Snapshot], Iterable[Action] | None], operation: str) -> int | None:
        """Make the next version out of what `decide` says of the newest one; None when it says None.

        When somebody else is first, it is asked again, about what the table has become.
        """
        for _ in range(ATTEMPTS):
            found = self.snapshot()
            wanted = decide(found)
            if wanted is None:
                return None
            now_ms = int(time.time() * 1000)
            info = {"timestamp": now_ms, "operation": operation, "engineInfo": "barnabas"}
            actions: list[Action] = [{"commitInfo": info}]
            if found.version < 0:
                actions.append({"protocol": dict(PROTOCOL)})
            try:
                self._create(found.version + 1, [*actions, *wanted])
            except Taken:
                continue
            return self.snapshot().version
        raise PipelineError(f"{self.folder.parent}: other writers were first {ATTEMPTS} times, this one gives up")

    def _create(self, version: int, actions: Iterable[Action]) -> None:
        """All of it or nothing, on disk when this returns; never over another's."""
        self.folder.mkdir(parents=True, exist_ok=True)
        text = "".join(json.dumps(action, separators=(",", ":")) + "\n" for action in actions)
        draft = self.folder / f".{uuid.uuid4().hex}.tmp"
        try:
            with draft.open("w") as written:
                written.write(text)
                written.flush()
                os.fsync(written.fileno())
            try:
                os.link(draft, self._file(version))
            except FileExistsError:
                raise Taken from None
        finally:
            draft.unlink(missing_ok=True)
        sync_folder(self.folder)

    def _from_checkpoint(self) -> Snapshot:
        from barnabas.pipelines.lake.checkpoints import read_checkpoint

        try:
            version = int(json.loads((self.folder / LAST_CHECKPOINT).read_text())["version"])
        except FileNotFoundError:
            return Snapshot()
        found = Snapshot(version)
        for action in read_checkpoint(self.folder, version):
            found.apply(action)
        return found

    def _file(self, version: int) -> Path:
        return self.folder / f"{version:020d}.json"


def position(name: str, value: int) -> Action:
    return {"txn": {"appId": name, "version": value, "lastUpdated": int(time.time() * 1000)}}


def meta_data(table_id: str, schema_text: str, partition_columns: list[str]) -> Action:
    return {
        "metaData": {
            "id": table_id,
            "format": {"provider": "parquet", "options": {}},
            "schemaString": schema_text,
            "partitionColumns": partition_columns,
            "configuration": {},
            "createdTime": int(time.time() * 1000),
        }
    }


def sync_folder(folder: Path) -> None:
    """Names are on disk only when their folder is."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
