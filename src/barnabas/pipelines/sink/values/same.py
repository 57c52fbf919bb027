"""Whether two types of columns are the same, whatever may be null in them, and whatever order fields have."""

from __future__ import annotations

from pyspark.sql import types


def same_type(one: types.DataType, other: types.DataType) -> bool:
    if isinstance(one, types.StructType) and isinstance(other, types.StructType):
        others = {each.name: each.dataType for each in other.fields}
        return set(one.names) == set(others) and all(same_type(each.dataType, others[each.name]) for each in one.fields)
    if isinstance(one, types.ArrayType) and isinstance(other, types.ArrayType):
        return same_type(one.elementType, other.elementType)
    if isinstance(one, types.MapType) and isinstance(other, types.MapType):
        return same_type(one.keyType, other.keyType) and same_type(one.valueType, other.valueType)
    return one == other
