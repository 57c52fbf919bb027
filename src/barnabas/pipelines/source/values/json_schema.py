"""The columns that follow from a JSON Schema: the properties of its object.

string is STRING (with `format` date or date-time DATE or TIMESTAMP, with `contentEncoding` base64 BINARY), integer
BIGINT, number DOUBLE, boolean BOOLEAN; an object is a struct of its properties, without properties a map of its
`additionalProperties`; `null` beside a type says what a column may be anyway. Values are read by name: what a record
has beyond the columns is left out, and what it does not have is null.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import types

from barnabas.model.json_values import Json
from barnabas.pipelines.errors import PipelineError

_PLAIN = {
    "string": types.StringType(),
    "integer": types.LongType(),
    "number": types.DoubleType(),
    "boolean": types.BooleanType(),
}
_TEXTS = {"date": types.DateType(), "date-time": types.TimestampType()}
_DEPTH_MAX = 100


def columns_of(schema: Json, references: Mapping[str, Json]) -> types.StructType:
    found = _Types(schema, references).of(schema, "the schema", ())
    if not isinstance(found, types.StructType):
        raise PipelineError("the JSON Schema is not of an object with properties, which would become columns")
    return found


class _Types:
    def __init__(self, root: Json, references: Mapping[str, Json]) -> None:
        self._root = root
        self._references = references

    def of(self, schema: Json, where: str, within: tuple[int, ...], root: Json = None) -> types.DataType:
        """`within`: the schemas around this one; one that comes again contains itself."""
        root = self._root if root is None else root
        if not isinstance(schema, dict):
            raise PipelineError(f"{where}: a schema that allows anything has no column type")
        if id(schema) in within or len(within) > _DEPTH_MAX:
            raise PipelineError(f"{where} contains itself, and a column's type is finite")
        within = (*within, id(schema))
        if "$ref" in schema:
            target, its_root = self._referred(str(schema["$ref"]), where, root)
            return self.of(target, where, within, its_root)
        for word in ("oneOf", "anyOf", "allOf"):
            if isinstance(schema.get(word), list):
                return self._only(schema[word], where, within, root)
        kind = _kind(schema, where)
        if kind == "object":
            return self._object(schema, where, within, root)
        if kind == "array":
            return types.ArrayType(self.of(schema.get("items"), f"{where}[]", within, root))
        if kind == "string":
            if schema.get("contentEncoding") == "base64":
                return types.BinaryType()
            return _TEXTS.get(str(schema.get("format")), types.StringType())
        return _PLAIN[kind]

    def _object(self, schema: Json, where: str, within: tuple[int, ...], root: Json) -> types.DataType:
        properties = schema.get("properties")
        if isinstance(properties, dict) and properties:
            found = types.StructType()
            for name, each in properties.items():
                found.add(name, self.of(each, f"{where}.{name}", within, root))
            return found
        return types.MapType(
            types.StringType(), self.of(schema.get("additionalProperties"), f"{where}{{}}", within, root)
        )

    def _only(self, choices: list[Json], where: str, within: tuple[int, ...], root: Json) -> types.DataType:
        others = [each for each in choices if not (isinstance(each, dict) and each.get("type") == "null")]
        if len(others) != 1:
            raise PipelineError(f"{where}: a choice of several schemas has no column type")
        return self.of(others[0], where, within, root)

    def _referred(self, name: str, where: str, root: Json) -> tuple[Json, Json]:
        """What is named, and the document that it stands in."""
        document, _, path = name.partition("#")
        if document:
            known = (each for each in self._references if each == document or document.endswith(f"/{each}"))
            found = next(known, None)
            if found is None:
                raise PipelineError(f"{where} refers to {document}, which is no reference of the schema")
            root = self._references[found]
        target = root
        for step in path.split("/")[1:]:
            step = step.replace("~1", "/").replace("~0", "~")
            if not isinstance(target, dict) or step not in target:
                raise PipelineError(f"{where} refers to {name}, and there is nothing")
            target = target[step]
        return target, root


def _kind(schema: Json, where: str) -> str:
    told = schema.get("type")
    kinds = [each for each in (told if isinstance(told, list) else [told]) if each != "null"]
    if kinds == [None]:
        kinds = ["object"] if "properties" in schema else [_of_values(schema)]
    if len(kinds) != 1 or kinds[0] not in ("object", "array", *_PLAIN):
        raise PipelineError(f"{where}: a value of several types, or of any, has no column type")
    return str(kinds[0])


def _of_values(schema: Json) -> str | None:
    """Of an enum or const without a type: what its values are."""
    values = schema.get("enum") or [schema.get("const")]
    return "string" if isinstance(values, list) and all(isinstance(each, str) for each in values) else None
