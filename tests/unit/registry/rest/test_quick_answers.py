"""Look-ups by id that are answered before a task is made of them say what the usual way says, in the same order."""

from __future__ import annotations

import http.client
import socket

import pytest

from tests.support.registry import RegistryProcess, register

SCHEMA = '{"type":"record","name":"Quick","fields":[{"name":"a","type":"string"}]}'


def answered(registry: RegistryProcess, path: str, **headers: str) -> tuple[int, dict[str, str], bytes]:
    connection = http.client.HTTPConnection("127.0.0.1", registry.port, timeout=10)
    try:
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        return answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read()
    finally:
        connection.close()


def exchanged(registry: RegistryProcess, sent: bytes, until: bytes) -> bytes:
    """Everything that comes back on one connection, up to `until`."""
    with socket.create_connection(("127.0.0.1", registry.port), timeout=10) as stream:
        stream.sendall(sent)
        got = b""
        while until not in got:
            part = stream.recv(65536)
            if not part:
                break
            got += part
        return got


@pytest.fixture(scope="module")
def schema_id(registry: RegistryProcess) -> int:
    number: int = register(registry.port, "quick", SCHEMA)[1]["id"]
    return number


@pytest.mark.parametrize("accept", ["*/*", "application/json", "application/vnd.schemaregistry+json, */*", ""])
def test_the_same_as_the_usual_way(registry: RegistryProcess, schema_id: int, accept: str) -> None:
    told = {"Accept": accept} if accept else {}
    # A query takes the usual way, and this one changes nothing.
    assert answered(registry, f"/schemas/ids/{schema_id}", **told) == answered(
        registry, f"/schemas/ids/{schema_id}?format=", **told
    )


def test_what_is_not_there_or_not_wanted_is_said_as_ever(registry: RegistryProcess, schema_id: int) -> None:
    assert answered(registry, "/schemas/ids/999999")[0] == 404
    assert answered(registry, f"/schemas/ids/{schema_id}", Accept="text/plain")[0] == 406
    assert answered(registry, "/schemas/ids/99999999999999999999")[0] in (404, 422)


def test_requests_that_were_sent_together_are_answered_in_order(registry: RegistryProcess, schema_id: int) -> None:
    quick = b"GET /schemas/ids/%d HTTP/1.1\r\nhost: x\r\n\r\n" % schema_id
    slow = b"GET /subjects HTTP/1.1\r\nhost: x\r\n\r\n"
    last = b"GET /schemas/types HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n"
    got = exchanged(registry, quick + slow + quick + quick + slow + last, b"never")  # ends because of the last one
    bodies = [part.split(b"HTTP/1.1")[0] for part in got.split(b"\r\n\r\n")[1:]]
    kinds = ["id" if b'"schema"' in each else "subjects" if b"quick" in each else "types" for each in bodies]
    assert kinds == ["id", "subjects", "id", "id", "subjects", "types"]


def test_a_client_that_wants_the_connection_closed(registry: RegistryProcess, schema_id: int) -> None:
    request = b"GET /schemas/ids/%d HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n" % schema_id
    got = exchanged(registry, request, b"never")  # ends because the registry closes
    assert b"200 OK" in got and b"connection: close" in got.lower()


def test_a_body_where_none_belongs(registry: RegistryProcess, schema_id: int) -> None:
    request = b"GET /schemas/ids/%d HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\n\r\nhello" % schema_id
    quick = b"GET /schemas/ids/%d HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n" % schema_id
    assert exchanged(registry, request + quick, b"never").count(b"200 OK") == 2


def test_a_deleted_schema_is_told_as_deleted(registry: RegistryProcess) -> None:
    number = register(registry.port, "quick-deleted", SCHEMA.replace("Quick", "Gone"))[1]["id"]
    before = answered(registry, f"/schemas/ids/{number}")
    assert before[0] == 200
    registry.ask("DELETE", "/subjects/quick-deleted")
    assert answered(registry, f"/schemas/ids/{number}") == answered(registry, f"/schemas/ids/{number}?format=")
