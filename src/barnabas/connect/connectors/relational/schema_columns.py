"""Columns that a schema of a registry asks for, before there is a value for them."""

from __future__ import annotations

import re
from collections.abc import Sequence

from barnabas.connect.connectors.relational.kinds import Dialect, Kind
from barnabas.connect.connectors.relational.model import Column
from barnabas.connect.connectors.relational.rows import Rows
from barnabas.connect.connectors.relational.rules import Rules
from barnabas.connect.shapes import WHOLE, Field, FieldType, Shape

_DECLARED = re.compile(r"\((\d+), ?(\d+)\)$")
_KINDS = {
    FieldType.BOOLEAN: Kind.BOOLEAN,
    FieldType.INT32: Kind.INT32,
    FieldType.INT64: Kind.INT64,
    FieldType.DECIMAL: Kind.NUMERIC,
    FieldType.FLOAT64: Kind.FLOAT64,
    FieldType.TEXT: Kind.TEXT,
    FieldType.JSON: Kind.JSON,
    FieldType.BYTES: Kind.BYTES,
    FieldType.TIMESTAMP: Kind.TIMESTAMP,
    FieldType.TIMESTAMPTZ: Kind.TIMESTAMPTZ,
    FieldType.DATE: Kind.DATE,
    FieldType.TIME: Kind.TIME,
    FieldType.UUID: Kind.UUID,
}


def shape_of(rules: Rules, rows: Rows, known: Sequence[tuple[Shape, Shape]]) -> Shape:
    """What is known of the columns of a table, from the keys and values of the topics that go into it. Names that no
    column can have are left out: a record with such a field is rejected, and a schema is none."""
    found: dict[str, Field] = {}
    key = set(rows.key)
    for keys, values in known:
        found |= {name: field for name, field in values.items() if _is_name(rules, name)}
        for name, field in keys.items():
            if name == WHOLE and len(rules.key_columns) == 1:
                name = rules.key_columns[0]
            if name in key and field.type is not FieldType.JSON:
                found[name] = field
    return found


def _is_name(rules: Rules, name: str) -> bool:
    dialect = rules.dialect
    wrong = name == WHOLE or "\0" in name or name in dialect.reserved or rules.fold(name) in rules.metadata_columns
    return not wrong and len(name.encode(errors="replace")) <= dialect.name_bytes


def kind_of(field: Field, dialect: Dialect) -> Kind:
    if field.type is FieldType.UINT64:
        return dialect.exact or Kind.INT128
    return _KINDS[field.type]


def declared(field: Field, dialect: Dialect) -> str:
    """The type of a new column."""
    text, most = dialect.decimals
    if field.type is FieldType.DECIMAL and 0 < field.precision <= most and 0 <= field.scale <= field.precision:
        return text.format(field.precision, field.scale)
    return dialect.types[kind_of(field, dialect)]


def is_too_narrow(column: Column, field: Field) -> bool:
    """Whether a decimal column would round, or refuse, what a later version of the schema allows."""
    if field.type is not FieldType.DECIMAL or column.kind is not Kind.NUMERIC:
        return False
    digits = _DECLARED.search(column.type)
    if digits is None:
        return False
    precision, scale = int(digits[1]), int(digits[2])
    return field.scale > scale or field.precision == 0 or field.precision - field.scale > precision - scale
