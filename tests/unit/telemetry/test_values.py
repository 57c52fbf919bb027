"""What is kept of pushes, and how it is shown."""

from __future__ import annotations

import pytest

from barnabas.core.telemetry import values as values_module
from barnabas.core.telemetry.series import Pushed, metric_name, series_of
from barnabas.core.telemetry.values import Row, Values, Who
from barnabas.model.limits import TELEMETRY_CLIENTS_MAX
from barnabas.wire.otlp import Attributes, Kind, Metrics, Point

FOREVER = 1 << 50


def who(number: int) -> Who:
    return Who(f"client-{number}", f"id-{number}", "tests", "1", "127.0.0.1")


def pushed(*points: Point, resource: Attributes = ()) -> Pushed:
    return series_of(Metrics(resource, list(points), 0))


def keep(values: Values, number: int, *points: Point, now_ms: int = 0, until_ms: int = FOREVER) -> None:
    values.keep(bytes([number]), who(number), pushed(*points), now_ms, until_ms)


def shown(values: Values) -> list[Row]:
    return [row for row in values.rows(0) if row.name.startswith("kafka_client_")]


def gauge(name: str, value: float, **labels: str) -> Point:
    return Point(name, Kind.GAUGE, tuple(labels.items()), value)


def test_names() -> None:
    assert metric_name("org.apache.kafka.consumer.fetch.manager.records-lag.max") == (
        "kafka_client_consumer_fetch_manager_records_lag_max"
    )
    assert metric_name("com.example/x\ny") == "kafka_client_com_example_x_y"
    assert metric_name("....") == metric_name("漢") == "kafka_client_unnamed"
    counted = pushed(Point("a", Kind.COUNTER, (), 1), Point("b.total", Kind.COUNTER, (), 1))
    assert list(counted.series) == ["kafka_client_a_total", "kafka_client_b_total"]


def test_labels_cannot_take_the_place_of_the_nodes() -> None:
    point = gauge("a", 1, client_id="forged", client_instance_id="forged", __name__="x", topic="t")
    point = point._replace(attributes=(*point.attributes, ("9x", "digit"), ("a-b", "1"), ("a.b", "2")))
    found = series_of(Metrics((("group_id", "g"), ("secret", "s")), [point], 0))
    assert list(found.series["kafka_client_a"]) == [(("a_b", "2"), ("group_id", "g"), ("name", "x"), ("topic", "t"))]


def test_rows() -> None:
    values = Values()
    keep(values, 1, gauge("a", 1, topic="t"), gauge("b", 2))
    keep(values, 2, gauge("a", 3))
    own = [(("client_id", f"client-{n}"), ("client_instance_id", f"id-{n}")) for n in (1, 2)]
    rows = [(row.name, row.kind, row.labels, row.value) for row in shown(values)]
    assert rows == [
        ("kafka_client_a", "gauge", (*own[0], ("topic", "t")), 1),
        ("kafka_client_a", "gauge", own[1], 3),
        ("kafka_client_b", "gauge", own[0], 2),
    ]
    info = [row.labels for row in values.rows(0) if row.name == "barnabas_telemetry_client_info"]
    assert [dict(labels)["software_name"] for labels in info] == ["tests", "tests"]
    ages = [row.value for row in values.rows(2500) if row.name == "barnabas_telemetry_push_age_seconds"]
    assert ages == [2.5, 2.5]


def test_the_last_push_replaces_the_one_before() -> None:
    values = Values()
    keep(values, 1, gauge("a", 1), gauge("b", 1))
    keep(values, 1, gauge("a", 2))
    assert [(row.name, row.value) for row in shown(values)] == [("kafka_client_a", 2)]
    assert values.count == 1 and values.pushes == 2


def test_increases_are_added_up() -> None:
    values = Values()
    a, b = (Point(name, Kind.INCREASE, (), 2) for name in ("a.total", "b.total"))
    keep(values, 1, a, b)
    keep(values, 1, a._replace(value=3))
    assert [(row.name, row.kind, row.value) for row in shown(values)] == [
        ("kafka_client_a_total", "counter", 5),
        ("kafka_client_b_total", "counter", 2),
    ]


def test_two_clients_that_do_not_agree_what_a_metric_is() -> None:
    values = Values()
    keep(values, 1, Point("a.total", Kind.GAUGE, (), 1))
    keep(values, 2, Point("a.total", Kind.COUNTER, (), 1))
    assert {row.kind for row in shown(values)} == {"untyped"}


def test_who_is_silent_is_forgotten() -> None:
    values = Values()
    keep(values, 1, gauge("a", 1), until_ms=100)
    keep(values, 2, gauge("a", 1), until_ms=200)
    values.forget_silent(100)
    assert [dict(row.labels)["client_id"] for row in shown(values)] == ["client-2"]
    values.forget_silent(200)
    assert (len(values), values.count, values.text_bytes, shown(values)) == (0, 0, 0, [])
    assert not values._names and not values._kinds


def test_the_node_as_a_whole_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(values_module, "TELEMETRY_SERIES_MAX", 25)
    values = Values()
    for number in range(1, 6):
        keep(values, number, *(gauge(f"m{n}", n) for n in range(10)))
        assert values.count <= 25
    assert {dict(row.labels)["client_id"] for row in shown(values)} == {"client-4", "client-5"}
    assert values.dropped_clients == 3
    monkeypatch.setattr(values_module, "TELEMETRY_TEXT_MAX_BYTES", 100)
    keep(values, 6, gauge("a", 1, topic="t" * 200))
    assert (len(values), values.dropped_series) == (0, 1)


def test_increases_of_one_client_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client that names other series in each push."""
    monkeypatch.setattr(values_module, "TELEMETRY_SERIES_PER_CLIENT_MAX", 20)
    values = Values()
    for turn in range(10):
        keep(values, 1, *(Point(f"m{turn}.{n}", Kind.INCREASE, (), 1) for n in range(10)))
        assert values.count <= 20


def test_clients_may_push_while_rows_are_read() -> None:
    values = Values()
    for number in range(3):
        keep(values, number, gauge("a", 1), gauge("b", 1))
    rows = values.rows(0)
    next(rows)
    values.forget_silent(FOREVER)
    assert [row.name for row in rows] == []


def test_many_small_clients_neither_pile_up_nor_go_at_once() -> None:
    """A loop is held as long as a push takes to be kept: thousands of clients that give way to it have to be quick."""
    values = Values()
    small = pushed(gauge("a", 1))
    for number in range(2 * TELEMETRY_CLIENTS_MAX):
        values.keep(number.to_bytes(4, "big"), who(1), small, 0, 1)
    assert len(values) == TELEMETRY_CLIENTS_MAX and values.dropped_clients == TELEMETRY_CLIENTS_MAX
    calls = 1
    while not values.forget_silent(1):
        calls += 1
    assert len(values) == values.count == 0 and calls == 4
