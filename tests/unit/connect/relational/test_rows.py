"""Records become rows: upserts, deletions, appends, and tables that follow them; alike in PostgreSQL and DuckDB."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from uuid import UUID

from tests.connect.relational.targets import Target, record, write


def test_the_last_value_of_a_key_is_the_row_and_a_tombstone_deletes_it(target: Target) -> None:
    writer = target.sink().open("orders", 0)
    assert writer.next_offset() is None
    first = [record(n, {"name": f"n{n}", "total": n}, {"id": n % 3}) for n in range(6)]
    assert write(writer, first) == []
    assert writer.next_offset() == 6
    assert target.execute("select id, name, total from orders order by id") == [
        (0, "n3", 3),
        (1, "n4", 4),
        (2, "n5", 5),
    ]
    changes = [
        record(6, {"name": "new", "total": 9}, {"id": 1}),
        record(7, None, {"id": 2}),
        record(8, None, {"id": 7}),
    ]
    changes += [record(9, None, {"id": 0}), record(10, {"name": "again", "total": 1}, {"id": 0})]
    assert write(writer, changes) == []
    assert target.execute("select id, name, total from orders order by id") == [(0, "again", 1), (1, "new", 9)]


def test_a_record_is_the_whole_row_however_it_is_batched(target: Target) -> None:
    """A field that the newer record does not have is null: alone, and beside one that has it."""
    writer = target.sink().open("orders", 0)
    write(writer, [record(0, {"a": 1, "b": 1}, {"id": 1}), record(1, {"a": 1, "b": 1}, {"id": 2})])
    write(writer, [record(2, {"a": 2}, {"id": 1})])
    write(writer, [record(3, {"a": 2}, {"id": 2}), record(4, {"a": 3, "b": 3}, {"id": 3})])
    assert target.execute("select id, a, b from orders order by id") == [(1, 2, None), (2, 2, None), (3, 3, 3)]


def test_partial_rows_leave_what_they_do_not_name(target: Target) -> None:
    writer = target.sink(partial=True).open("orders", 0)
    write(writer, [record(0, {"a": 1, "b": 1}, {"id": 1}), record(1, {"a": 1, "b": 1}, {"id": 2})])
    assert (
        write(writer, [record(2, {"a": 2}, {"id": 1}), record(3, {"b": 5}, {"id": 1}), record(4, {}, {"id": 2})]) == []
    )
    assert (
        write(writer, [record(5, None, {"id": 2}), record(6, {"b": 7}, {"id": 2}), record(7, {"a": 8}, {"id": 3})])
        == []
    )
    assert target.execute("select id, a, b from orders order by id") == [(1, 2, 5), (2, None, 7), (3, 8, None)]


def test_keys_of_one_value_are_in_the_column_that_is_named(target: Target) -> None:
    writer = target.sink(key_column="sku").open("orders", 0)
    assert write(writer, [record(0, {"n": 1}, "a"), record(1, {"n": 2}, "b"), record(2, None, "a")]) == []
    assert write(writer, [record(3, {"n": 3, "sku": "c"}), record(4, {"n": 4, "sku": "other"}, "d")]) == []
    assert target.execute("select sku, n from orders order by sku") == [("b", 2), ("c", 3), ("d", 4)]


def test_tombstones_are_ignored_where_deletes_is_false(target: Target) -> None:
    writer = target.sink(deletes=False).open("orders", 0)
    assert write(writer, [record(0, {"n": 1}, {"id": 1}), record(1, None, {"id": 1})]) == []
    assert target.execute("select id, n from orders") == [(1, 1)]
    assert writer.next_offset() == 2


def test_append_keeps_every_record_and_says_where_it_stood(target: Target) -> None:
    writer = target.sink(mode="append", metadata=["topic", "partition", "offset", "timestamp", "key"]).open("orders", 0)
    assert write(writer, [record(7, {"n": 1}, "k"), record(8, {"n": 1}, "k"), record(9, None, "k")]) == []
    rows = target.execute("select n, kafka_topic, kafka_partition, kafka_offset, kafka_key from orders order by 4")
    assert rows == [(1, "orders", 0, 7, "k"), (1, "orders", 0, 8, "k")]
    assert writer.next_offset() == 10
    ((stamp,),) = target.execute("select kafka_timestamp from orders where kafka_offset = 8")
    assert stamp == datetime(2023, 11, 14, 22, 13, 20, 8000, tzinfo=UTC)


def test_unique_appends_survive_the_loss_of_the_offsets(target: Target) -> None:
    sink = target.sink(mode="append", unique=True)
    records = [record(n, {"n": n}) for n in range(10)]
    assert write(sink.open("orders", 0), records) == []
    target.execute("delete from barnabas_offsets")
    again = target.sink(mode="append", unique=True).open("orders", 0)
    assert again.next_offset() is None
    assert write(again, [*records, record(10, {"n": 10})]) == []
    assert target.execute("select count(*), count(distinct n) from orders") == [(11, 11)]


def test_columns_are_added_and_numbers_widened(target: Target) -> None:
    writer = target.sink().open("orders", 0)
    big = 2**60 + 1
    for offset, value in enumerate(
        [{"a": 1, "b": 1, "c": 1.5}, {"a": 2, "b": 2.5, "new": "x"}, {"a": 2**64, "c": 3, "nested": {"x": [1]}}]
    ):
        assert write(writer, [record(offset, value, {"id": offset})]) == []
    types = target.types("orders")
    assert types["a"] in ("numeric", "hugeint") and types["b"] in ("double precision", "double")
    assert types["nested"] in ("jsonb", "json") and types["new"] in ("text", "varchar")
    assert target.execute("select a, b, c, new from orders order by id") == [
        (1, 1.0, 1.5, None),
        (2, 2.5, None, "x"),
        (2**64, None, 3.0, None),
    ]
    # Whole numbers that doubles would round: PostgreSQL has a type for both, DuckDB refuses the fraction.
    assert write(writer, [record(3, {"d": big}, {"id": 3})]) == []
    rejected = write(writer, [record(4, {"d": 0.5}, {"id": 4})])
    expected = {(3, big)} if target.kind == "duckdb" else {(3, big), (4, Decimal("0.5"))}
    assert set(target.execute("select id, d from orders where d is not null")) == expected
    assert len(rejected) == (1 if target.kind == "duckdb" else 0)


def test_a_column_does_not_depend_on_how_records_are_batched(target: Target) -> None:
    values = [{"v": 1}, {"v": 2.5}, {"v": "text"}, {"v": 3}, {"v": True}, {"v": "4"}]
    records = [record(n, value, {"id": n}) for n, value in enumerate(values)]
    together = target.sink("one", table="one").open("orders", 0)
    apart = target.sink("two", table="two").open("orders", 0)
    # Text that is no number is refused by PostgreSQL itself, and its words differ from ours.
    rejected = [offset for offset, _ in write(together, records)]
    assert rejected == [2, 4]
    assert [offset for each in records for offset, _ in write(apart, [each])] == rejected
    rows = [target.execute(f"select id, v from {table} order by id") for table in ("one", "two")]
    assert rows[0] == rows[1] == [(0, 1.0), (1, 2.5), (3, 3.0), (5, 4.0)]
    assert target.types("one") == target.types("two")


def test_values_of_every_kind_come_back(target: Target) -> None:
    value = {
        "flag": True,
        "number": 7,
        "exact": Decimal("12.345"),
        "real": 0.1,
        "words": "tab\tnew\nline \\ quote' \"é🎉",
        "raw": b"\x00\xff",
        "made": datetime(2026, 11, 17, 10, 0, 0, 123456, tzinfo=UTC),
        "local": datetime(2026, 11, 17, 10, 0),
        "day": date(2026, 11, 17),
        "uuid": UUID("12345678-1234-5678-1234-567812345678"),
        "nothing": None,
    }
    writer = target.sink(mode="append", metadata=[]).open("orders", 0)
    assert write(writer, [record(0, value), record(1, {}), record(2, {**value, "number": None})]) == []
    names = [name for name in value if name != "nothing"]
    rows = target.execute(f"select {', '.join(names)} from orders where flag and number is not null")
    assert rows == [tuple(value[name] for name in names)]
    assert "nothing" not in target.types("orders")
    assert target.execute("select count(*) from orders") == [(3,)]


def test_strings_are_read_by_columns_that_are_not_text(target: Target) -> None:
    target.execute(
        "create table orders (made timestamp with time zone, id uuid, n bigint, price decimal(10,2), d date)"
    )
    writer = target.sink(mode="append", metadata=[], evolve=False).open("orders", 0)
    value = {"made": "2026-11-17T10:00:00Z", "id": "12345678-1234-5678-1234-567812345678", "n": "5", "price": "1.25"}
    bad = record(1, {**value, "made": "soon"})
    assert [offset for offset, _ in write(writer, [record(0, {**value, "d": "2026-11-17"}), bad])] == [1]
    assert target.execute("select * from orders") == [
        (datetime(2026, 11, 17, 10, tzinfo=UTC), UUID(value["id"]), 5, Decimal("1.25"), date(2026, 11, 17))
    ]


def test_types_of_the_definition_are_used_for_new_columns(target: Target) -> None:
    writer = target.sink(types={"made": "timestamp with time zone", "price": "decimal(12, 4)"}).open("orders", 0)
    assert write(writer, [record(0, {"made": "2026-11-17T10:00:00+01:00", "price": 1.5}, {"id": 1})]) == []
    assert target.execute("select made, price from orders") == [
        (datetime(2026, 11, 17, 9, tzinfo=UTC), Decimal("1.5000"))
    ]


def test_a_column_with_a_default_is_left_to_the_database(target: Target) -> None:
    target.execute("create table orders (id bigint primary key, n bigint, made_by varchar default 'trigger')")
    writer = target.sink().open("orders", 0)
    assert write(writer, [record(0, {"n": 1}, {"id": 1}), record(1, {"n": 1, "made_by": "me"}, {"id": 2})]) == []
    assert write(writer, [record(2, {"n": 2}, {"id": 2}), record(3, {"n": 2, "made_by": None}, {"id": 1})]) == []
    assert target.execute("select id, n, made_by from orders order by id") == [(1, 2, None), (2, 2, "me")]


def test_tables_by_topic(target: Target) -> None:
    writer = target.sink(table="sales.t_{topic}", mode="append").open("shop.orders", 0)
    routed = [record(0, {"n": 1}, topic="shop.orders"), record(1, {"n": 2}, topic="other-place")]
    assert write(writer, routed) == []
    assert target.execute("select n from sales.t_shop_orders") == [(1,)]
    assert target.execute('select n, kafka_topic from sales."t_other-place"') == [(2, "shop.orders")]
