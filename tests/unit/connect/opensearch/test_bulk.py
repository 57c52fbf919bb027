"""Lines of a request and the meaning of an answer, without a server."""

from __future__ import annotations

import datetime
import hashlib
import json
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest

from barnabas.connect.connectors.opensearch.answer import Cause, again, in_words, whole
from barnabas.connect.connectors.opensearch.bulk import NOT_JSON, Lines, id_of
from barnabas.connect.connectors.opensearch.options import read_settings
from barnabas.connect.contract import Delivered, Rejected, Value
from barnabas.connect.errors import Unavailable
from tests.support.delivered import delivered


def lines(record: Delivered, *, typed: Any = False, **options: Any) -> list[Any] | None:
    made = Lines(read_settings({"url": "h", **options}), "orders", typed).of(record)
    return None if made is None else [json.loads(line) for line in made.splitlines()]


def test_a_key_is_the_id_and_the_offset_the_version() -> None:
    action = {"_index": "orders", "version_type": "external", "_id": "k", "version": 7}
    assert lines(delivered(7, {"a": 1}, "k")) == [{"index": action}, {"a": 1}]
    assert lines(delivered(7, None, "k")) == [{"delete": action}]
    assert lines(delivered(7, {"a": 1}, "k"), typed=True) == [{"index": {**action, "_type": "_doc"}}, {"a": 1}]
    by_time = {**action, "version_type": "external_gte", "version": 5}
    assert lines(delivered(7, {"a": 1}, "k", timestamp_ms=5), version="timestamp") == [{"index": by_time}, {"a": 1}]


def test_a_record_without_a_key_is_created_by_its_place() -> None:
    action = {"_index": "orders", "_id": "orders-0-7"}
    assert lines(delivered(7, {"a": 1})) == [{"create": action}, {"a": 1}]
    assert lines(delivered(7, {"a": 1}, "k"), id="offset") == [{"create": action}, {"a": 1}]
    assert lines(delivered(7)) is None
    routed = lines(delivered(7, {"a": 1}, topic="Other"))
    assert routed == [{"create": {"_index": "other", "_id": "orders-0-7"}}, {"a": 1}]
    with pytest.raises(ValueError, match="no key"):
        lines(delivered(7, {"a": 1}), id="key")


def test_a_redriven_record_is_named_as_it_was_at_first() -> None:
    def made(key: Value) -> list[Any] | None:
        record = Delivered("orders", 2, 7, 5, key, {"a": 1}, (), 90)
        lines = Lines(read_settings({"url": "h"}), "search.redrive", False).of(record)
        return [json.loads(line) for line in (lines or b"").splitlines()]

    assert made(None) == [{"create": {"_index": "orders", "_id": "orders-2-7"}}, {"a": 1}]
    versioned = {"_index": "orders", "version_type": "external", "_id": "k", "version": 7}
    assert made("k") == [{"index": versioned}, {"a": 1}]


def test_names_of_indexes_by_time() -> None:
    def index(template: str) -> Any:
        found = lines(delivered(0, {}, timestamp_ms=1_794_964_200_000), index=template)
        assert found is not None
        return found[0]["create"]["_index"]

    assert index("{topic}-{year}") == "orders-2026"
    assert index("l-{month}") == "l-2026-11"
    assert index("l-{day}") == "l-2026-11-18"
    assert index("l-{hour}") == "l-2026-11-18-01"


def test_fields_that_are_added() -> None:
    options = {"timestamp_field": "@timestamp", "metadata": "kafka"}
    where = {"topic": "orders", "partition": 0, "offset": 7, "timestamp": 1_005}
    at = "1970-01-01T00:00:01.005Z"
    for value in ({}, {"a": 1}):
        found = lines(delivered(7, value, timestamp_ms=1_005), **options)
        assert found is not None
        assert found[1] == {**value, "@timestamp": at, "kafka": where}
    kept = lines(delivered(7, {"@timestamp": 5}), timestamp_field="@timestamp")
    assert kept is not None
    assert kept[1] == {"@timestamp": 5}
    with pytest.raises(NOT_JSON, match="a field 'kafka'"):
        lines(delivered(7, {"kafka": 5}), metadata="kafka")


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("a", "a"),
        ('say "x"', 'say "x"'),
        (b"abc", "abc"),
        (b"\xff", "/w=="),
        (5, "5"),
        ({"b": 1, "a": "x"}, '{"a":"x","b":1}'),
        ("x" * 512, "x" * 512),
        ("x" * 513, "sha256:" + hashlib.sha256(b"x" * 513).hexdigest()),
    ],
)
def test_ids(key: Value, text: str) -> None:
    assert json.loads(id_of(key)) == text


def test_values_of_other_types_are_written_and_what_is_none_is_refused() -> None:
    value = {
        "d": Decimal("1.50"),
        "u": UUID(int=1),
        "t": datetime.datetime(2026, 1, 2, tzinfo=datetime.UTC),
        "b": b"\1",
    }
    found = lines(delivered(0, value))
    assert found is not None
    assert found[1] == {"d": 1.5, "u": str(UUID(int=1)), "t": "2026-01-02T00:00:00Z", "b": "AQ=="}
    deep: dict[str, Any] = {}
    for _ in range(100_000):
        deep = {"a": deep}
    for bad in ({"a": object()}, {"a": "\ud800"}, deep):
        with pytest.raises(NOT_JSON):
            lines(delivered(0, bad))
    with pytest.raises(NOT_JSON):
        lines(delivered(0, {}, timestamp_ms=10**18))


RECORDS = [delivered(each, {"n": each}, "k") for each in range(3)]


def answer(*items: dict[str, Any]) -> bytes:
    return json.dumps({"took": 1, "errors": True, "items": [{"index": each} for each in items]}).encode()


def failed(status: int, kind: str, reason: str = "because") -> dict[str, Any]:
    return {"status": status, "error": {"type": kind, "reason": reason}}


def test_what_is_done_what_comes_again_and_what_is_rejected() -> None:
    rejected: list[Rejected] = []
    assert again(b'{"took":5,"errors":false,"items":[not read', RECORDS, rejected, "i") == ([], "")
    body = answer({"status": 201}, failed(409, "version_conflict_engine_exception"), {"status": 404})
    assert again(body, RECORDS, rejected, "i") == ([], "")
    assert not rejected
    body = answer(failed(429, "rejected"), failed(400, "mapper_parsing_exception"), failed(503, "unavailable_shards"))
    assert again(body, RECORDS, rejected, "i") == ([0, 2], "unavailable_shards: because")
    assert [each.record.offset for each in rejected] == [1]


@pytest.mark.parametrize(
    ("item", "said"),
    [
        (failed(403, "cluster_block_exception"), "Free disk space"),
        (failed(429, "cluster_block_exception"), "Free disk space"),
        (failed(404, "index_not_found_exception"), "Create the index"),
        (failed(400, "index_closed_exception"), "Open the index"),
        (failed(403, "security_exception"), "Give the user the right"),
        (failed(400, "validation_exception", "[1]/[1] maximum shards open"), "cluster.max_shards_per_node"),
    ],
)
def test_what_somebody_has_to_mend(item: dict[str, Any], said: str) -> None:
    with pytest.raises(Unavailable, match=said):
        again(answer(item), RECORDS[:1], [], "i")


@pytest.mark.parametrize("body", [b"", b"{}", b"[", b'{"items":5}', b'{"items":[{"index":{}}]}', b"[" * 100_000])
def test_answers_that_are_none(body: bytes) -> None:
    with pytest.raises(Unavailable):
        again(body, RECORDS, [], "i")
    assert in_words(whole(body)) == "without a reason"


def test_an_error_is_one_short_line() -> None:
    deep = Cause("a", "first\nsecond", Cause("b", "x" * 1000, Cause("c", "first\nsecond")))
    said = in_words(deep)
    assert said.startswith("a: first second; xxx")
    assert len(said) == 500
    assert in_words(whole(b'{"error":"text","status":500}')).endswith("text")


def test_redriven_records_of_two_topics_in_one_index_have_their_own_ids() -> None:
    for origin in ("orders", "payments"):
        record = Delivered("all", 0, 7, 0, None, {"a": 1}, redriven_at=3, read_from=origin)
        made = lines(record, id="offset")
        assert made is not None and made[0]["create"]["_id"] == f"{origin}-0-7"
