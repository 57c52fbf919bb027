"""Add, pause, resume, restart, remove: changes of a connector's entry, which workers follow."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Literal

import msgspec

from barnabas.connect.cluster import definitions
from barnabas.connect.cluster.connection import Cluster
from barnabas.connect.cluster.definitions import Entry
from barnabas.connect.definition.definition import Definition
from barnabas.connect.errors import BadOption
from barnabas.connect.hints import hint


def add(cluster: Cluster, definition: Definition) -> bool:
    """Whether it is new or changed. A connector that is paused stays so."""
    definitions.ensure(cluster)
    before = definitions.read_all(cluster).get(definition.name)
    return _put(cluster, before, Entry(definition=definition, state=before.state if before is not None else "running"))


def run_from_file(cluster: Cluster, given: Sequence[Definition], *, keep_paused: bool = False) -> list[str]:
    """Those that are paused go on, or stay so; gives their names."""
    definitions.ensure(cluster)
    known = definitions.read_all(cluster)
    paused = []
    for each in given:
        before, entry = known.get(each.name), Entry(definition=each, from_file=True)
        if keep_paused and before is not None and before.state == "paused":
            entry = msgspec.structs.replace(entry, state="paused")
            paused.append(each.name)
        _put(cluster, before, entry)
    return paused


def _put(cluster: Cluster, before: Entry | None, entry: Entry) -> bool:
    """Whether that was a change."""
    definition = entry.definition
    if before is not None and before.definition.side != definition.side:
        remove = f"barnabas connect remove {definition.name} -b {cluster.bootstrap}"
        raise BadOption(
            f"connector {definition.name} is a {before.definition.side}",
            f"Remove it first ({remove}), or take another name.",
        )
    if before is not None:
        entry = msgspec.structs.replace(entry, restarts=before.restarts, changed_ms=before.changed_ms)
    if entry == before:
        return False
    _write(cluster, definition.name, entry)
    return True


def found(cluster: Cluster, name: str) -> Entry:
    entries = definitions.read_all(cluster)
    if name not in entries:
        if not entries:
            raise BadOption(f"there is no connector {name!r}", "Add one: barnabas connect add FILE")
        raise BadOption(f"there is no connector {name!r}", hint(name, entries))
    return entries[name]


def set_state(cluster: Cluster, name: str, state: Literal["running", "paused"]) -> bool:
    """Whether that was a change."""
    entry = found(cluster, name)
    if entry.state == state:
        return False
    _write(cluster, name, msgspec.structs.replace(entry, state=state))
    return True


def restart(cluster: Cluster, name: str) -> None:
    entry = found(cluster, name)
    _write(cluster, name, msgspec.structs.replace(entry, state="running", restarts=entry.restarts + 1))


def remove(cluster: Cluster, name: str) -> Entry:
    """Its topics and its group stay: a connector that is added again goes on where it was."""
    entry = found(cluster, name)
    definitions.write(cluster, name, None)
    return entry


def _write(cluster: Cluster, name: str, entry: Entry) -> None:
    definitions.write(cluster, name, msgspec.structs.replace(entry, changed_ms=_now_ms()))


def _now_ms() -> int:
    return int(time.time() * 1000)
