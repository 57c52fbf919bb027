"""What strangers send: one clear answer in bounded time, never a 500, and others are served meanwhile."""

from __future__ import annotations

import json
import os
import random
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.members import until
from tests.support.registry import RegistryProcess, ask, register
from tests.support.servers import BarnabasNode

MUTATED = int(os.environ.get("BARNABAS_MUTATED_BODIES", "2000"))  # 100,000 take three minutes
QUICK_S = 1.0


@pytest.fixture(scope="module")
def registry(node: BarnabasNode, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryProcess]:
    serving = RegistryProcess(tmp_path_factory.mktemp("hostile"), node.bootstrap, ["--topic", "_schemas-hostile"])
    try:
        serving.start()
        yield serving
        assert "Traceback" not in serving.log_path.read_text()
    finally:
        serving.stop()


def served(registry: RegistryProcess) -> None:
    began = time.monotonic()
    assert registry.ask("GET", "/subjects")[0] == 200
    assert time.monotonic() - began < QUICK_S


def test_a_schema_of_10_mb(registry: RegistryProcess) -> None:
    fields = ",".join(f'{{"name":"f{each}","type":"string"}}' for each in range(300_000))
    began = time.monotonic()
    status, told = register(registry.port, "big", f'{{"type":"record","name":"Big","fields":[{fields}]}}')
    assert (status, told["error_code"]) == (422, 42209)
    assert time.monotonic() - began < 5
    served(registry)


def test_the_largest_schema_that_is_taken(registry: RegistryProcess) -> None:
    text = f'{{"type":"record","name":"Large","fields":[],"doc":"{"x" * 1_000_000}"}}'
    assert register(registry.port, "large", text)[0] == 200
    assert len(registry.ask("GET", "/subjects/large/versions/1")[1]["schema"]) == len(text)


def test_deep_schemas(registry: RegistryProcess) -> None:
    array = '{"type":"array","items":' * 20_000 + '"int"' + "}" * 20_000
    assert register(registry.port, "deep", array)[1]["error_code"] == 42201
    assert register(registry.port, "deep", '{"a":' * 20_000 + "1" + "}" * 20_000, schemaType="JSON")[0] == 422
    assert register(registry.port, "deep", "message A {" * 20_000, schemaType="PROTOBUF")[1]["error_code"] == 42201
    served(registry)


def test_references_of_references(registry: RegistryProcess) -> None:
    """A chain may be as long as the limit; each knows only the one before it, and all are resolved."""
    depth = 60
    register(registry.port, "chain-0", '{"type":"record","name":"R0","fields":[]}')
    for each in range(1, depth):
        text = f'{{"type":"record","name":"R{each}","fields":[{{"name":"a","type":"R{each - 1}"}}]}}'
        named = [{"name": f"R{each - 1}", "subject": f"chain-{each - 1}", "version": 1}]
        status, told = register(registry.port, f"chain-{each}", text, references=named)
        assert status == 200, told
    many = [{"name": f"R{each}", "subject": "chain-0", "version": 1} for each in range(10_000)]
    assert register(registry.port, "many", '"int"', references=many)[1]["error_code"] == 42201
    served(registry)


def test_heads_without_end(registry: RegistryProcess) -> None:
    with socket.create_connection(("127.0.0.1", registry.port)) as stranger:
        stranger.settimeout(20)
        with pytest.raises(OSError):
            for _ in range(1_000):
                stranger.sendall(b"x-more: " + b"y" * 1_000 + b"\r\n" if _ else b"GET / HTTP/1.1\r\n")
            assert stranger.recv(1) == b""
            raise ConnectionResetError
    served(registry)


def test_bodies_that_never_come(registry: RegistryProcess) -> None:
    strangers = []
    head = b"POST /subjects/a/versions HTTP/1.1\r\nhost: x\r\ncontent-length: 4000000\r\n\r\n{"
    for _ in range(40):
        stranger = socket.create_connection(("127.0.0.1", registry.port))
        stranger.sendall(head)
        strangers.append(stranger)
    assert register(registry.port, "beside", '"int"')[0] in (200, 503)  # what they may take is used up
    served(registry)
    for stranger in strangers:
        stranger.close()
    until(lambda: register(registry.port, "beside", '"int"')[0] == 200, "room for bodies")


def test_not_http(registry: RegistryProcess) -> None:
    rng = random.Random(1)
    for _ in range(50):
        with socket.create_connection(("127.0.0.1", registry.port)) as stranger:
            stranger.sendall(rng.randbytes(200))
    served(registry)


BODIES = (
    (
        "/subjects/m/versions",
        {"schema": '{"type":"record","name":"A","fields":[{"name":"a","type":"int","default":1}]}'},
    ),
    (
        "/subjects/m/versions",
        {
            "schema": '{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}',
            "schemaType": "JSON",
            "references": [{"name": "x", "subject": "m", "version": 1}],
            "metadata": {"properties": {"a": "b"}, "tags": {"c": ["d"]}, "sensitive": ["a"]},
            "ruleSet": {"domainRules": [{"name": "r", "kind": "CONDITION", "mode": "WRITE", "params": {"a": "b"}}]},
        },
    ),
    ("/subjects/p/versions", {"schema": 'syntax = "proto3"; message A { int64 id = 1; }', "schemaType": "PROTOBUF"}),
    ("/subjects/m", {"schema": '["null",{"type":"fixed","name":"F","size":4}]', "version": 1, "id": -1}),
    ("/compatibility/subjects/m/versions?verbose=true", {"schema": '{"type":"enum","name":"E","symbols":["A"]}'}),
    ("/config/m", {"compatibility": "FULL", "alias": "n", "normalize": True, "overrideMetadata": {"properties": {}}}),
    ("/mode/m2", {"mode": "READWRITE"}),
)


def mutated(rng: random.Random, body: bytes) -> bytes:
    for _ in range(rng.randrange(1, 5)):
        place = rng.randrange(len(body) + 1)
        match rng.randrange(6):
            case 0:
                body = body[:place] + rng.randbytes(rng.randrange(1, 4)) + body[place:]
            case 1:
                body = body[:place] + body[place + rng.randrange(1, 8) :]
            case 2:
                body = body[:place] + rng.choice(WORDS) + body[place:]
            case 3:
                other = rng.randrange(len(body) + 1)
                body = body[:place] + body[other : other + 30] + body[place:]
            case 4:
                body = body[:place] + rng.choice(WORDS) + body[place + 5 :]
            case _:
                body = body.replace(rng.choice(WORDS), rng.choice(WORDS), 1)
    return body[:100_000]


WORDS = (
    b"null", b"{}", b"[]", b'""', b'\\"', b"{", b"}", b"[", b"]", b",", b":", b"-1", b"0", b"9" * 30, b"1e999", b"true",
    b'"type"', b'"fields"', b'"record"', b'"name"', b'"\\ud800"', b"\\u0000", b"\xff", b"int", b"string", b"message",
    b'"$ref"', b'"allOf"', b"#", b"\\n", b"import", b"map<", b"=", b";",
)  # fmt: skip


def test_mutated_bodies(registry: RegistryProcess) -> None:
    """None of them is a 500, takes long, or stops it."""
    rng = random.Random(16)
    bodies = [(path, json.dumps(body).encode()) for path, body in BODIES]
    seen: set[int] = set()
    for _ in range(MUTATED):
        path, body = rng.choice(bodies)
        method = "PUT" if path.startswith(("/config", "/mode")) else "POST"
        sent = mutated(rng, body)
        began = time.monotonic()
        status, told = ask(registry.port, method, path, sent)
        seen.add(status)
        assert status in (200, 400, 404, 409, 422), (path, sent, status, told)
        assert time.monotonic() - began < 5, (path, sent)
    assert {200, 400, 422} <= seen
    served(registry)
    restarted = registry.ask("GET", "/schemas?deleted=true")[1]
    registry.kill()
    registry.start()
    assert registry.ask("GET", "/schemas?deleted=true")[1] == restarted  # what it took, it can read again


def test_the_log_says_nothing_of_all_this(registry: RegistryProcess) -> None:
    assert Path(registry.log_path).stat().st_size < 100_000


@pytest.mark.parametrize("path", ["/subjects", "/schemas", "/contexts", "/schemas/ids/1/versions"])
def test_a_page_behind_everything(registry: RegistryProcess, path: str) -> None:
    register(registry.port, "paged", '"string"')
    assert registry.ask("GET", f"{path}?offset=99999999999999999999") == (200, [])
