"""What a batch needs of its table, and the batch as columns that the table takes.

First `missing`: a table, columns or width that are not there yet. Then, when nothing is missing any more, `loads`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from barnabas.connect.connectors.relational.fitting import fit
from barnabas.connect.connectors.relational.kinds import NOTHING, Kind, first_kind, widened
from barnabas.connect.connectors.relational.model import Action, Change, Column, Load, Table
from barnabas.connect.connectors.relational.rows import Fields, Rows, too_many_columns
from barnabas.connect.connectors.relational.rules import Rules
from barnabas.connect.connectors.relational.schema_columns import declared, is_too_narrow, kind_of
from barnabas.connect.contract import Value
from barnabas.connect.shapes import NO_FIELDS, Field, FieldType, Shape

Columns = Mapping[str, Sequence[Value]]  # values of all rows, by the name of the field
Bad = dict[int, str]  # by row: why the database cannot take it


def columns_of(rules: Rules, rows: Rows, metadata: Columns) -> Columns:
    """Every field of any row. The key comes first, what is known of the record last and above a field of that name."""
    names = dict.fromkeys(chain(rows.key, chain.from_iterable(rows.fields)))
    found: dict[str, Sequence[Value]] = {}
    spelt: dict[str, str] = {}
    for name in names:
        values: Sequence[Value] = [fields.get(name) for fields in rows.fields]
        first = spelt.setdefault(rules.fold(name), name)
        if first != name:  # spelt otherwise in other records, and the same column
            values = [own if own is not None else other for own, other in zip(found[first], values, strict=True)]
        found[first] = values
    for name, values in metadata.items():
        found.pop(spelt.get(rules.fold(name), name), None)
        found[name] = values
    return found


def missing(
    rules: Rules,
    table: Table | None,
    rows: Rows,
    columns: Columns,
    fixed: Mapping[tuple[str, str], str],
    shape: Shape = NO_FIELDS,
) -> tuple[Change, Bad]:
    """What has to change first, and the rows for which nothing can be. `fixed` has columns (table, column) that the
    database does not let us add or widen, with its reasons. `shape` has the fields that schemas name."""
    add: list[tuple[str, str]] = []
    widen = []
    bad: Bad = {}
    fields = {rules.fold(name): field for name, field in shape.items()}
    for name in _in_order(rules, rows, columns, shape):
        values = columns.get(name, ())
        types = set(map(type, values))
        types.discard(NOTHING)
        field = fields.get(rules.fold(name)) if name not in rules.metadata_columns else None
        if not types and field is None:
            continue
        column = table.columns.get(rules.fold(name)) if table else None
        if column is not None:
            if rules.evolve and table is not None and (table.text, column.name) not in fixed:
                wider = widened(column.kind, values, types, rules.dialect) if types else column.kind
                if wider is not column.kind or _is_narrow(rules, column, field):
                    widen.append((column, wider))
            continue
        if table is not None and not rules.evolve and name in rules.metadata_columns:
            continue  # whoever makes a table without it does not want it
        reason = _no_column(rules, table, name, len(add), fixed)
        kind = kind_of(field, rules.dialect) if field is not None else first_kind(values)
        if not reason and kind is not None:
            wider = widened(kind, values, types, rules.dialect) if types else kind
            asked = (
                declared(field, rules.dialect) if field is not None and wider is kind else rules.dialect.types[wider]
            )
            add.append((name, rules.types.get(name) or asked))
        else:
            for row, value in enumerate(values):
                if value is not None:
                    bad[row] = reason or f"field {name!r}: no column takes a value of type {type(value).__name__}"
    create = table is None and bool(add)
    if create and rules.upsert and not set(rows.key) <= {name for name, _ in add}:
        create = False  # no row has a key that can be a column
    return Change(create, add if create or table else (), widen, rows.key, rules.unique), bad


def _in_order(rules: Rules, rows: Rows, columns: Columns, shape: Shape) -> Iterable[str]:
    """The key first, then as the schema has them, then what no schema names."""
    if not shape:
        return columns
    spelt = {rules.fold(name): name for name in columns}
    return dict.fromkeys((*rows.key, *(spelt.get(rules.fold(name), name) for name in shape), *columns))


def _is_narrow(rules: Rules, column: Column, field: Field | None) -> bool:
    return field is not None and rules.dialect.exact is Kind.NUMERIC and is_too_narrow(column, field)


def _no_column(rules: Rules, table: Table | None, name: str, added: int, fixed: Mapping[tuple[str, str], str]) -> str:
    if table is not None and (table.text, name) in fixed:
        return f"field {name!r} has no column: {fixed[table.text, name]}"
    if table is not None and not rules.evolve:
        return f"field {name!r}: table {table.text} has no such column, and evolve is false"
    if (len(table.columns) if table else 0) + added >= rules.max_columns:
        return too_many_columns(rules, name)
    return ""


@dataclass(slots=True)
class Fitting:
    """A batch as its table takes it."""

    columns: list[tuple[Column, Sequence[Value]]]
    bad: Bad


def fitting(rules: Rules, table: Table, rows: Rows, columns: Columns, shape: Shape = NO_FIELDS) -> Fitting:
    key = {rules.fold(name) for name in rows.key}
    found, given = Fitting([], {}), set[str]()
    for name, values in columns.items():
        column = table.columns.get(rules.fold(name))
        if column is None or column.computed:
            continue
        # Keys are compared before the database sees them: "7" and 7 have to be the same there too.
        reads_text = rules.dialect.reads_text and rules.fold(name) not in key
        fitted = fit(name, column, values, reads_text, name in shape and shape[name].type is FieldType.BYTES)
        found.bad.update(fitted.bad)
        found.columns.append((column, fitted.values))
        given.add(column.name)
    if rules.upsert and not rules.partial:
        # A record is the whole row: what it does not have is null, whatever else is in its batch.
        nulls = [None] * len(rows.indexes)
        for column in table.columns.values():
            if column.name not in given and not column.computed and not column.filled:
                found.columns.append((column, nulls))
    return found


class Loads:
    """The rows of one table that go in, in an order in which the last of a key is what remains."""

    def __init__(self, rules: Rules, table: Table, rows: Rows, fitted: Fitting) -> None:
        self.rules, self.table, self.rows = rules, table, rows
        self.columns, self.bad = fitted.columns, fitted.bad
        self.key = [table.columns[rules.fold(name)].name for name in rows.key] if rules.upsert else list(rules.unique)
        self._names_all = {column.name for column, _ in self.columns}
        self._good = [row for row in range(len(rows.indexes)) if row not in self.bad]
        # Columns that stay as they are, or get their default, in a row that does not name them.
        self._left = [
            column.name
            for column, _ in self.columns
            if (column.filled or rules.partial) and column.name not in self.key
        ]
        self._named = [self._names(fields) for fields in rows.fields] if self._left else []
        self._after: dict[int, int] = {}  # row of a partial upsert: the deletion before it in the batch
        self._keys: list[Value] = []
        if rules.upsert:
            by_name = {column.name: values for column, values in self.columns}
            parts = [by_name[name] for name in self.key]
            self._keys = list(parts[0]) if len(parts) == 1 else list(zip(*parts, strict=True))
        self._tried: list[int] = []  # the last of each key, as far as they went in or were refused
        if rules.partial:
            self._merge()

    def _names(self, fields: Fields) -> frozenset[str]:
        folded = set(map(self.rules.fold, fields))
        return frozenset(name for name in self._left if self.rules.fold(name) in folded)

    def _merge(self) -> None:
        """Rows that name only some columns: the later row of a key gets from the one before what it does not name
        itself, as it would find it in the table had that one been written alone."""
        last: dict[Value, int] = {}
        for row in self._good:
            before = last.get(self._keys[row])
            last[self._keys[row]] = row
            if before is None or self.rows.deleted[row]:
                continue
            if self.rows.deleted[before]:
                self._after[row] = before
                continue
            if before in self._after:
                self._after[row] = self._after[before]
            wanted = self._named[before] - self._named[row]
            for index, (column, values) in enumerate(self.columns):
                if column.name in wanted:
                    changed = values if isinstance(values, list) else list(values)
                    changed[row] = changed[before]
                    self.columns[index] = (column, changed)
            self._named[row] |= wanted

    def first(self) -> Iterator[Load]:
        if not self.rules.upsert:
            return self._by_names(Action.ADD if self.key else Action.APPEND, self._good)
        return self._last({self._keys[row]: row for row in self._good}.values())

    def instead(self, refused: Collection[int]) -> Iterator[Load]:
        """The database has refused these records (by index). Where one was the last of its key in the batch, the one
        before it counts, as it would have in a batch of its own."""
        if not self.rules.upsert:
            return iter(())
        last = {self._keys[row]: row for row in self._tried if self.rows.indexes[row] in refused}
        before = {self._keys[row]: row for row in self._good if row < last.get(self._keys[row], 0)} if last else {}
        return self._last(before.values())

    def _last(self, rows: Collection[int]) -> Iterator[Load]:
        self._tried = list(rows)
        gone = [row for row in rows if self.rows.deleted[row]]
        gone += [self._after[row] for row in rows if row in self._after]
        if gone:
            yield self._load(Action.DELETE, gone, self.key)
        yield from self._by_names(Action.UPSERT, [row for row in rows if not self.rows.deleted[row]])

    def _by_names(self, action: Action, rows: Sequence[int]) -> Iterator[Load]:
        """Rows that name the same of the columns that are left alone otherwise go in together."""
        if not rows:
            return
        if not self._left:
            yield self._load(action, rows, self._names_all)
            return
        groups: dict[frozenset[str], list[int]] = {}
        for row in rows:
            groups.setdefault(self._named[row], []).append(row)
        for named, group in groups.items():
            yield self._load(action, group, self._names_all - (set(self._left) - named))

    def _load(self, action: Action, rows: Sequence[int], names: Collection[str]) -> Load:
        columns = [(column, values) for column, values in self.columns if column.name in names]
        whole = len(rows) == len(self.rows.indexes)  # and so in order, each once
        return Load(
            action,
            self.table,
            [column for column, _ in columns],
            [values if whole else [values[row] for row in rows] for _, values in columns],
            [self.rows.indexes[row] for row in rows],
            self.key,
        )
