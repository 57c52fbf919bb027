"""Records that a table does not take are named one by one; the others go in, and the offset moves on."""

from __future__ import annotations

from tests.connect.relational.targets import Target, record, write


def test_bad_rows_are_found_among_many(target: Target) -> None:
    target.execute("create table orders (id bigint primary key, n bigint check (n >= 0), name varchar not null)")
    writer = target.sink().open("orders", 0)
    bad = {17: -1, 400: -5, 401: -5, 999: -1}
    records = [record(n, {"n": bad.get(n, n), "name": "x" if n != 555 else None}, {"id": n}) for n in range(1000)]
    rejected = dict(write(writer, records))
    assert sorted(rejected) == [17, 400, 401, 555, 999]
    assert "check" in rejected[17].lower() and "null" in rejected[555].lower()
    assert target.execute("select count(*), min(n) from orders") == [(995, 0)]
    assert writer.next_offset() == 17  # until the next batch: their dead letters may not have been written
    assert write(writer, [record(1000, {"n": 1, "name": "x"}, {"id": 1000})]) == []
    assert writer.next_offset() == 1001


def test_where_the_last_of_a_key_is_refused_the_one_before_it_counts(target: Target) -> None:
    target.execute("create table orders (id bigint primary key, n bigint check (n >= 0))")
    writer = target.sink().open("orders", 0)
    values = [(1, 1), (1, 2), (1, -1), (2, 5), (2, -2), (1, -3), (3, -1)]
    rejected = write(writer, [record(offset, {"n": n}, {"id": key}) for offset, (key, n) in enumerate(values)])
    # -1 of key 1 was not tried before -3 was refused, and is then.
    assert [offset for offset, _ in rejected] == [2, 4, 5, 6]
    assert target.execute("select id, n from orders order by id") == [(1, 2), (2, 5)]


def test_what_cannot_be_a_row_says_why(target: Target) -> None:
    writer = target.sink(key_column="id").open("orders", 0)
    assert write(writer, [record(0, {"n": 1}, {"id": 1})]) == []
    batch = [
        record(1, "text", {"id": 2}),
        record(2, b"bytes", {"id": 2}),
        record(3, {"n": 1}, None),
        record(4, {"n": 1}, {"id": None}),
        record(5, {"n": 1}, {"other": 1}),
        record(6, {"n": "many"}, {"id": 2}),
        record(7, {"n": [1]}, {"id": 2}),
        record(8, {"": 1}, {"id": 2}),
        record(9, {"x" * 300: 1}, {"id": 2}),
        record(10, {"n": 1}, {"id": [1]}),
        record(11, {"n": 1}, {"id": "seven"}),
        record(12, None, None),
        record(13, {"half": "\ud800"}, {"id": 3}),
        record(14, {"n": 14}, {"id": 14}),
    ]
    rejected = dict(write(writer, batch))
    assert sorted(rejected) == list(range(1, 14))
    for offset, words in [(1, "type str"), (3, "no key"), (4, "null"), (5, "the key has the fields other")]:
        assert words in rejected[offset], rejected[offset]
    for offset, words in [(7, "field 'n'"), (9, "longer than"), (10, "type list"), (11, "field 'id'")]:
        assert words in rejected[offset], rejected[offset]
    assert target.execute("select id, n from orders order by id") == [(1, 1), (14, 14)]


def test_a_field_without_a_column_is_rejected_where_tables_do_not_evolve(target: Target) -> None:
    target.execute("create table orders (id bigint primary key, n bigint)")
    writer = target.sink(evolve=False).open("orders", 0)
    batch = [
        record(0, {"n": 1}, {"id": 1}),
        record(1, {"n": 1, "more": 2}, {"id": 2}),
        record(2, {"n": 0.5}, {"id": 3}),
    ]
    batch.append(record(3, {"n": 2**70}, {"id": 4}))
    rejected = dict(write(writer, batch))
    assert sorted(rejected) == [1, 2, 3]
    assert "evolve is false" in rejected[1] and "range" in rejected[3]
    assert set(target.types("orders")) == {"id", "n"}


def test_a_table_does_not_grow_without_a_limit(target: Target) -> None:
    writer = target.sink(max_columns=5).open("orders", 0)
    rejected = dict(write(writer, [record(n, {f"field{n}": n}, {"id": n}) for n in range(20)]))
    assert sorted(rejected) == list(range(4, 20))
    assert "max_columns" in rejected[19]
    assert len(target.types("orders")) == 5


def test_a_table_changed_by_somebody_else_is_looked_at_again(target: Target) -> None:
    writer = target.sink().open("orders", 0)
    write(writer, [record(0, {"n": 1}, {"id": 1})])
    target.execute("alter table orders alter column n set data type varchar")
    assert write(writer, [record(1, {"n": "words"}, {"id": 2})]) == []
    assert target.execute("select id, n from orders order by id") == [(1, "1"), (2, "words")]


def test_names_that_are_data_do_not_fill_the_memory(target: Target) -> None:
    """Every record has fields of its own, null or not."""
    writer = target.sink(max_columns=50).open("orders", 0)
    batch = [record(n, {"n": n, f"null{n}": None, f"own{n}": n if n % 2 else None}, {"id": n}) for n in range(20_000)]
    rejected = write(writer, batch)
    assert len(rejected) == 10_000 - 48 and "max_columns" in rejected[0][1]
    assert target.execute("select count(*) from orders") == [(20_000 - len(rejected),)]
    assert len(target.types("orders")) == 50
