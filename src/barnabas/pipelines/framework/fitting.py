"""Whether a JSON value fits a schema, and if not, which field and why: as SQL expressions.

The same rules as `source/values/coerce.py`, which does it in Python for `valueFormat=json`. Spark's `from_json` alone
is more lenient: it takes a number for a text, a number for a timestamp (as seconds) or a date (as days), and a number
that is too large for infinity. So times are read as text and looked at here, and a text that may be something else in
the JSON is looked at again.
"""

from __future__ import annotations

import re
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


def both(raw: Column, schema: StructType, expected: Expected) -> Column:
    """A struct of `raw`, which `from_json` made by the loose type, and `made`, the same in the wanted types."""
    from pyspark.sql import functions as f

    made = [tight(raw[each.name], each.dataType, expected.milliseconds).alias(each.name) for each in schema.fields]
    return f.struct(raw.alias("raw"), f.struct(*made).alias("made"))


def judged(text: Column, pair: Column, sent: Column, schema: StructType, expected: Expected) -> Column:
    """The schema's columns in a struct, and `_why`: what is wrong with the value, null when it fits.

    `text` is the value as text, `pair` what `both` made of it, `sent` the record's timestamp.
    """
    from pyspark.sql import functions as f

    raw = pair["raw"]
    made = {each.name: pair["made"][each.name] for each in schema.fields}
    why = f.when(text.isNull(), f.lit("the record has no value"))
    why = why.when(raw.isNull() | raw[CORRUPT].isNotNull(), _misread(text, raw, schema))
    for each in schema.fields:
        if loose(each.dataType) != each.dataType or _has_floats(each.dataType):
            fits = _all_fit(raw[each.name], made[each.name], each.dataType)
            why = why.when(~fits, _wrong(text, each.name, each.dataType))
    names = [each.name for each in schema.fields if each.dataType.typeName() == "string"]
    for name in names:
        suspect = raw[name].rlike(_LIKE_NO_TEXT) & text.rlike(_suspects(name))
        why = why.when(suspect & _is_no_text(text, name), _wrong(text, name, schema[name].dataType))
    required = [each.name for each in schema.fields if not each.nullable]
    if required:
        missing = f.concat_ws(", ", *[f.when(made[name].isNull(), f.lit(name)) for name in required])
        some = made[required[0]].isNull()
        for name in required[1:]:
            some = some | made[name].isNull()
        why = _or(why, f.when(some, f.concat(f.lit("missing: "), missing)))
    for name in _event_times(schema, expected):
        limit = f.unix_millis(sent) + f.lit(expected.ahead_ms)
        told = f"is more than {_span(expected.ahead_ms)} after the record's own timestamp"
        shown = f.concat(f.lit(f"{name}: "), made[name].cast("string"), f.lit(f" {told}"))
        why = _or(why, f.when(f.unix_millis(made[name]) > limit, shown))
    return f.struct(*[made[name].alias(name) for name in made], why.alias(WHY))


def _or(one: Column, other: Column) -> Column:
    from pyspark.sql import functions as f

    return f.coalesce(one, other)


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


def _event_times(schema: StructType, expected: Expected) -> list[str]:
    times = [each.name for each in schema.fields if each.dataType.typeName() == "timestamp"]
    return [name for name in times if expected.event_time in (None, name)]


def _span(length_ms: int) -> str:
    return f"{length_ms / 3_600_000:g} h" if length_ms >= 3_600_000 else f"{length_ms / 1000:g} s"
