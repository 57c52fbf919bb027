"""The reader against a server that speaks the protocol: rows, then changes, each once, over closings and ends of the
stream. tests/connect/postgres has the same with a real PostgreSQL."""

from __future__ import annotations

import itertools
import logging
import re
import threading
import time
from collections.abc import Iterator

import pytest

from barnabas.connect.connectors.postgres.capture import reader as capture_reader
from barnabas.connect.connectors.postgres.capture import replication, snapshot
from barnabas.connect.connectors.postgres.capture.pgoutput import BadMessage
from barnabas.connect.connectors.postgres.capture.wal import lsn_of
from barnabas.connect.errors import Unavailable
from tests.support.fake_postgres import Refused, Stream
from tests.unit.connect.postgres import messages
from tests.unit.connect.postgres.captured import Capture, Captured, Table, items

COLUMNS = [("id", 23, True), ("name", 25, False)]


@pytest.fixture
def database() -> Iterator[Captured]:
    made = Captured()
    made.tables["public", "items"] = items(("1", "one"), ("2", "two"))
    yield made
    made.close()


@pytest.fixture
def capture(database: Captured) -> Iterator[Capture]:
    made = Capture(database)
    yield made
    made.close()


def transaction(commit: int, *changes: bytes, xid: int = 800, described: bool = True) -> list[bytes]:
    head = [messages.relation(16388, "items", COLUMNS)] if described else []
    return [messages.begin(commit, xid), *head, *changes, messages.commit(commit, commit + 0x10)]


def inserted(number: int, name: str = "new") -> bytes:
    return messages.insert(16388, [b"%d" % number, name.encode()])


def values(stream: Capture) -> list[object]:
    return [each.value for each in stream.records]


def test_rows_then_changes_and_the_server_hears_what_is_committed(database: Captured, capture: Capture) -> None:
    stream = capture.streaming()
    assert values(capture) == [{"id": 1, "name": "one"}, {"id": 2, "name": "two"}]
    assert [each.key for each in capture.records] == [{"id": 1}, {"id": 2}]
    assert database.publications == {"barnabas_shop": {("public", "items")}}
    assert "pgoutput (SNAPSHOT 'nothing')" in next(each for each in database.server.asked if "CREATE_REP" in each)
    assert database.started_at == ["0/200"]
    stream.send(*transaction(0x300, inserted(3), messages.update(16388, [b"1", b"ONE"])))
    stream.send(*transaction(0x400, messages.delete(16388, [b"2", None]), described=False))
    assert capture.all(5)[2:] == [{"id": 3, "name": "new"}, {"id": 1, "name": "ONE"}, None]
    assert capture.position is not None and capture.position["lsn"] == "0/410"
    capture.until(lambda: any(flushed == 0x410 for _, flushed, _ in stream.reports), "the commit is reported")
    assert {each.parameters["application_name"] for each in database.server.logins} == {"barnabas connect shop"}


def test_what_was_read_does_not_come_again(database: Captured, capture: Capture) -> None:
    capture.streaming().send(*transaction(0x300, inserted(3)))
    assert len(capture.all(3)) == 3
    capture.close()
    database.lsn = 0x1000
    stream = capture.streaming()
    assert database.started_at[-1] == "0/310"
    assert len(database.copies) == 1  # no row is read again
    stream.send(*transaction(0x300, inserted(3)))  # the server had not written down that it may go
    stream.send(*transaction(0x400, inserted(4)))
    assert capture.all(4)[-1] == {"id": 4, "name": "new"}


def test_a_transaction_is_delivered_in_parts_and_goes_on_where_it_was(database: Captured, capture: Capture) -> None:
    stream = capture.streaming()
    stream.send(*transaction(0x300, *(inserted(number) for number in range(3, 9)))[:-3])  # four of six
    capture.until(lambda: len(capture.records) == 6, "what has come is delivered")
    assert capture.position is not None and capture.position["open"] == {"commit": "0/300", "done": 4}
    capture.close()
    database.lsn = 0x1000
    stream = capture.streaming()
    stream.send(*transaction(0x300, *(inserted(number) for number in range(3, 9))))
    assert [each["id"] for each in capture.all(8)] == list(range(1, 9))
    assert "open" not in capture.position


def test_a_change_that_the_snapshot_has_is_left_out(database: Captured, capture: Capture) -> None:
    """By its id: 650 had committed when the rows were read, 690 was running then."""
    database.snapshot = "680:700:690"
    stream = capture.streaming()
    stream.send(*transaction(0x1F0, inserted(1, "old"), xid=650))
    stream.send(*transaction(0x300, inserted(3, "late"), xid=690, described=False))
    assert capture.all(3)[-1] == {"id": 3, "name": "late"}
    capture.until(lambda: capture.position is not None and "read" not in str(capture.position["tables"]), "it is read")


def test_a_running_transaction_is_awaited_and_named(
    database: Captured, capture: Capture, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """While the slot is made, and before rows are read of which the stream might be beyond."""
    monkeypatch.setattr(capture_reader, "_PATIENCE_S", 0.0)
    database.slot_waits.clear()
    database.running = [690]
    with caplog.at_level(logging.WARNING):
        assert capture.read() is None
    assert "waiting for a transaction to end" in caplog.text and "pid 77 (nightly report)" in caplog.text
    caplog.clear()
    database.slot_waits.set()
    with caplog.at_level(logging.WARNING):
        capture.until(lambda: "pid 77" in caplog.text, "it says what it waits for")
    assert capture.records == []
    database.running = []
    assert len(capture.all(2)) == 2


def test_a_table_that_was_read_in_part_is_read_on_behind_the_last_key(database: Captured, capture: Capture) -> None:
    database.tables["public", "items"].rows = [(str(number), "x") for number in range(1, 31)]
    while len(capture.records) < 10:
        capture.read(most=10)
    capture.close()
    database.snapshot = "900:900:"
    assert [each["id"] for each in capture.all(30)] == list(range(1, 31))
    assert 'where ("id") > (\'10\') order by "id"' in database.copies[-1]


def test_of_a_change_between_two_snapshots_the_database_is_asked(database: Captured, capture: Capture) -> None:
    """Rows up to 10 were read before transaction 850 committed, the others after it: the same change counts or not by
    the place of its key, which only the database can order."""
    database.tables["public", "items"].rows = [(str(number), "x") for number in range(1, 31)]
    database.lsn = 0x200
    while len(capture.records) < 10:
        capture.read(most=10)
    capture.close()
    database.snapshot, database.lsn = "900:900:", 0x500
    stream = capture.streaming()
    assert len(capture.records) == 30
    database.places = [0, 1, 0, 1]
    changes = [messages.update(16388, [b"%d" % number, b"y"]) for number in (5, 25)]
    moved = messages.update(16388, [b"26", b"moved"], [b"6", None])
    stream.send(*transaction(0x400, *changes, moved, xid=850))
    assert capture.all(32)[30:] == [{"id": 5, "name": "y"}, None]
    assert capture.records[-1].key == {"id": 6}


def test_a_key_that_has_changed_meanwhile_is_told(database: Captured, capture: Capture) -> None:
    database.tables["public", "items"].rows = [(str(number), "x") for number in range(1, 31)]
    while len(capture.records) < 10:
        capture.read(most=10)
    capture.close()
    database.snapshot, database.lsn = "900:900:", 0x500
    stream = capture.streaming()
    columns = [("id", 23, False), ("name", 25, True)]
    stream.send(
        messages.begin(0x400, 850),
        messages.relation(16388, "items", columns),
        messages.insert(16388, [b"5", b"y"]),
        messages.commit(0x400, 0x410),
    )
    with pytest.raises(Unavailable, match=r"the key of table public\.items has changed while the table was being read"):
        capture.until(lambda: False, "an error")


def test_a_table_that_comes_later_is_read_and_followed(
    database: Captured, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(capture_reader, "_WATCH_S", 0.0)
    capture = Capture(database, tables=["public.*"], snapshot="initial")
    try:
        capture.streaming()
        assert capture.records[0].topic == "public.items"
        database.tables["public", "more"] = items(("7", "seven"), oid=16400)
        database.tables["public", "loose"] = items(oid=16401, keys=[])
        with caplog.at_level(logging.WARNING):
            stream = capture.streaming()
        assert capture.all(3)[-1] == {"id": 7, "name": "seven"} and capture.records[-1].topic == "public.more"
        assert "public.loose has no primary key and no REPLICA IDENTITY FULL, and is left out" in caplog.text
        relation = messages.relation(16400, "more", COLUMNS)
        stream.send(
            messages.begin(0x600), relation, messages.insert(16400, [b"8", b"x"]), messages.commit(0x600, 0x610)
        )
        assert capture.all(4)[-1] == {"id": 8, "name": "x"}
    finally:
        capture.close()


def test_a_publication_names_its_tables_itself(database: Captured) -> None:
    """With the columns and rows that it has; a table that it gets later is captured from its first change on."""
    table = database.tables["public", "items"]
    table.only, table.row_filter, table.rows = ["id"], "(id < 100)", [("1",)]
    table.columns = [("id", 23, "integer", ""), ("name", 25, "text", "")]
    database.publications["mine"] = {("public", "items")}
    capture = Capture(database, publication="mine", topic="t.{table}", envelope="debezium", snapshot="initial")
    try:
        stream = capture.streaming()
        assert 'copy (select "id" from "public"."items" where ((id < 100)) order by "id"' in database.copies[0]
        [row] = values(capture)
        assert isinstance(row, dict)
        assert (row["op"], row["after"], row["source"]["snapshot"]) == ("r", {"id": 1}, "true")
        assert "publication_names '\"mine\"'" in next(each for each in database.server.asked if "START_REP" in each)
        assert not any("create publication" in each for each in database.server.asked)
        stream.send(
            messages.begin(0x300, 801),
            messages.relation(16500, "new", COLUMNS, identity="f"),
            messages.commit(0x300, 0x310),
        )
        database.tables["public", "new"] = items(("9", "nine"), oid=16500)
        database.publications["mine"].add(("public", "new"))
        capture.until(lambda: len(capture.records) == 2, "the new table is read")
        assert capture.records[-1].topic == "t.new"
    finally:
        capture.close()


def test_keys_of_a_whole_row_are_those_of_the_table(database: Captured, capture: Capture) -> None:
    stream = capture.streaming()
    full = [(name, oid, True) for name, oid, _ in COLUMNS]
    stream.send(
        messages.begin(0x300),
        messages.relation(16388, "items", full, "f"),
        messages.update(16388, [b"1", b"uno"], [b"1", b"one"], b"O"),
        messages.commit(0x300, 0x310),
    )
    capture.all(3)
    assert capture.records[-1].key == {"id": 1}


def test_a_table_made_anew_under_its_name(database: Captured, capture: Capture) -> None:
    """It was empty then, and all its changes come; the position says which one it is."""
    stream = capture.streaming()
    stream.send(
        messages.begin(0x300),
        messages.relation(17000, "items", COLUMNS),
        messages.insert(17000, [b"1", b"again"]),
        messages.commit(0x300, 0x310),
    )
    capture.all(3)
    assert capture.position is not None and capture.position["tables"]["public.items"] == {"oid": 17000}
    capture.close()
    database.lsn = 0x1000
    database.tables["public", "items"].oid = 18000  # and once more, while nobody watched: what is there is read
    capture.streaming()
    assert len(capture.records) == 5 and len(database.copies) == 2


def test_without_a_snapshot_only_changes_come(database: Captured) -> None:
    capture = Capture(database, snapshot="never")
    try:
        capture.streaming().send(*transaction(0x300, inserted(3)))
        assert capture.all(1) == [{"id": 3, "name": "new"}]
        assert database.copies == []
    finally:
        capture.close()


def test_a_position_moves_without_changes(database: Captured, capture: Capture) -> None:
    """So that the server can forget its log: what it wrote for others is behind us by its keepalives."""
    stream = capture.streaming()
    stream.keepalive(0x900)
    capture.until(lambda: capture.position is not None and capture.position["lsn"] == "0/900", "the position moves")
    capture.until(lambda: any(flushed == 0x900 for _, flushed, _ in stream.reports), "and is confirmed")
    database.slots["barnabas_shop"].restart = 0x800
    lsns = itertools.count(0xA00, 0x10)

    def slot_moved() -> bool:
        stream.keepalive(next(lsns))
        return capture.position is not None and capture.position["slot"] == "0/800"

    capture.until(slot_moved, "the slot's place is remembered, too")
    reader = capture.reader
    assert reader is not None and capture.position is not None
    database.lsn = lsn_of(capture.position["lsn"]) + 0x100
    behind = reader.behind()
    assert behind is not None and behind.bytes == 0x100 and behind.seconds == 0.0


def test_how_old_the_last_transaction_is(database: Captured, capture: Capture) -> None:
    stream = capture.streaming()
    now_us = int((time.time() - 946_684_800) * 1_000_000)
    head = messages.relation(16388, "items", COLUMNS)
    stream.send(messages.begin(0x300, time_us=now_us - 5_000_000), head, inserted(3))
    capture.until(lambda: len(capture.records) == 3, "the change")
    assert capture.reader is not None
    behind = capture.reader.behind()
    assert behind is not None and behind.seconds is not None and 4 < behind.seconds < 60


def test_a_server_that_shuts_down_hears_that_all_is_delivered(database: Captured, capture: Capture) -> None:
    stream = capture.streaming()
    stream.keepalive(0x700, wants_answer=True)
    capture.until(lambda: any(flushed == 0x700 for _, flushed, _ in stream.reports), "it is confirmed at once")
    stream.end()
    with pytest.raises(Unavailable, match="has ended the replication stream, as it does when it stops"):
        capture.until(lambda: False, "the end")


def ends(stream: Stream) -> None:
    stream.end(Refused("55000", 'can no longer get changes from replication slot "barnabas_shop"'))


def cuts(stream: Stream) -> None:
    stream.cut()


@pytest.mark.parametrize(
    ("happens", "said"),
    [
        (ends, r"can no longer get changes.*`barnabas connect reset` starts with a snapshot"),
        (cuts, r"the connection to PostgreSQL at 127.0.0.1:\d+/shop is lost"),
    ],
)
def test_a_stream_that_breaks_says_why(database: Captured, capture: Capture, happens: object, said: str) -> None:
    stream = capture.streaming()
    assert callable(happens)
    happens(stream)
    with pytest.raises(Unavailable) as problem:
        capture.until(lambda: False, "the end")
    assert re.search(said, str(problem.value)), str(problem.value)


def test_a_server_that_says_nothing_any_more(
    database: Captured, capture: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    capture.streaming()
    monkeypatch.setattr(replication, "_SILENCE_S", 0.0)
    monkeypatch.setattr(replication, "_STATUS_S", 0.0)
    with pytest.raises(Unavailable, match="has not answered for 0 s"):
        capture.until(lambda: False, "an error")


@pytest.mark.parametrize(
    "message",
    [
        b"z" + bytes(17),
        messages.stream(b"I" + b"\0\0\0\1N\0\1"),
        messages.stream(b"?"),
        messages.commit(1, 2),
    ],
    ids=["no keepalive", "a table that was not described", "no kind", "the end of no transaction"],
)
def test_what_is_no_message_of_the_stream(database: Captured, capture: Capture, message: bytes) -> None:
    capture.streaming().send(message)
    with pytest.raises(BadMessage):
        capture.until(lambda: False, "an error")


def test_rows_of_all_kinds(database: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    """Escapes of COPY, NULL, types of the database's own, text that is no UTF-8, and a query for each few rows."""
    monkeypatch.setattr(snapshot, "_ROWS", 2)
    columns = [("id", 23, "integer", ""), ("tags", 1009, "text[]", ""), ("mood", 90001, "mood", "")]
    rows: list[tuple[str | None, ...]] = [("1", "{a,b}", "7"), ("2", None, "8"), ("3", "{}", "9\t\\\n")]
    database.tables["public", "items"] = Table(16388, columns, rows=rows)
    database.types = {1009: (25, 0, ","), 90001: (0, 25, ",")}
    capture = Capture(database)
    try:
        assert capture.all(3) == [
            {"id": 1, "tags": ["a", "b"], "mood": "7"},
            {"id": 2, "tags": None, "mood": "8"},
            {"id": 3, "tags": [], "mood": "9\t\\\n"},
        ]
        assert len(database.copies) == 2
    finally:
        capture.close()


def test_a_table_is_read_anew_at_a_new_snapshot_when_one_is_old(
    database: Captured, capture: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(snapshot, "_HOLD_S", 0.0)
    monkeypatch.setattr(snapshot, "_ROWS", 10)
    database.tables["public", "items"].rows = [(str(number), "x") for number in range(1, 26)]
    while len(capture.records) < 25:
        capture.read(most=10)
    assert [each["id"] for each in values(capture)] == list(range(1, 26))  # type: ignore[index]
    begun = [each for each in database.server.asked if each.startswith("begin isolation level")]
    assert len(begun) == 3
    assert any("idle_in_transaction_session_timeout = '10min'" in each for each in database.server.asked)


@pytest.mark.parametrize(
    ("words", "refused", "said"),
    [
        ("lock table", Refused("42501", "permission denied for table items"), "cannot read table public.items:.*GRANT"),
        ("copy (select", Refused("42501", "permission denied for table items"), "GRANT SELECT on it"),
        ("CREATE_REPLICATION_SLOT", Refused("53400", "all replication slots are in use", "x"), "max_replication_slots"),
        ("START_REPLICATION", Refused("55006", "replication slot is active"), r"refuses START_REPLICATION.*is active"),
        ("pg_snapshot_xmax", Refused("57014", "canceling"), "cannot ask for running transactions: canceling"),
        ("create publication", Refused("42501", "permission denied for database shop"), "GRANT CREATE ON DATABASE"),
        ("show wal_level", Refused("57P01", "terminating connection"), "cannot ask for settings: terminating"),
    ],
)
def test_what_the_server_refuses_is_one_line_with_a_way_out(
    database: Captured, capture: Capture, words: str, refused: Refused, said: str
) -> None:
    database.refused[words] = refused
    with pytest.raises(Unavailable) as problem:
        capture.until(lambda: False, "an error")
    text = str(problem.value)
    assert re.search(said, text), text
    assert "\n" not in problem.value.message


def test_a_table_that_changes_while_it_is_opened(database: Captured, capture: Capture) -> None:
    capture.read()
    assert capture.position is not None and lsn_of(capture.position["lsn"]) == 0x200
    database.tables["public", "items"].keys = ["name"]
    with pytest.raises(Unavailable, match="has another key now, or was made anew"):
        capture.until(lambda: False, "an error")


def test_other_threads_run_while_the_server_looks_for_the_next_row(database: Captured, capture: Capture) -> None:
    """libpq waits without letting go of Python: every other connector of the worker would stand still."""
    going = threading.Event()

    def slowly(lines: list[bytes]) -> Iterator[bytes]:
        yield lines[0]
        assert going.wait(10)
        yield from lines[1:]

    database.pace = slowly
    later = threading.Timer(0.2, going.set)
    later.start()
    assert [each["id"] for each in capture.all(2)] == [1, 2]
    later.join()


def test_a_reader_waits_while_the_slot_is_made(database: Captured, capture: Capture) -> None:
    database.slot_waits.clear()
    assert capture.read() is None
    threading.Timer(0.2, database.slot_waits.set).start()
    capture.until(lambda: capture.position is not None, "the slot is made")
    assert capture.position is not None and capture.position["lsn"] == "0/200"
