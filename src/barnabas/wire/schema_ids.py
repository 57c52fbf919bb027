"""Which schema each record of a batch names, and whether that is registered (confluent.value.schema.validation).

A serializer names the schema by an identifier, which is bytes here as it is in a record: 0 and an id of four bytes, or
1 and a GUID of 16 bytes. It stands before the data, or, in newer clients, in a header (`__value_schema_id`,
`__key_schema_id`), which then counts. A null key or value has no schema and passes.

`check_schemas` is a generator as record_validation.py has them: it yields where others may be served in between. The
bytes have been walked there before; what they claim of themselves is true.
"""

from collections.abc import Container, Generator
from typing import NamedTuple, Protocol

from barnabas.model.errors import ErrorCode, InvalidRecords
from barnabas.model.limits import RECORD_ERRORS_LISTED_MAX
from barnabas.wire.varints import read_varint

KEY_HEADER, VALUE_HEADER = b"__key_schema_id", b"__value_schema_id"
ID_BYTES = 5  # 0 and the id
GUID_BYTES = 17  # 1 and the GUID
_ID_MAGIC, _GUID_MAGIC = 0, 1
_UNITS_A_STEP = 2_000  # records and record headers looked at before others are served: about a millisecond
_NO_SCHEMA = "names no schema: it does not begin with magic byte 0 and a schema id"


class Registered(Protocol):
    def identifiers(self, subject: str | None) -> Container[bytes]:
        """Those that are registered under a subject, or under any."""


class SchemaRules(NamedTuple):
    """What a topic demands: whether keys and values are checked, and whether under the topic's own subject."""

    key: bool
    value: bool
    key_by_topic: bool = True  # False: any identifier that is registered is good
    value_by_topic: bool = True

    def of_topic(self, topic: str, registered: Registered) -> "SchemaCheck":
        return SchemaCheck(
            registered,
            self.key,
            self.value,
            f"{topic}-key" if self.key_by_topic else None,
            f"{topic}-value" if self.value_by_topic else None,
        )


class SchemaCheck(NamedTuple):
    """The rules of one topic, with what is registered now. A subject of None stands for all subjects."""

    registered: Registered
    key: bool
    value: bool
    key_subject: str | None
    value_subject: str | None


class UnregisteredSchemas(InvalidRecords):
    """Identifiers that are not registered as far as is known here: they may have been a moment ago."""


def id_identifier(schema_id: int) -> bytes:
    return bytes((_ID_MAGIC,)) + schema_id.to_bytes(4, "big")


def guid_identifier(guid: bytes) -> bytes:
    return bytes((_GUID_MAGIC,)) + guid


def check_schemas(data: bytes, count: int, check: SchemaCheck) -> Generator[None, bytes | None, None]:
    """Raises InvalidRecords for records without an identifier, UnregisteredSchemas when one of them is not known.

    Lengths of one or two bytes are written out, and a value with its id in front passes first: a call for each would
    double the time."""
    keys = check.registered.identifiers(check.key_subject) if check.key else None
    values = check.registered.identifiers(check.value_subject) if check.value else None
    quick: Container[bytes] = () if values is None or keys is not None else values
    wrong: list[tuple[int, str]] = []
    position, units = 0, _UNITS_A_STEP
    for index in range(count):
        units -= 1
        if units <= 0:
            units = _UNITS_A_STEP
            yield
        byte = data[position]
        if byte < 0x80:
            end = position + 1 + (byte >> 1)
            position += 2  # and the attributes
        elif (second := data[position + 1]) < 0x80:
            end = position + 2 + (byte - 0x80 + (second << 7) >> 1)
            position += 3
        else:
            length, position = read_varint(data, position)
            end = position + length
            position += 1
        while data[position] >= 0x80:
            position += 1
        position += 1  # the timestamp
        while data[position] >= 0x80:
            position += 1
        key_length, key_at = read_varint(data, position + 1)
        position = key_at + key_length if key_length > 0 else key_at
        byte = data[position]
        if byte < 0x80:
            value_length, value_at = (byte >> 1) ^ -(byte & 1), position + 1
        else:
            value_length, value_at = read_varint(data, position)
        position = value_at + value_length if value_length > 0 else value_at
        if not data[position] and value_length >= ID_BYTES and data[value_at : value_at + ID_BYTES] in quick:
            position = end
            continue
        key_header = value_header = None
        if data[position]:
            key_header, value_header, units = yield from _schema_headers(data, position, units)
        position = end
        if values is not None and value_length >= 0:
            found = value_header or _prefix(data, value_at, value_length)
            if found not in values:
                wrong.append((index, _reason(index, "value", found, check.value_subject)))
        if keys is not None and key_length >= 0:
            found = key_header or _prefix(data, key_at, key_length)
            if found not in keys:
                wrong.append((index, _reason(index, "key", found, check.key_subject)))
        if len(wrong) >= RECORD_ERRORS_LISTED_MAX:
            break
    if wrong:
        raise _refused(wrong)


def _prefix(data: bytes, at: int, length: int) -> bytes:
    if length and data[at] == _GUID_MAGIC:
        return data[at : at + min(length, GUID_BYTES)]
    return data[at : at + min(length, ID_BYTES)]


def _schema_headers(
    data: bytes, position: int, units: int
) -> Generator[None, bytes | None, tuple[bytes | None, bytes | None, int]]:
    """The identifiers in a record's headers. Of a name that stands there twice the last counts, as in the clients."""
    key_header = value_header = None
    count, position = read_varint(data, position)
    for _ in range(count):
        units -= 1
        if units <= 0:
            units = _UNITS_A_STEP
            yield
        length, position = read_varint(data, position)
        name = data[position : position + length] if length <= len(VALUE_HEADER) else b""
        length, position = read_varint(data, position + length)
        if length > 0:
            if name == VALUE_HEADER:
                value_header = _prefix(data, position, length)
            elif name == KEY_HEADER:
                key_header = _prefix(data, position, length)
            position += length
    return key_header, value_header, units


def _is_identifier(found: bytes) -> bool:
    size = len(found)
    return (size == ID_BYTES and found[0] == _ID_MAGIC) or (size == GUID_BYTES and found[0] == _GUID_MAGIC)


def _reason(index: int, part: str, found: bytes, subject: str | None) -> str:
    if not _is_identifier(found):
        return f"record {index}: the {part} {_NO_SCHEMA}"
    if found[0] == _ID_MAGIC:
        name = f"schema id {int.from_bytes(found[1:], 'big')}"
    else:
        digits = found[1:].hex()
        name = "schema GUID " + "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))
    where = "" if subject is None else f" under subject {subject}"
    return f"record {index}: {name} of the {part} is not registered{where}"


def _refused(wrong: list[tuple[int, str]]) -> InvalidRecords:
    kind = InvalidRecords if all(reason.endswith(_NO_SCHEMA) for _, reason in wrong) else UnregisteredSchemas
    number = f"{len(wrong)}" if len(wrong) < RECORD_ERRORS_LISTED_MAX else f"{len(wrong)} or more"
    first = "; ".join(reason for _, reason in wrong[:3])
    more = "" if len(wrong) <= 3 else f"; {number} in all"
    return kind(ErrorCode.INVALID_RECORD, f"schema validation refuses the batch: {first}{more}", wrong)
