"""The proof of the codec: every API, version and direction, both ways, against an implementation that is not ours.

kio writes, we read: field by field the same. We write: byte by byte what kio writes, and kio's native reader gets its
own object back.
"""

import importlib
import io
import random
from typing import Any

import pytest

pytest.importorskip("kio")

from kio.schema.index import api_key_map, schema_name_map
from kio.serial import entity_reader, entity_writer

from barnabas.wire import codec, schema
from tests.unit.wire.kio_values import difference, random_message, wrong_default

SAMPLES = 6
KINDS = ("request", "response", "data")
KEYS = {name: key for key, name in api_key_map.items()}
NAMES = sorted(name for name in schema_name_map if name not in ("request_header", "response_header"))


def entities(name: str) -> list[tuple[int, str, Any]]:
    found = []
    for version, kinds in schema_name_map[name].items():
        for kind, path in kinds.items():
            module, _, class_name = path.partition(":")
            found.append((version, kind.name, getattr(importlib.import_module(module), class_name)))
    return found


def encode(name: str, kind: str, version: int, body: dict[str, Any]) -> bytes:
    if kind == "data":
        return codec.encode_struct(name, version, body)
    return bytes(getattr(codec, f"encode_{kind}")(KEYS[name], version, body))


def decode(name: str, kind: str, version: int, data: Any, position: int = 0) -> Any:
    if kind == "data":
        return codec.decode_struct(name, version, data, position)
    return getattr(codec, f"decode_{kind}")(KEYS[name], version, data, position)


@pytest.fixture(autouse=True)
def strict(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(codec, "STRICT", True)


@pytest.mark.parametrize("name", NAMES)
def test_every_version_both_ways(name: str) -> None:
    rng = random.Random(name)
    for version, kind, entity in entities(name):
        write, read = entity_writer(entity), entity_reader(entity)
        for _ in range(SAMPLES):
            theirs, plain = random_message(entity, rng)
            buffer = io.BytesIO()
            write(buffer, theirs)
            data = buffer.getvalue()
            label = f"{name} v{version} {kind}"

            ours = decode(name, kind, version, data)
            assert difference(ours, plain) is None, label
            assert wrong_default(ours, schema.union(all_shapes(name, kind)), set(plain)) is None, label
            # the same out of the middle of a connection's buffer, with something after it
            assert decode(name, kind, version, memoryview(bytearray(b"head" + data + b"tail")), 4) == ours, label

            written = encode(name, kind, version, plain)
            assert written == data, label
            assert read(written, 0) == (theirs, len(written)), label


def all_shapes(name: str, kind: str) -> tuple[tuple[schema.Field, ...], ...]:
    return tuple(shape.fields for shape in schema.load(name).shapes(kind))


@pytest.mark.parametrize("name", NAMES)
def test_a_message_cut_anywhere_is_refused(name: str) -> None:
    rng = random.Random(name)
    for version, kind, entity in entities(name):
        _, plain = random_message(entity, rng)
        data = encode(name, kind, version, plain)
        cuts = range(len(data)) if len(data) < 60 else sorted(rng.sample(range(len(data)), 60))
        for cut in cuts:
            with pytest.raises(codec.ProtocolError):
                decode(name, kind, version, data[:cut])


def test_the_codec_knows_every_version_kio_knows() -> None:
    for name in NAMES:
        for version, kind, entity in entities(name):
            assert schema.load(name).shape(kind, version).flexible == entity.__flexible__
