"""The records of `_schemas`, as Confluent's registry writes them: keys and values are JSON, a key names its type first.

    SCHEMA          one version of a subject; a null value removes it for good
    CONFIG, MODE    of a subject, a context (`:.context:`) or, with a null subject, of everything
    DELETE_SUBJECT  versions up to the one that is named are deleted softly
    CLEAR_SUBJECT   what was deleted softly is forgotten, before an import
    CONTEXT         that there is such a context
    NOOP            its headers say who writes from here on
    MAX_ID          ours, which others pass over: the highest id of a context whose schema was removed for good, so that
                    it is not given again when compaction has removed every trace of it

The bytes of a key are what compaction compares, so the order of its fields is Confluent's as well. Fields and types
that are not known here are passed over.
"""

from __future__ import annotations

from typing import Annotated, NamedTuple

import msgspec

from barnabas.registry.schemas.parsed import SchemaType
from barnabas.registry.state.values import (
    NUMBER_MAX,
    Config,
    Content,
    Metadata,
    Mode,
    Reference,
    RuleSet,
    Stored,
    guid_of,
)

_AVRO = "AVRO"
_TENANT = "default"

Id = Annotated[int, msgspec.Meta(ge=0, le=NUMBER_MAX)]  # one beyond would leave no ids for anybody

encode = msgspec.json.Encoder().encode


class Record(NamedTuple):
    key: bytes
    value: bytes | None


class Key(msgspec.Struct):
    keytype: str
    subject: str | None = None
    version: int = 0
    context: str | None = None


class SchemaValue(msgspec.Struct, rename="camel"):
    subject: str
    version: int
    id: Id
    schema: str
    schema_type: str | None = None
    references: list[Reference] | None = None
    metadata: Metadata | None = None
    rule_set: RuleSet | None = None
    deleted: bool = False


class ModeValue(msgspec.Struct):
    mode: Mode


class DeleteValue(msgspec.Struct):
    version: int


class MaxIdValue(msgspec.Struct):
    id: Id


read_key = msgspec.json.Decoder(Key).decode
read_schema = msgspec.json.Decoder(SchemaValue).decode
read_config = msgspec.json.Decoder(Config).decode
read_mode = msgspec.json.Decoder(ModeValue).decode
read_delete = msgspec.json.Decoder(DeleteValue).decode
read_max_id = msgspec.json.Decoder(MaxIdValue).decode


def content_of(value: SchemaValue, type: SchemaType) -> Content:
    return Content(type, value.schema, tuple(value.references or ()), value.metadata, value.rule_set)


def schema_key(subject: str, version: int) -> bytes:
    return encode({"keytype": "SCHEMA", "subject": subject, "version": version, "magic": 1})


def schema_record(stored: Stored) -> Record:
    content = stored.content
    value: dict[str, object] = {
        "subject": stored.subject,
        "version": stored.version,
        "id": stored.id,
        "guid": guid_of(stored.hash),
    }
    if content.type != _AVRO:
        value["schemaType"] = content.type
    if content.references:
        value["references"] = content.references
    if content.metadata is not None:
        value["metadata"] = content.metadata
    if content.rule_set is not None:
        value["ruleSet"] = content.rule_set
    value |= {"schema": content.text, "deleted": stored.deleted}
    return Record(schema_key(stored.subject, stored.version), encode(value))


def removed_schema(subject: str, version: int) -> Record:
    return Record(schema_key(subject, version), None)


def config_record(subject: str | None, config: Config | None) -> Record:
    key = encode({"keytype": "CONFIG", "subject": subject, "magic": 0})
    if config is None:
        return Record(key, None)
    told = msgspec.to_builtins(config)
    return Record(key, encode(told if subject is None else {"subject": subject, **told}))


def mode_record(subject: str | None, mode: Mode | None) -> Record:
    key = encode({"keytype": "MODE", "subject": subject, "magic": 0})
    return Record(key, None if mode is None else encode({"subject": subject, "mode": mode}))


def delete_subject_record(subject: str, version: int) -> Record:
    key = encode({"keytype": "DELETE_SUBJECT", "subject": subject, "magic": 0})
    return Record(key, encode({"subject": subject, "version": version}))


def clear_subject_record(subject: str | None) -> Record:
    return Record(encode({"keytype": "CLEAR_SUBJECT", "subject": subject, "magic": 0}), encode({"subject": subject}))


def context_record(context: str, *, there: bool = True) -> Record:
    key = encode({"keytype": "CONTEXT", "tenant": _TENANT, "context": context, "magic": 0})
    return Record(key, encode({"tenant": _TENANT, "context": context}) if there else None)


def max_id_record(context: str, id: int) -> Record:
    key = encode({"keytype": "MAX_ID", "context": context, "magic": 0})
    return Record(key, encode({"context": context, "id": id}))


NOOP_KEY = encode({"keytype": "NOOP", "magic": 0})
