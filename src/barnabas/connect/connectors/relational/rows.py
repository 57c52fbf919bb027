"""From records to rows of one table: fields by name, the key, and which rows are deletions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import chain

from barnabas.connect.connectors.relational.model import Table
from barnabas.connect.connectors.relational.rules import Rules
from barnabas.connect.contract import Delivered, Value

Fields = dict[str, Value]


@dataclass(slots=True)
class Rows:
    """Rows in the order of their records, as lists that run beside each other."""

    indexes: list[int] = field(default_factory=list)  # of the record in the batch
    fields: list[Fields] = field(default_factory=list)
    deleted: list[bool] = field(default_factory=list)
    key: tuple[str, ...] = ()  # names of the key's columns

    def without(self, bad: dict[int, str]) -> Rows:
        keep = [row for row in range(len(self.indexes)) if row not in bad]
        return Rows(
            [self.indexes[row] for row in keep],
            [self.fields[row] for row in keep],
            [self.deleted[row] for row in keep],
            self.key,
        )


def rows_of(
    rules: Rules, records: Sequence[Delivered], indexes: Sequence[int], table: Table | None
) -> tuple[Rows, dict[int, str]]:
    """The rows, and the records that cannot be one, by index in the batch."""
    rows, rejected = Rows(), dict[int, str]()
    if rules.upsert:
        _upserts(rules, records, indexes, table.keys if table else (), rows, rejected)
    else:
        for index in indexes:
            value = records[index].value
            if type(value) is dict:
                rows.indexes.append(index)
                rows.fields.append(value)
            elif value is not None:  # a tombstone has nothing to append
                rejected[index] = _no_structure(value)
        rows.deleted = [False] * len(rows.indexes)
    bad = _bad_names(rules, rows) or _too_many_names(rules, rows, table)
    if bad:
        rejected.update((rows.indexes[row], reason) for row, reason in bad.items())
        rows = rows.without(bad)
    return rows, rejected


def _upserts(
    rules: Rules,
    records: Sequence[Delivered],
    indexes: Sequence[int],
    keys: Sequence[frozenset[str]],
    rows: Rows,
    rejected: dict[int, str],
) -> None:
    for index in indexes:
        record = records[index]
        value = record.value
        if value is not None and type(value) is not dict:
            rejected[index] = _no_structure(value)
            continue
        if value is None and not rules.deletes:
            continue
        key = key_of(rules, record)
        if isinstance(key, str):
            rejected[index] = key
            continue
        names = tuple(key)
        if names != rows.key and (reason := _wrong_key(rules, rows, names, keys)):
            rejected[index] = reason
            continue
        rows.indexes.append(index)
        rows.fields.append(key if value is None else {**value, **key})
        rows.deleted.append(value is None)


def key_of(rules: Rules, record: Delivered) -> Fields | str:
    """The key's columns, or why there are none."""
    key = record.key
    if type(key) is dict:
        named: Fields = key
    elif key is None:
        value = record.value
        if value is None or any(name not in value for name in rules.key_columns):
            names = ", ".join(map(repr, rules.key_columns))
            return (
                f"the record has no key, and its value no field {names}: name another key_column, or use mode: append"
            )
        named = {name: value[name] for name in rules.key_columns}
    elif isinstance(key, list | tuple) or len(rules.key_columns) != 1:
        return f"the key is of type {type(key).__name__}: it cannot be the columns {', '.join(rules.key_columns)}"
    else:
        named = {rules.key_columns[0]: key}
    if not named:
        return "the key has no fields"
    for name, part in named.items():
        if part is None:
            return f"field {name!r} of the key is null"
        if isinstance(part, dict | list | tuple):
            return f"field {name!r} of the key is of type {type(part).__name__}, which cannot be a key"
    return named


def _wrong_key(rules: Rules, rows: Rows, names: tuple[str, ...], keys: Sequence[frozenset[str]]) -> str:
    """Why a record of this key has no place in the table; empty: it has. The first decides on the columns."""
    folded = frozenset(map(rules.fold, names))
    if not rows.key:
        if keys and folded not in keys:
            return f"the key has the fields {', '.join(names)}, the table's key is ({', '.join(sorted(keys[0]))})"
        rows.key = names
        return ""
    if folded == frozenset(map(rules.fold, rows.key)):
        return ""
    return f"the key has the fields {', '.join(names)}, others in this table have {', '.join(rows.key)}"


def _no_structure(value: Value) -> str:
    return (
        f"the value is of type {type(value).__name__}, and a row needs fields: read the topic as JSON, Avro or "
        "Protobuf (option format), or make a structure of it by a transformation"
    )


def _bad_names(rules: Rules, rows: Rows) -> dict[int, str]:
    """Rows with a field that cannot name a column. Looked for in all names at once: it is rare."""
    names = set(chain.from_iterable(rows.fields))
    bad: dict[str, str] = {}
    for name in names:
        if not isinstance(name, str) or not name or "\0" in name or not _encodes(name):
            bad[name] = f"field {name!r} cannot name a column"
        elif name in rules.dialect.reserved:
            bad[name] = f"field {name!r}: the database has a column of this name in every table"
        elif len(name.encode()) > rules.dialect.name_bytes:
            bad[name] = f"field {name[:80]!r}: the name is longer than {rules.dialect.name_bytes} bytes"
    found: dict[int, str] = {}
    if bad:
        for row, fields in enumerate(rows.fields):
            found.update((row, bad[name]) for name in fields if name in bad)
    folded = {name: rules.fold(name) for name in names if name not in bad}
    if len(set(folded.values())) < len(folded):
        for row, fields in enumerate(rows.fields):
            own = [folded[name] for name in fields if name in folded]
            if len(set(own)) < len(own):
                found[row] = "two of its fields differ in case only, and would be one column"
    return found


def _too_many_names(rules: Rules, rows: Rows, table: Table | None) -> dict[int, str]:
    """Rows with fields beyond max_columns, before anything is made for each field of each row: names may be data."""
    names = set(chain.from_iterable(rows.fields))
    if len(names) <= rules.max_columns:
        return {}
    found: dict[int, str] = {}
    known = set(table.columns) if table else set()
    left = rules.max_columns - len(known | set(map(rules.fold, rows.key)) | rules.metadata_columns)
    for row, fields in enumerate(rows.fields):
        # A null without a column is as if it were not there.
        kept = {name: value for name, value in fields.items() if value is not None or rules.fold(name) in known}
        rows.fields[row] = kept
        new = {rules.fold(name) for name in kept} - known - set(rows.key)
        if len(new) > left:
            found[row] = too_many_columns(rules, next(name for name in kept if rules.fold(name) in new))
        else:
            known |= new
            left -= len(new)
    return found


def too_many_columns(rules: Rules, name: str) -> str:
    return f"field {name!r}: the table would have more columns than {rules.max_columns}, which is max_columns"


def _encodes(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
