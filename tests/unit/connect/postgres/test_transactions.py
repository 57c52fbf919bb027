from __future__ import annotations

import random

import pytest

from barnabas.connect.connectors.postgres.capture import types
from barnabas.connect.connectors.postgres.capture.envelope import Debezium, Envelope, Plain, Relation
from barnabas.connect.connectors.postgres.capture.pgoutput import BadMessage, RelationMessage, guarded
from barnabas.connect.connectors.postgres.capture.position import Range, Stand, TableStand, stand_of
from barnabas.connect.connectors.postgres.capture.transactions import Transactions
from barnabas.connect.connectors.postgres.capture.wal import Visibility, lsn_of, lsn_text
from barnabas.connect.contract import Value
from barnabas.connect.errors import ConnectError, Unavailable
from tests.unit.connect.postgres import messages

ITEMS = [("id", 23, True), ("name", 25, False), ("body", 25, False)]


def transactions(stand: Stand | None = None, envelope: Envelope | None = None, truncates: bool = False) -> Transactions:
    def resolve(message: RelationMessage) -> Relation:
        converters = types.converters((each.type_oid for each in message.columns), lambda _: {})
        return Relation(
            message.schema,
            message.table,
            [(each.name, converters[each.type_oid]) for each in message.columns],
            tuple(each.name for each in message.columns if each.is_key),
            None,
            found.stand.tables.setdefault(f"public.{message.table}", TableStand(1, whole=True)),
            plain=found.stand.tables[f"public.{message.table}"].is_streaming,
        )

    found = Transactions(stand or Stand("1", 1, 0), envelope or Plain("unchanged!"), resolve, truncates)
    return found


def taken(found: Transactions, *given: bytes) -> list[tuple[Value, Value]]:
    for each in given:
        found.take(each)
    return [(each.key, each.value) for each in found.envelope.records]


def test_changes_of_a_transaction() -> None:
    found = transactions()
    records = taken(
        found,
        messages.begin(100, time_us=1_000_000),
        messages.relation(1, "items", ITEMS),
        messages.insert(1, [b"1", b"a", None]),
        messages.update(1, [b"1", b"b", "unchanged"]),
        messages.update(1, [b"2", b"b", b"x"], [b"1", None, None]),
        messages.delete(1, [b"2", None, None]),
        messages.commit(100, 120),
    )
    assert records == [
        ({"id": 1}, {"id": 1, "name": "a", "body": None}),
        ({"id": 1}, {"id": 1, "name": "b", "body": "unchanged!"}),
        ({"id": 1}, None),
        ({"id": 2}, {"id": 2, "name": "b", "body": "x"}),
        ({"id": 2}, None),
    ]
    assert {each.timestamp_ms for each in found.envelope.records} == {946_684_801_000}
    assert (found.stand.lsn, found.stand.commit_lsn, found.is_open) == (120, 0, False)


def test_an_unchanged_value_comes_from_the_old_row() -> None:
    found = transactions()
    full = [(name, oid, True) for name, oid, _ in ITEMS]
    records = taken(
        found,
        messages.begin(100),
        messages.relation(1, "items", full, "f"),
        messages.update(1, [b"1", b"b", "unchanged"], [b"1", b"a", b"large"], b"O"),
    )
    assert records[-1][1] == {"id": 1, "name": "b", "body": "large"}


def test_columns_come_and_go() -> None:
    found = transactions()
    records = taken(
        found,
        messages.begin(100),
        messages.relation(1, "items", ITEMS),
        messages.insert(1, [b"1", b"a", b"x"]),
        messages.relation(1, "items", [ITEMS[0], ("size", 23, False)]),
        messages.insert(1, [b"2", b"7"]),
    )
    assert [value for _, value in records] == [{"id": 1, "name": "a", "body": "x"}, {"id": 2, "size": 7}]


def test_a_transaction_is_gone_on_with_where_it_was_left() -> None:
    whole = [
        messages.begin(100),
        messages.relation(1, "items", ITEMS),
        *(messages.insert(1, [str(number).encode(), None, None]) for number in range(5)),
        messages.commit(100, 120),
    ]
    first = transactions()
    assert len(taken(first, *whole[:5])) == 3
    first.mark()
    position = first.stand.as_json()
    assert position["open"] == {"commit": "0/64", "done": 3}
    second = transactions(stand_of(position, "items"))
    assert [key["id"] for key, _ in taken(second, *whole)] == [3, 4]
    assert second.stand.as_json()["lsn"] == "0/78"
    with pytest.raises(Unavailable, match="missing"):
        taken(transactions(stand_of(position, "items")), messages.begin(130))


def test_what_was_delivered_whole_is_skipped() -> None:
    found = transactions(Stand("1", 1, 110))
    records = taken(
        found,
        messages.begin(100),
        messages.relation(1, "items", ITEMS),
        messages.insert(1, [b"1", None, None]),
        messages.commit(100, 105),
    )
    assert records == []
    assert found.stand.lsn == 110


def test_changes_that_were_read_do_not_count() -> None:
    """One range that the transaction is in, one that it is not in, and rows that are not read yet."""
    ranges = [
        Range(("5",), Visibility.of("600:700:"), "600:700:", 50),
        Range(("9",), Visibility.of("800:900:"), "800:900:", 60),
    ]
    stand = Stand("1", 1, 0, tables={"public.items": TableStand(1, ranges)})
    found = transactions(stand)
    records = taken(
        found,
        messages.begin(100, xid=750),
        messages.relation(1, "items", ITEMS),
        messages.insert(1, [b"3", None, None]),
        messages.update(1, [b"7", b"b", b"x"], [b"3", None, None]),
    )
    assert len(records) == 3
    assert [(each.key, each.first, each.end) for each in found.questionable] == [
        ({"id": b"3"}, 0, 1),
        ({"id": b"3"}, 1, 2),
        ({"id": b"7"}, 2, 3),
    ]
    assert {each.counts for each in found.questionable} == {(True, False, False)}
    taken(found, messages.commit(100, 120), messages.begin(130, xid=650), messages.insert(1, [b"3", None, None]))
    assert len(found.envelope.records) == 3, "every range has it, or will"


def test_debezium() -> None:
    found = transactions(envelope=Debezium("?", "orders", "shop"), truncates=True)
    taken(
        found,
        messages.begin(100, xid=9),
        messages.relation(1, "items", ITEMS),
        messages.insert(1, [b"1", b"a", b"x"]),
        messages.update(1, [b"2", b"a", b"x"], [b"1", None, None]),
        messages.delete(1, [b"2", None, None]),
        messages.truncate(1),
    )
    records = found.envelope.records
    assert [(each.key, each.value and each.value["op"]) for each in records] == [
        ({"id": 1}, "c"),
        ({"id": 1}, "d"),
        ({"id": 1}, None),
        ({"id": 2}, "c"),
        ({"id": 2}, "d"),
        ({"id": 2}, None),
        (None, "t"),
    ]
    source = records[0].value["source"]
    assert (source["db"], source["schema"], source["table"], source["txId"], source["lsn"]) == (
        "shop",
        "public",
        "items",
        9,
        0x100,
    )


@pytest.mark.parametrize(
    ("snapshot", "xid", "is_in"),
    [
        ("10:20:12,14", 9, True),
        ("10:20:12,14", 12, False),
        ("10:20:12,14", 13, True),
        ("10:20:12,14", 20, False),
        (f"{2**32 + 5}:{2**32 + 9}:", 2**32 - 3, True),  # of before the counter went round
        (f"{2**32 - 5}:{2**32 - 2}:", 3, False),  # of after
    ],
)
def test_what_a_snapshot_contains(snapshot: str, xid: int, is_in: bool) -> None:
    assert Visibility.of(snapshot).contains(xid) is is_in


def test_positions_survive_json() -> None:
    ranges = [Range(("5", "a"), None, "", 7), Range(None, Visibility.of("10:20:12"), "10:20:12", 1 << 40)]
    stand = Stand("77", 3, 1 << 33, 5, 1 << 34, 8, {"public.a": TableStand(4, ranges, True), "b": TableStand(5)})
    assert stand_of(stand.as_json(), "x").as_json() == stand.as_json()
    assert lsn_of(lsn_text(1 << 40)) == 1 << 40
    with pytest.raises(Unavailable, match="reset x"):
        stand_of({"lsn": "what"}, "x")


def test_settling() -> None:
    table = TableStand(1, [Range((str(n),), Visibility.of("1:2:"), "1:2:", n) for n in (10, 20, 30)])
    assert not table.settle(9)
    assert table.settle(20)
    assert [(each.to, each.snapshot is None) for each in table.ranges] == [(("20",), True), (("30",), False)]
    assert not table.settle(25)
    table.whole = True
    assert not table.is_streaming
    assert table.settle(30)
    assert table.is_streaming


WHOLE = [
    messages.begin(100),
    messages.relation(1, "items", [*ITEMS, ("tags", 1009, False), ("price", 1700, False), ("u", 2950, False)]),
    messages.insert(1, [b"1", "ä".encode(), b"x", b'{a,"b c"}', b"1.5", b"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"]),
    messages.update(1, [b"2", b"b", "unchanged", None, None, None], [b"1", *[None] * 5]),
    messages.delete(1, [b"2", *[None] * 5]),
    messages.truncate(1),
    messages.commit(100, 120),
]


@pytest.mark.parametrize("seed", range(300))
def test_mutated_messages_raise_a_clear_error_or_nothing(seed: int) -> None:
    rng = random.Random(seed)
    found = transactions(truncates=True)
    given = list(WHOLE)
    for _ in range(rng.randrange(1, 4)):
        place = rng.randrange(len(given))
        data = bytearray(given[place])
        kind = rng.randrange(4)
        if kind == 0:
            data[rng.randrange(25, len(data))] = rng.randrange(256)
        elif kind == 1:
            del data[rng.randrange(26, len(data)) :]
        elif kind == 2:
            data += rng.randbytes(rng.randrange(1, 9))
        else:
            at = rng.randrange(26, len(data))
            data[at:at] = rng.randbytes(rng.randrange(1, 5))
        given[place] = bytes(data)
    if rng.random() < 0.2:
        rng.shuffle(given)
    try:
        with guarded():
            taken(found, *given)
            found.mark()
    except ConnectError as problem:
        assert isinstance(problem, BadMessage) or "missing" in str(problem)
        assert "\n" not in str(problem)
