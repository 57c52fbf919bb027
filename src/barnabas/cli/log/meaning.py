"""What the records of the node's own topics mean: offsets and groups, changes of the cluster, control markers.

Only a view for people: a record that does not decode is shown as bytes, with the reason, and nothing stops. What is
kept of passwords, and settings that are secret, are left out unless asked for: what is shown gets into tickets.
"""

from __future__ import annotations

import re
import struct
from base64 import b64decode
from collections.abc import Callable, Mapping

from barnabas.cli.log.rows import text_of
from barnabas.model.ids import METADATA_TOPIC, OFFSETS_TOPIC, uuid_text
from barnabas.model.json_values import Json

_BASE64_ID = re.compile(r"[A-Za-z0-9+/]{22}==")
HIDDEN = "(hidden: --show-secrets)"
_SECRET_FIELDS = frozenset({"salt", "stored_key", "server_key", "hmac"})
_CONTROL = {
    0: "abort",
    1: "commit",
    2: "leader change",
    3: "snapshot header",
    4: "snapshot footer",
    5: "version",
    6: "voters",
}


def meaning(
    topic: str, key: bytes | None, value: bytes | None, *, control: bool, secrets: bool = False
) -> dict[str, object] | None:
    """The fields of a record that is the node's own; None for everybody else's."""
    if control:
        return _control(key)
    if topic == OFFSETS_TOPIC and key is not None:
        return _group(key, value)
    if topic == METADATA_TOPIC and value is not None:
        found = _metadata(value)
        return found if secrets else _without_secrets(found)
    return None


def _control(key: bytes | None) -> dict[str, object]:
    kind = struct.unpack_from(">h", key, 2)[0] if key is not None and len(key) >= 4 else -1
    return {"control": _CONTROL.get(kind, f"unknown ({kind})")}


def _metadata(value: bytes) -> dict[str, object]:
    """Kafka's own metadata records, or, in an older log, JSON objects with a type."""
    import msgspec

    from barnabas.core.cluster.record_codec import decode_fields
    from barnabas.core.cluster.records import MetadataRecordError

    if not value.startswith(b"{"):
        try:
            name, version, message = decode_fields(value)
        except MetadataRecordError as error:
            return {"value": value.hex(), "unreadable": str(error)}
        fields = _message(message)
        return {"type": name, "version": version} | (fields if isinstance(fields, dict) else {})
    try:
        decoded = msgspec.json.decode(value)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return {"value": value.hex()}
    return _with_ids(decoded) if isinstance(decoded, dict) else {"value": text_of(value)}


def _without_secrets(fields: dict[str, object]) -> dict[str, object]:
    from barnabas.model.settings.tables import is_secret

    hidden = {name for name in fields if name in _SECRET_FIELDS}
    if fields.get("value") is not None and is_secret(str(fields.get("name"))):
        hidden.add("value")
    return {name: HIDDEN if name in hidden else value for name, value in fields.items()}


def _message(value: object) -> object:
    """A decoded message as what JSON has; ids as Kafka prints them."""
    if isinstance(value, (list, tuple)):
        return [_message(each) for each in value]
    if isinstance(value, bytes):
        return uuid_text(value) if len(value) == 16 else value.hex()
    names = getattr(type(value), "__slots__", None)
    return {name: _field(name, getattr(value, name)) for name in names} if names else value


def _field(name: str, value: object) -> object:
    """A salt of 16 bytes is no id."""
    return value.hex() if name in _SECRET_FIELDS and isinstance(value, bytes) else _message(value)


def _with_ids(fields: dict[str, object]) -> dict[str, object]:
    """JSON has ids as base64; people know them as Kafka prints them."""
    shown = dict(fields)
    for name, value in fields.items():
        if name.endswith("_id") and isinstance(value, str) and _BASE64_ID.fullmatch(value):
            shown[name] = uuid_text(b64decode(value))
        elif name == "directories" and isinstance(value, list):
            shown[name] = [uuid_text(b64decode(each)) for each in value if _BASE64_ID.fullmatch(str(each))]
    return shown


def _group(key: bytes, value: bytes | None) -> dict[str, object]:
    from barnabas.core.groups.records.keys import decode_key

    try:
        known = decode_key(key)
        if known is None:
            return {"type": "of another group type", "key": key.hex(), "value": None if value is None else value.hex()}
        fields: dict[str, object] = {"type": known.kind.name.lower(), "group": known.group_id}
        if known.partition >= 0:
            fields |= {"topic": known.name, "partition": known.partition}
        elif known.name:
            fields["name"] = known.name
        if value is None:
            return fields | {"deleted": True}
        found = _plain(_group_value(int(known.kind), value))
        return fields | (found if isinstance(found, dict) else {"value": found})
    except (ValueError, struct.error, IndexError) as error:
        return {"key": key.hex(), "value": None if value is None else value.hex(), "unreadable": str(error)}


def _group_value(kind: int, value: bytes) -> object:
    from barnabas.core.groups.records import assignments, consumer_group, group_metadata, offset_commit
    from barnabas.core.groups.records.keys import Kind

    readers: dict[int, Callable[[bytes], object]] = {
        Kind.LEGACY_OFFSET: offset_commit.decode_offset,
        Kind.OFFSET: offset_commit.decode_offset,
        Kind.CLASSIC_GROUP: group_metadata.decode_classic_group,
        Kind.CONSUMER_GROUP: consumer_group.decode_consumer_group,
        Kind.CONSUMER_MEMBER: consumer_group.decode_consumer_member,
        Kind.CONSUMER_TARGET_EPOCH: consumer_group.decode_target_epoch,
        Kind.CONSUMER_TARGET_MEMBER: assignments.decode_target,
        Kind.CONSUMER_CURRENT_MEMBER: assignments.decode_current,
        Kind.CONSUMER_REGEX: consumer_group.decode_regex,
    }
    return readers[kind](value) if kind in readers else {"value": value.hex()}


def _plain(value: object) -> Json:
    """Dataclasses, ids and bytes as what JSON has."""
    slots = getattr(type(value), "__slots__", None)
    if slots and not isinstance(value, (str, bytes, Mapping)) and hasattr(value, "__dataclass_fields__"):
        return {name: _plain(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, Mapping):
        return {_name(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, (set, frozenset)):
        return sorted(_plain(each) for each in value)
    if isinstance(value, (list, tuple)):
        return [_plain(each) for each in value]
    if isinstance(value, (bytes, bytearray, memoryview)):
        return _name(bytes(value))
    return value


def _name(value: object) -> str:
    if isinstance(value, bytes):
        return uuid_text(value) if len(value) == 16 else value.hex()
    return str(value)
