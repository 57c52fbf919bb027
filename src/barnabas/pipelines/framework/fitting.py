"""Whether a JSON value fits a schema, and if not, which field and why: as SQL expressions.

The same rules as `source/values/coerce.py`, which does it in Python for `valueFormat=json`. Spark's `from_json` alone
is more lenient: it takes a number for a text, a number for a timestamp (as seconds) or a date (as days), and a number
that is too large for infinity. So times are read as text and looked at here, and a text that may be something else in
the JSON is looked at again.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial, reduce
from typing import TYPE_CHECKING

from barnabas.pipelines.framework.expected import Expected
from barnabas.pipelines.source.values import texts

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType, StructType

CORRUPT = "_corrupt"
WHY = "_why"
_SHOWN = 60
# What Spark makes a text of when a number, a truth value, an object or an array stands there.
_LIKE_NO_TEXT = r"^(-?\d+(\.\d+)?([eE][+-]?\d+)?\z|true\z|false\z|[{\[])"
_TIMES = ("timestamp", "timestamp_ntz", "date")


def loose_fields(schema: StructType) -> StructType:
    from pyspark.sql import types as t

    return t.StructType([t.StructField(each.name, loose(each.dataType)) for each in schema.fields])


def loose(kind: DataType) -> DataType:
    """The type to read from JSON: times as text, nothing required."""
    from pyspark.sql import types as t

    if isinstance(kind, t.StructType):
        return loose_fields(kind)
    if isinstance(kind, t.ArrayType):
        return t.ArrayType(loose(kind.elementType))
    if isinstance(kind, t.MapType):
        return t.MapType(kind.keyType, loose(kind.valueType))
    return t.StringType() if kind.typeName() in _TIMES else kind


def tight(column: Column, kind: DataType, milliseconds: bool) -> Column:
    """A column of the loose type as the type that is wanted; null where it does not fit."""
    from pyspark.sql import functions as f
    from pyspark.sql import types as t

    if loose(kind) == kind and not _has_floats(kind):
        return column
    if isinstance(kind, t.StructType):
        inner = [tight(column[each.name], each.dataType, milliseconds).alias(each.name) for each in kind.fields]
        return f.when(column.isNotNull(), f.struct(*inner))
    if isinstance(kind, t.ArrayType):
        return f.transform(column, lambda each: tight(each, kind.elementType, milliseconds))
    if isinstance(kind, t.MapType):
        return f.transform_values(column, lambda _, each: tight(each, kind.valueType, milliseconds))
    if kind.typeName() in ("double", "float"):
        return f.when(f.abs(column) < f.lit(float("inf")), column)  # in Spark NaN is larger than that
    pattern = texts.DATE if kind.typeName() == "date" else texts.TIMESTAMP
    found = f.when(column.rlike(f"^{pattern}\\z"), column.try_cast(kind))
    if milliseconds and kind.typeName() != "date":
        number = column.try_cast("bigint")
        known = column.rlike(f"^{texts.MILLISECONDS}\\z") & number.between(*texts.MILLISECONDS_RANGE)
        found = found.when(known, f.timestamp_millis(number).cast(kind))
    return found


def _has_floats(kind: DataType) -> bool:
    inner = [getattr(kind, name) for name in ("elementType", "valueType") if hasattr(kind, name)]
    inner += [field.dataType for field in getattr(kind, "fields", ())]
    return kind.typeName() in ("double", "float") or any(_has_floats(each) for each in inner)


def made(raw: Column, schema: StructType, expected: Expected) -> dict[str, Column]:
    """The fields of what `from_json` read by the loose type, in the wanted types."""
    return {each.name: tight(raw[each.name], each.dataType, expected.milliseconds) for each in schema.fields}


def both(raw: Column, schema: StructType, expected: Expected) -> Column:
    """A struct of `raw`, which `from_json` made by the loose type, and `made`, the same in the wanted types."""
    from pyspark.sql import functions as f

    fields = [column.alias(name) for name, column in made(raw, schema, expected).items()]
    return f.struct(raw.alias("raw"), f.struct(*fields).alias("made"))


def fits(text: Column, raw: Column, fields: Mapping[str, Column], sent: Column, rules: Rules) -> Column:
    """Whether a value fits, without the reason: a small expression, which Spark compiles."""
    from pyspark.sql import functions as f

    wrong = f.lit(False)
    for condition, _ in _misfits(text, raw, fields, sent, rules):
        wrong = wrong | f.coalesce(condition, f.lit(False))
    return ~wrong


def judged(text: Column, pair: Column, sent: Column, schema: StructType, expected: Expected) -> Column:
    """The schema's columns in a struct, and `_why`: what is wrong with the value, null when it fits.

    `text` is the value as text, `pair` what `both` made of it, `sent` the record's timestamp.
    """
    from pyspark.sql import functions as f

    fields = {each.name: pair["made"][each.name] for each in schema.fields}
    whys = [
        f.when(condition, reason())
        for condition, reason in _misfits(text, pair["raw"], fields, sent, Rules(schema, expected))
    ]
    return f.struct(*[column.alias(name) for name, column in fields.items()], f.coalesce(*whys).alias(WHY))


@dataclass(frozen=True, slots=True)
class Rules:
    schema: StructType
    expected: Expected


def _misfits(
    text: Column, raw: Column, fields: Mapping[str, Column], sent: Column, rules: Rules
) -> Iterator[tuple[Column, Callable[[], Column]]]:
    """What can be wrong with a value, in the order in which it is told: whether it is, and what to say then."""
    from pyspark.sql import functions as f

    schema, expected = rules.schema, rules.expected
    yield text.isNull(), lambda: f.lit("the record has no value")
    yield raw.isNull() | raw[CORRUPT].isNotNull(), lambda: _misread(text, raw, schema)
    for each in schema.fields:
        if loose(each.dataType) != each.dataType or _has_floats(each.dataType):
            fit = _all_fit(raw[each.name], fields[each.name], each.dataType)
            yield ~fit, partial(_wrong, text, each.name, each.dataType)
    for each in schema.fields:
        if each.dataType.typeName() == "string":
            suspect = raw[each.name].rlike(_LIKE_NO_TEXT) & text.rlike(_suspects(each.name))
            yield suspect & _is_no_text(text, each.name), partial(_wrong, text, each.name, each.dataType)
    required = [each.name for each in schema.fields if not each.nullable]
    if required:
        some = reduce(lambda one, other: one | other, (fields[name].isNull() for name in required))
        missing = [f.when(fields[name].isNull(), f.lit(name)) for name in required]
        yield some, lambda: f.concat(f.lit("missing: "), f.concat_ws(", ", *missing))
    for name in event_times(schema, expected):
        limit = f.unix_millis(sent) + f.lit(expected.ahead_ms)
        told = f" is more than {_span(expected.ahead_ms)} after the record's own timestamp"
        yield (
            f.unix_millis(fields[name]) > limit,
            partial(f.concat, f.lit(f"{name}: "), fields[name].cast("string"), f.lit(told)),
        )


def _all_fit(raw: Column, made: Column, kind: DataType) -> Column:
    """Whether nothing became null on the way from the loose type to the wanted one."""
    from pyspark.sql import functions as f
    from pyspark.sql import types as t

    if loose(kind) == kind and not _has_floats(kind):
        return f.lit(True)
    if isinstance(kind, t.StructType):
        inner = f.lit(True)
        for each in kind.fields:
            inner = inner & _all_fit(raw[each.name], made[each.name], each.dataType)
        return raw.isNull() | inner
    if isinstance(kind, t.ArrayType):
        pairs = f.arrays_zip(raw.alias("raw"), made.alias("made"))
        fit = f.forall(pairs, lambda each: _all_fit(each["raw"], each["made"], kind.elementType))
        return f.coalesce(fit, f.lit(True))
    if isinstance(kind, t.MapType):
        pairs = f.arrays_zip(f.map_values(raw).alias("raw"), f.map_values(made).alias("made"))
        fit = f.forall(pairs, lambda each: _all_fit(each["raw"], each["made"], kind.valueType))
        return f.coalesce(fit, f.lit(True))
    return raw.isNull() | made.isNotNull()


def _misread(text: Column, raw: Column, schema: StructType) -> Column:
    """Why `from_json` did not take it: the first field that is in the value and not in what was read."""
    from pyspark.sql import functions as f

    why = f.when(f.coalesce(~f.ltrim(text).startswith("{"), f.lit(True)), f.lit("the value is no JSON object"))
    why = why.when(raw.isNull() | f.try_parse_json(text).isNull(), f.lit("the value is no JSON object"))
    why = _unread(why, text, raw, schema, ())
    return why.otherwise(f.lit("the value does not fit the schema"))


def _unread(why: Column, text: Column, raw: Column, kind: StructType, path: tuple[str, ...]) -> Column:
    from pyspark.sql import functions as f
    from pyspark.sql.types import StructType

    for each in kind.fields:
        here = (*path, each.name)
        there = f.get_json_object(text, _json_path(here)).isNotNull()
        why = why.when(raw[each.name].isNull() & there, _wrong(text, ".".join(here), each.dataType, here))
        if isinstance(each.dataType, StructType):
            why = _unread(why, text, raw[each.name], each.dataType, here)
    return why


def _wrong(text: Column, name: str, kind: DataType, path: tuple[str, ...] | None = None) -> Column:
    from pyspark.sql import functions as f

    shown = f.substring(f.get_json_object(text, _json_path(path or (name,))), 1, _SHOWN)
    wanted = f" is not {kind.simpleString()}"
    if kind.typeName() in _TIMES:
        wanted += " (ISO 8601 text)"
    return f.concat(f.lit(f"{name}: "), shown, f.lit(wanted))


def _json_path(path: tuple[str, ...]) -> str:
    return "$" + "".join(f"['{name}']" for name in path)


def _suspects(name: str) -> str:
    """Matches a value in which something other than a text or null may stand where a text is wanted.

    A quotation mark inside a JSON text has a backslash before it, so `"name":` can only be the name of a field. It may
    be one of an inner object: that is for `_is_no_text` to tell, which takes much longer.
    """
    return f'"{re.escape(name)}"\\s*:\\s*[^"n\\s]'


def _is_no_text(text: Column, name: str) -> Column:
    from pyspark.sql import functions as f

    found = f.try_variant_get(f.try_parse_json(text), _json_path((name,)), "variant")
    return ~f.schema_of_variant(found).isin("STRING", "VOID")


def event_times(schema: StructType, expected: Expected) -> list[str]:
    """The columns whose times must not lie ahead of the record's own."""
    times = [each.name for each in schema.fields if each.dataType.typeName() == "timestamp"]
    return [name for name in times if expected.event_time in (None, name)]


def _span(length_ms: int) -> str:
    return f"{length_ms / 3_600_000:g} h" if length_ms >= 3_600_000 else f"{length_ms / 1000:g} s"
