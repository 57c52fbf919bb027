"""Write src/barnabas/wire/schema/*.json from kio's classes: every Kafka API and version, as plain data.

kio (a development dependency) carries one dataclass per message, struct and version, generated from Kafka's own message
definitions. This tool turns them into one small file per API: for request and response, the ranges of versions that are
alike, each with its fields in wire order. Running it twice changes nothing; a unit test holds the files to that.

    .venv/bin/python tools/schema_from_kio.py [DIRECTORY]

What a field says (anything left out is false, absent, or the type's zero):
  name, type (int8 ... float64, bool, string, bytes, uuid, records, struct), array, nullable, tag, default, fields (of a
  struct) and struct (its name, for people). Durations and times are plain integers with the unit in the name (`_ms`);
  error codes are int16; a uuid is never null on the wire, a missing one is all zeros.
"""

import dataclasses
import datetime
import importlib
import json
import keyword
import sys
import typing
from pathlib import Path
from types import NoneType, UnionType
from typing import Any

from kio.schema.index import api_key_map, schema_name_map

TARGET = Path(__file__).resolve().parent.parent / "src" / "barnabas" / "wire" / "schema"
MADE_BY_HAND = {
    "request_header",
    "response_header",
}  # wire/headers.py: client_id is never compact, whatever a schema says

# APIs that Kafka does not have: their files are written by hand, and stay.
OUR_OWN = {10_000: "describe_links", 10_001: "describe_scram_keys", 10_002: "alter_linked_users"}
# Tagged fields that Kafka does not have, by API, kind and first version. Whoever does not know them passes over them.
OUR_FIELDS = {("fetch", "request", 17): {"name": "continues", "type": "bool", "tag": 10_000}}

PLAIN_TYPES = {
    "error_code": "int16",
    "timedelta_i32": "int32",
    "timedelta_i64": "int64",
    "datetime_i64": "int64",
}
MILLISECONDS = {"timedelta_i32", "timedelta_i64", "datetime_i64"}
NEVER_NULL = {"uuid", "datetime_i64"}  # null is a value on the wire: zeros, -1
# Arrays of structs that Kafka's definitions leave null unless set; kio does not keep a default for those.
NULL_UNLESS_SET = {
    "consumer_group_heartbeat": {"topic_partitions"},
    "list_partition_reassignments": {"topics"},
    "streams_group_describe": {"subtopologies"},
    "streams_group_heartbeat": {
        "active_tasks",
        "standby_tasks",
        "warmup_tasks",
        "client_tags",
        "task_offsets",
        "task_end_offsets",
        "partitions_by_user_endpoint",
    },
}
ZEROS: dict[str, Any] = {"string": "", "bytes": "", "uuid": "", "bool": False, "records": ""}


def main() -> None:
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else TARGET
    target.mkdir(parents=True, exist_ok=True)
    for name, text in all_files().items():
        (target / name).write_text(text)


def all_files() -> dict[str, str]:
    """File name -> content."""
    files = {}
    keys = {name: key for key, name in api_key_map.items()}
    for name, versions in sorted(schema_name_map.items()):
        if name in MADE_BY_HAND:
            continue
        document: dict[str, Any] = {"name": name}
        if name in keys:
            document["key"] = keys[name]
        kinds = sorted({kind.name for version in versions.values() for kind in version})
        for kind in kinds:
            document[kind] = merged(shapes_of(versions, kind))
            for shape in document[kind]:
                set_null_defaults(shape["fields"], NULL_UNLESS_SET.get(name, set()))
                shape["fields"] += [
                    field
                    for (api, of, first), field in OUR_FIELDS.items()
                    if (api, of) == (name, kind) and shape["first"] >= first
                ]
        files[f"{name}.json"] = as_text(document)
    files |= {f"{name}.json": (TARGET / f"{name}.json").read_text() for name in OUR_OWN.values()}
    apis = {**dict(api_key_map.items()), **OUR_OWN}
    files["index.json"] = as_text({"apis": {str(key): name for key, name in sorted(apis.items())}})
    return files


def as_text(document: dict[str, Any]) -> str:
    return json.dumps(document, separators=(",", ":"), sort_keys=False) + "\n"


def shapes_of(versions: Any, kind: str) -> list[tuple[int, dict[str, Any]]]:
    shapes = []
    for version in sorted(versions):
        for entity_kind, path in versions[version].items():
            if entity_kind.name == kind:
                module, _, class_name = path.partition(":")
                entity = getattr(importlib.import_module(module), class_name)
                shapes.append((version, {"flexible": entity.__flexible__, "fields": fields_of(entity)}))
    return shapes


def set_null_defaults(fields: list[dict[str, Any]], names: set[str]) -> None:
    for field in fields:
        if field["name"] in names and field.get("array") and field.get("nullable"):
            field["default"] = None
        set_null_defaults(field.get("fields", []), names)


def merged(shapes: list[tuple[int, dict[str, Any]]]) -> list[dict[str, Any]]:
    ranges: list[dict[str, Any]] = []
    for version, shape in shapes:
        last = ranges[-1] if ranges else None
        if last and last["last"] == version - 1 and {k: last[k] for k in shape} == shape:
            last["last"] = version
        else:
            ranges.append({"first": version, "last": version, **shape})
    return ranges


def fields_of(entity: Any) -> list[dict[str, Any]]:
    hints = typing.get_type_hints(entity)
    return [field_of(field, hints[field.name]) for field in dataclasses.fields(entity)]


def field_of(field: Any, hint: Any) -> dict[str, Any]:
    kafka_type = field.metadata.get("kafka_type")
    inner, nullable = without_none(hint)
    is_array = typing.get_origin(inner) is tuple
    if is_array:
        inner = without_none(typing.get_args(inner)[0])[0]
    is_struct = dataclasses.is_dataclass(inner)

    name = field.name.rstrip("_")
    if kafka_type in MILLISECONDS:
        name += "_ms"
    if keyword.iskeyword(name):
        raise SystemExit(f"{name!r} cannot be an attribute")

    result: dict[str, Any] = {"name": name, "type": "struct" if is_struct else PLAIN_TYPES.get(kafka_type, kafka_type)}
    if is_array:
        result["array"] = True
    if nullable and (is_array or kafka_type not in NEVER_NULL):
        result["nullable"] = True
    if "tag" in field.metadata:
        result["tag"] = field.metadata["tag"]
    default = default_of(field, result, inner)
    if default is not dataclasses.MISSING:
        result["default"] = default
    if is_struct:
        result["struct"] = inner.__name__
        result["fields"] = fields_of(inner)
    return result


def without_none(hint: Any) -> tuple[Any, bool]:
    if typing.get_origin(hint) not in (UnionType, typing.Union):
        return hint, False
    rest = [argument for argument in typing.get_args(hint) if argument is not NoneType]
    if len(rest) != 1:
        raise SystemExit(f"a union of more than one type: {hint}")
    return rest[0], True


def default_of(field: Any, result: dict[str, Any], inner: Any) -> Any:
    """The default to write down, or MISSING where it is the type's zero."""
    value = field.default
    if value is dataclasses.MISSING:
        # Kafka's own default for records is null; for everything else it is the zero.
        return None if result["type"] == "records" and result.get("nullable") else value
    if value is None:
        if result.get("nullable"):
            return None
        return -1 if result["type"] == "int64" else dataclasses.MISSING
    if result.get("array"):
        if value != ():
            raise SystemExit(f"an array with a default: {field.name}")
        return dataclasses.MISSING
    if result["type"] == "struct":
        if value != inner():
            raise SystemExit(f"a struct with a default of its own: {field.name}")
        return dataclasses.MISSING
    if isinstance(value, datetime.timedelta):
        value = round(value.total_seconds() * 1000)
    if isinstance(value, int) and not isinstance(value, bool):
        value = int(value)
    if value == ZEROS.get(result["type"], 0):
        return dataclasses.MISSING
    return value


if __name__ == "__main__":
    main()
