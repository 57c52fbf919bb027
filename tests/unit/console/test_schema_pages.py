"""Schemas of a registry by the console's own API, and records that are shown by them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from barnabas import Admin, Producer
from barnabas.testing import running_node
from tests.support.registry_thread import serving_registry
from tests.unit.console.served import Browser, console

CENTS = {"name": "cents", "type": "long"}
NOTE = {"name": "note", "type": ["null", "string"], "default": None}
PROTO = 'syntax = "proto3";\nmessage Order {\n  int64 cents = 1;\n%s}\n'


def avro(*fields: object) -> str:
    return json.dumps({"type": "record", "name": "Order", "fields": fields})


@pytest.fixture(scope="module")
def bootstrap() -> Iterator[str]:
    with running_node() as node:
        yield node.bootstrap


@pytest.fixture(scope="module")
def browser(bootstrap: str) -> Iterator[Browser]:
    with serving_registry(bootstrap) as registry, console(bootstrap, registry=registry) as port:
        yield Browser(port)


def register(browser: Browser, subject: str, text: str, kind: str = "AVRO", **more: object) -> Any:
    return browser.page("POST", "/schemas/register", {"subject": subject, "type": kind, "schema": text, **more})


def test_versions_are_registered_shown_and_compared(browser: Browser) -> None:
    first = register(browser, "orders/value", avro(CENTS))
    assert first["version"] == 1 and register(browser, "orders/value", avro(CENTS)) == first, "the same again"
    checked = {"subject": "orders/value", "type": "AVRO", "schema": avro(CENTS, NOTE)}
    assert browser.page("POST", "/schemas/check", checked) == {"compatible": True, "level": "BACKWARD", "reasons": []}
    register(browser, "orders/value", avro(CENTS, NOTE))
    row = next(each for each in browser.page("GET", "/schemas")["subjects"] if each["subject"] == "orders/value")
    assert (row["version"], row["type"]) == (2, "AVRO")
    shown = browser.page("GET", "/schemas/subject", name="orders/value", version=1)
    assert shown["versions"] == [1, 2] and '"cents"' in shown["text"] and shown["level"] == "BACKWARD"
    found = browser.page("GET", "/schemas/difference", name="orders/value", old=1, new=2)
    assert found["changes"] == ["field note (null or string, default null) was added"] and found["lines"]


def test_what_may_not_follow_says_why(browser: Browser) -> None:
    register(browser, "kept", avro(CENTS))
    wrong = {"subject": "kept", "type": "AVRO", "schema": avro({"name": "cents", "type": "string"})}
    told = browser.page("POST", "/schemas/check", wrong)
    assert not told["compatible"] and told["reasons"][0]["text"]
    assert browser.refused("POST", "/schemas/register", wrong)[0] == 409
    broken = browser.page("POST", "/schemas/check", {**wrong, "schema": "{"})
    assert broken == {"compatible": False, "level": "", "reasons": broken["reasons"]} and broken["reasons"][0]["text"]


def test_levels(browser: Browser) -> None:
    register(browser, "loose", avro(CENTS))
    assert browser.page("POST", "/schemas/level", {"subject": "loose", "level": "NONE"}) == {"level": "NONE"}
    assert browser.page("GET", "/schemas/subject", name="loose")["level"] == "NONE"
    status, error = browser.refused("POST", "/schemas/level", {"subject": "loose", "level": "SOME"})
    assert status == 400 and "a compatibility level is one of BACKWARD, " in error
    register(browser, "loose", PROTO % "", "PROTOBUF")
    found = browser.page("GET", "/schemas/difference", name="loose", old=1, new=2)
    assert found["changes"] == ["the type AVRO became PROTOBUF"]
    register(browser, "loose", PROTO % "  string note = 2;\n", "PROTOBUF")
    assert any(
        "note" in each for each in browser.page("GET", "/schemas/difference", name="loose", old=2, new=3)["changes"]
    )


def test_references_are_shown_from_both_sides(browser: Browser) -> None:
    register(browser, "money", json.dumps({"type": "record", "name": "Money", "fields": [CENTS]}))
    reference = {"name": "Money", "subject": "money", "version": 1}
    made = register(browser, "bill", avro({"name": "price", "type": "Money"}), references=[reference])
    assert browser.page("GET", "/schemas/subject", name="bill")["references"] == [reference]
    assert browser.page("GET", "/schemas/subject", name="money")["referenced_by"] == [made["id"]]


@pytest.mark.parametrize(
    ("method", "path", "body", "query", "status"),
    [
        ("GET", "/schemas/subject", None, {}, 400),
        ("GET", "/schemas/subject", None, {"name": "nobody"}, 404),
        ("GET", "/schemas/difference", None, {"name": "nobody", "old": 1, "new": 2}, 404),
        ("POST", "/schemas/register", {"subject": "", "type": "AVRO", "schema": "{}"}, {}, 400),
        ("POST", "/schemas/register", {"subject": "x", "type": "XML", "schema": "{}"}, {}, 400),
    ],
)
def test_what_is_not_there(
    browser: Browser, method: str, path: str, body: object, query: dict[str, object], status: int
) -> None:
    assert browser.refused(method, path, body, **query)[0] == status


def test_a_record_is_shown_by_its_schema(browser: Browser, bootstrap: str) -> None:
    schema = register(browser, "sold-value", avro(CENTS))["id"]
    with Admin(bootstrap) as admin:
        admin.create_topic("sold", partitions=1)
    with Producer(bootstrap) as producer:
        producer.send("sold", b"\0" + schema.to_bytes(4, "big") + b"\x0e")  # 7, as Avro writes it
        producer.send("sold", b"\0\xff\xff\xff\xff\x0e")  # an id that nobody knows
    known, unknown = browser.page("GET", "/topics/sold/messages", place="beginning")["records"]
    assert json.loads(known["value"]["text"]) == {"cents": 7}, known
    assert "cents" not in json.dumps(unknown)


def test_a_cluster_without_a_registry(bootstrap: str) -> None:
    with console(bootstrap) as port:
        browser = Browser(port)
        assert browser.page("GET", "/schemas") == {"registry": None, "level": None, "subjects": []}
        assert browser.refused("GET", "/schemas/subject", name="x")[0] in (400, 404, 409)
