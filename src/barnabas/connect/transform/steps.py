"""The steps of `transform:`, compiled once. A step changes a record in place, and gives False to leave it out.

    transform:
      - filter: .total > 0
      - rename: {id: order_id}
      - cast: {total: float, at: timestamp}
      - mask: [card]
      - route: "orders-{country}"

Fields are named by dots where they lie deeper (`customer.email`). A step on a field that a record does not have leaves
the record as it is; one that cannot be done (a cast of "abc" to int) makes it a dead letter.
"""

from __future__ import annotations

import datetime
import hashlib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from barnabas.connect.contract import Record, Value
from barnabas.connect.errors import BadOption
from barnabas.connect.hints import hint
from barnabas.connect.transform.fields import MISSING, Path, found, parsed, put, removed
from barnabas.connect.values.formats import BadValue, decode_json, encode_json

Step: TypeAlias = Callable[[Record], bool]
Given: TypeAlias = Value  # what stands behind a step's name in YAML

_MASK = "***"
_FIELD = re.compile(r"\{([^{}]+)\}")
_TOPIC_REFUSED = re.compile(r"[^A-Za-z0-9._-]")


def compiled(steps: Sequence[Mapping[str, Given]]) -> Step | None:
    """All of them as one; None when there are none. Raises BadOption."""
    made = [_one(each) for each in steps]
    if not made:
        return None

    def every(record: Record) -> bool:
        try:
            for step in made:
                if not step(record):
                    return False
        except UnicodeEncodeError as problem:  # half of a surrogate pair: no step can make bytes of it
            raise BadValue(f"has text that is no Unicode: {problem}") from None
        return True

    return every


def _one(given: Mapping[str, Given]) -> Step:
    if not isinstance(given, Mapping) or len(given) != 1:
        raise BadOption(f"a step of transform is one name with what it needs, not {given!r}")
    name, what = next(iter(given.items()))
    if name not in STEPS:
        raise BadOption(f"transform has no step {name!r}", hint(name, STEPS))
    return STEPS[name](what)


# --- what the steps need ----------------------------------------------------------------------------------------------


def _fields(what: Given, step: str) -> list[Path]:
    if isinstance(what, str):
        what = [what]
    if not isinstance(what, list) or not what or not all(isinstance(each, str) and each for each in what):
        raise BadOption(f"transform: {step} takes a list of fields, not {what!r}")
    return [parsed(each) for each in what]


def _pairs(what: Given, step: str) -> dict[str, Given]:
    if not isinstance(what, dict) or not what or not all(isinstance(each, str) and each for each in what):
        raise BadOption(f"transform: {step} takes name: value, not {what!r}")
    return what


def _text(what: Given, step: str) -> str:
    if not isinstance(what, str) or not what:
        raise BadOption(f"transform: {step} takes a text, not {what!r}")
    return what


# --- the steps --------------------------------------------------------------------------------------------------------


def _select(what: Given) -> Step:
    paths = _fields(what, "select")

    def select(record: Record) -> bool:
        if isinstance(record.value, dict):
            kept: dict[str, Value] = {}
            for path in paths:
                if (value := found(record.value, path)) is not MISSING:
                    kept = put(kept, path, value)
            record.value = kept
        return True

    return select


def _drop(what: Given) -> Step:
    paths = _fields(what, "drop")

    def drop(record: Record) -> bool:
        for path in paths:
            record.value = removed(record.value, path)
        return True

    return drop


def _rename(what: Given) -> Step:
    names = [(parsed(old), parsed(_text(new, "rename"))) for old, new in _pairs(what, "rename").items()]

    def rename(record: Record) -> bool:
        value = record.value
        if not isinstance(value, dict):
            return True
        moved = [(new, found(value, old)) for old, new in names]
        for old, _ in names:
            value = removed(value, old)
        for new, each in moved:
            if each is not MISSING:
                value = put(value, new, each)
        record.value = value
        return True

    return rename


def _set(what: Given) -> Step:
    fields = [(parsed(name), value) for name, value in _pairs(what, "set").items()]

    def set_fields(record: Record) -> bool:
        if isinstance(record.value, dict):
            for path, value in fields:
                record.value = put(record.value, path, value)
        return True

    return set_fields


def _cast(what: Given) -> Step:
    casts = []
    for name, kind in _pairs(what, "cast").items():
        if kind not in _CASTS:
            raise BadOption(f"transform: cast of {name} to {kind!r}", f"There are: {', '.join(_CASTS)}.")
        casts.append((name, parsed(name), kind, _CASTS[kind]))

    def cast(record: Record) -> bool:
        for name, path, kind, convert in casts:
            value = found(record.value, path)
            if value is MISSING or value is None:
                continue
            try:
                record.value = put(record.value, path, convert(value))
            except (ValueError, TypeError, OverflowError, OSError):
                raise BadValue(f"field {name}: {value!r:.60} is no {kind}") from None
        return True

    return cast


def _mask(what: Given) -> Step:
    """A list of fields; or field: hash, which keeps equal values equal."""
    if isinstance(what, dict):
        chosen = [(parsed(name), how) for name, how in _pairs(what, "mask").items()]
        if wrong := [how for _, how in chosen if how not in ("hide", "hash")]:
            raise BadOption(f"transform: mask has no way {wrong[0]!r}", "There are: hide, hash.")
    else:
        chosen = [(path, "hide") for path in _fields(what, "mask")]

    def mask(record: Record) -> bool:
        for path, how in chosen:
            value = found(record.value, path)
            if value is MISSING or value is None:
                continue
            hidden = _MASK if how == "hide" else hashlib.sha256(_as_bytes(value)).hexdigest()
            record.value = put(record.value, path, hidden)
        return True

    return mask


def _filter(what: Given) -> Step:
    from barnabas.browse.expression import BadExpression, Subject, compiled_decoded  # 4 MB with RE2

    try:
        test = compiled_decoded(_text(what, "filter"))
    except BadExpression as problem:
        raise BadOption(f"transform: filter {what!r}: {problem}") from None

    def keep(record: Record) -> bool:
        place = (record.partition or 0, -1, record.timestamp_ms or 0)
        return test(Subject.of_decoded(place, record.key, record.value, record.headers))

    return keep


def _route(what: Given) -> Step:
    template = _text(what, "route")
    names = [(name, None if name == "topic" else parsed(name)) for name in _FIELD.findall(template)]

    def route(record: Record) -> bool:
        topic = template
        for name, path in names:
            value = record.topic if path is None else found(record.value, path)
            if value is MISSING or value is None:
                raise BadValue(f"route {template}: the record has no {name}")
            topic = topic.replace("{" + name + "}", _TOPIC_REFUSED.sub("_", str(value)))
        record.topic = topic[:249]
        return True

    return route


def _flatten(what: Given) -> Step:
    separator = what.get("separator", "_") if isinstance(what, dict) else what or "_"
    if not isinstance(separator, str):
        raise BadOption(f"transform: flatten takes separator: text, not {what!r}")

    def flatten(record: Record) -> bool:
        if isinstance(record.value, dict):
            record.value = dict(_flat(record.value, "", separator))
        return True

    return flatten


def _flat(value: dict[str, Value], before: str, separator: str) -> list[tuple[str, Value]]:
    rows: list[tuple[str, Value]] = []
    for name, each in value.items():
        if isinstance(each, dict) and each:
            rows += _flat(each, f"{before}{name}{separator}", separator)
        else:
            rows.append((before + name, each))
    return rows


def _timestamp(what: Given) -> Step:
    """The record's time from a field."""
    name = _text(what, "timestamp")
    path = parsed(name)

    def timestamp(record: Record) -> bool:
        value = found(record.value, path)
        if value is not MISSING and value is not None:
            try:
                record.timestamp_ms = int(_as_time(value).timestamp() * 1000)
            except (ValueError, TypeError, OverflowError, OSError):
                raise BadValue(f"field {name}: {value!r:.60} is no time") from None
        return True

    return timestamp


def _key(what: Given) -> Step:
    """One field: its value; several: a structure of them."""
    names = [what] if isinstance(what, str) else what
    paths = _fields(what, "key")

    def key(record: Record) -> bool:
        values = [found(record.value, path) for path in paths]
        if MISSING in values:
            if record.value is None:
                return True  # a tombstone keeps its key
            raise BadValue(f"key: the record has no field {names[values.index(MISSING)]}")
        record.key = _key_value(values[0]) if isinstance(what, str) else dict(zip(names, values, strict=True))
        return True

    return key


def _key_value(value: Value) -> Value:
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else value


def _header(what: Given) -> Step:
    fixed = [(name, str(value)) for name, value in _pairs(what, "header").items()]

    def header(record: Record) -> bool:
        added: list[tuple[str, bytes | None]] = []
        for name, text in fixed:
            for field in _FIELD.findall(text):
                value = record.topic if field == "topic" else found(record.value, parsed(field))
                text = text.replace("{" + field + "}", "" if value is MISSING or value is None else str(value))
            added.append((name, text.encode()))
        record.headers = [*record.headers, *added]
        return True

    return header


def _parse(what: Given) -> Step:
    """Texts that hold JSON become structures."""
    paths = _fields(what, "parse")

    def parse(record: Record) -> bool:
        for path in paths:
            value = found(record.value, path)
            if isinstance(value, str | bytes):
                record.value = put(
                    record.value, path, decode_json(value if isinstance(value, bytes) else value.encode())
                )
        return True

    return parse


def _python(what: Given) -> Step:
    from barnabas.connect.python_functions import transform_function

    function = transform_function(_pairs(what, "python"))

    def call(record: Record) -> bool:
        try:
            result = function(record)
        except Exception as problem:  # the user's own code: whatever it raises is about this record
            raise BadValue(f"{type(problem).__name__}: {problem}") from problem
        return result is not False

    return call


STEPS: dict[str, Callable[[Given], Step]] = {
    "select": _select,
    "drop": _drop,
    "rename": _rename,
    "set": _set,
    "cast": _cast,
    "mask": _mask,
    "filter": _filter,
    "route": _route,
    "flatten": _flatten,
    "timestamp": _timestamp,
    "key": _key,
    "header": _header,
    "parse": _parse,
    "python": _python,
}


# --- casts ------------------------------------------------------------------------------------------------------------


def _as_bytes(value: Value) -> bytes:
    if isinstance(value, bytes):
        return value
    return value.encode() if isinstance(value, str) else encode_json(value)


def _as_bool(value: Value) -> bool:
    if isinstance(value, str):
        known = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
        if (found_value := known.get(value.strip().lower())) is None:
            raise ValueError(value)
        return found_value
    if isinstance(value, int | float):
        return bool(value)
    raise ValueError(value)


def _as_text(value: Value) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace")
    return encode_json(value).decode().strip('"')


_SECONDS_MOST = 10**11  # a number above it is milliseconds


def _as_time(value: Value) -> datetime.datetime:
    if isinstance(value, datetime.datetime):
        return value if value.tzinfo else value.replace(tzinfo=datetime.UTC)
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = value / 1000 if abs(value) > _SECONDS_MOST else value
        return datetime.datetime.fromtimestamp(seconds, datetime.UTC)
    if isinstance(value, str):
        made = datetime.datetime.fromisoformat(value.strip())
        return made if made.tzinfo else made.replace(tzinfo=datetime.UTC)
    raise ValueError(value)


_CASTS: dict[str, Callable[[Value], Value]] = {
    "int": int,
    "float": float,
    "text": _as_text,
    "bool": _as_bool,
    "timestamp": _as_time,
}
