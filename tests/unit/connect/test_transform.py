"""The steps of `transform:` on records as they are and as nobody expects them."""

from __future__ import annotations

import contextlib
import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.connect.contract import Record
from barnabas.connect.errors import BadOption
from barnabas.connect.transform.steps import STEPS, compiled
from barnabas.connect.values.formats import BadValue

ORDER: dict[str, Any] = {"id": 7, "total": "12.5", "customer": {"name": "Ada", "card": "4111"}, "at": 1794833483273}


def changed(steps: list[dict[str, Any]], value: Any = ORDER, **record: Any) -> Record | None:
    step = compiled(steps)
    assert step is not None
    made = Record(value, **{"topic": "orders", **record})
    return made if step(made) else None


def value_after(*steps: dict[str, Any], value: Any = ORDER) -> Any:
    found = changed(list(steps), value)
    assert found is not None
    return found.value


def test_each_step() -> None:
    assert value_after({"select": ["id", "customer.name"]}) == {"id": 7, "customer": {"name": "Ada"}}
    assert value_after({"drop": ["customer", "at", "nothing"]}) == {"id": 7, "total": "12.5"}
    assert value_after({"rename": {"id": "order.id", "nothing": "x"}})["order"] == {"id": 7}
    assert value_after({"set": {"origin": "shop"}})["origin"] == "shop"
    assert value_after({"cast": {"total": "float", "id": "text"}})["total"] == 12.5
    assert value_after({"mask": ["customer.card"]})["customer"] == {"name": "Ada", "card": "***"}
    assert len(value_after({"mask": {"customer.card": "hash"}})["customer"]["card"]) == 64
    assert "customer_name" in value_after({"flatten": {}})
    assert value_after({"parse": ["a"]}, value={"a": '{"b": 1}'}) == {"a": {"b": 1}}
    assert changed([{"filter": ".id > 6"}]) is not None
    assert changed([{"filter": ".id > 7"}]) is None
    assert changed([{"filter": '.customer.name == "Ada"'}]) is not None


def test_topic_key_time_and_headers() -> None:
    found = changed(
        [
            {"route": "{topic}-{customer.name}"},
            {"key": "id"},
            {"timestamp": "at"},
            {"header": {"by": "{customer.name}"}},
        ]
    )
    assert found is not None
    assert (found.topic, found.key, found.timestamp_ms) == ("orders-Ada", "7", 1794833483273)
    assert list(found.headers) == [("by", b"Ada")]
    several = changed([{"key": ["id", "total"]}])
    assert several is not None and several.key == {"id": 7, "total": "12.5"}
    assert changed([{"key": "id"}], None, key=b"kept") is not None  # a tombstone


def test_the_value_that_came_is_not_changed_in_place() -> None:
    original = {"a": {"b": 1, "c": 2}}
    value_after({"rename": {"a.b": "x"}}, {"set": {"a.d": 3}}, {"mask": ["a.c"]}, value=original)
    assert original == {"a": {"b": 1, "c": 2}}


@pytest.mark.parametrize(
    ("step", "value", "told"),
    [
        ({"cast": {"total": "int"}}, ORDER, "is no int"),
        ({"cast": {"a": "timestamp"}}, {"a": "yesterday"}, "is no timestamp"),
        ({"route": "{nothing}"}, ORDER, "has no nothing"),
        ({"key": "nothing"}, ORDER, "no field nothing"),
        ({"timestamp": "total"}, ORDER, "is no time"),
        ({"parse": ["a"]}, {"a": "{"}, "is no JSON"),
    ],
)
def test_what_cannot_be_done_is_about_one_record(step: dict[str, Any], value: Any, told: str) -> None:
    with pytest.raises(BadValue, match=told):
        changed([step], value)


@pytest.mark.parametrize(
    "steps",
    [[{"nothing": {}}], [{}], [{"a": 1, "b": 2}], [{"cast": {"a": "colour"}}], [{"filter": ".a =="}], [{"select": 5}],
     [{"rename": ["a"]}], [{"mask": {"a": "burn"}}], ["select"], [{"route": ""}]],
)  # fmt: skip
def test_wrong_steps(steps: list[Any]) -> None:
    with pytest.raises(BadOption):
        compiled(steps)


def test_times() -> None:
    for given_time in (1794833483, 1794833483273, "2026-11-16T12:51:23+00:00", "2026-11-16T12:51:23"):
        made = value_after({"cast": {"at": "timestamp"}}, value={"at": given_time})["at"]
        assert isinstance(made, datetime.datetime) and made.year == 2026, given_time


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=4),
    max_leaves=12,
)
EXAMPLES: dict[str, Any] = {
    "select": ["a", "b.c"], "drop": ["a"], "rename": {"a": "b"}, "set": {"a.b": 1}, "cast": {"a": "int"},
    "mask": ["a.b"], "filter": ".a > 1", "route": "x-{a}", "flatten": {}, "timestamp": "a", "key": "a",
    "header": {"h": "{a}"}, "parse": ["a"],
}  # fmt: skip


def test_every_step_has_an_example_here() -> None:
    assert set(EXAMPLES) == set(STEPS) - {"python"}


@given(JSON | st.binary(max_size=5), st.sampled_from(sorted(EXAMPLES)))
def test_any_value_is_changed_or_refused(value: Any, step: str) -> None:
    with contextlib.suppress(BadValue):
        changed([{step: EXAMPLES[step]}], value)


@pytest.mark.parametrize(
    ("value", "kind", "made"),
    [
        ("yes", "bool", True),
        (" NO ", "bool", False),
        (1, "bool", True),
        (b"\xff", "text", "\ufffd"),
        ({"a": 1}, "text", '{"a":1}'),
        (datetime.datetime(2026, 1, 1), "timestamp", datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)),
    ],
)
def test_casts_of_values_of_other_types(value: Any, kind: str, made: Any) -> None:
    assert value_after({"cast": {"a": kind}}, value={"a": value}) == {"a": made}


UNICODE_STEPS: list[dict[str, Any]] = [
    {"filter": ".a == 1"}, {"header": {"h": "{a}"}}, {"mask": {"a": "hash"}}, {"parse": ["a"]},
]  # fmt: skip


@pytest.mark.parametrize("step", UNICODE_STEPS)
def test_text_that_is_no_unicode_is_about_one_record(step: dict[str, Any]) -> None:
    """It becomes a dead letter; any other error would be tried again for ever."""
    with pytest.raises(BadValue, match="is no Unicode"):
        changed([step], {"a": "half of a pair: \ud800"})


@pytest.mark.parametrize(
    ("value", "kind"), [("perhaps", "bool"), ([1], "bool"), ([1], "timestamp"), (2**70, "timestamp")]
)
def test_casts_that_cannot_be(value: Any, kind: str) -> None:
    with pytest.raises(BadValue, match=f"is no {kind}"):
        changed([{"cast": {"a": kind}}], {"a": value})
