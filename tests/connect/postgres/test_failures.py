"""What happens when the database, the slot or the login fails: one clear line, and on again where that is possible."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest

from barnabas.connect.connectors.postgres.capture.wal import lsn_of
from barnabas.connect.connectors.postgres.source import PostgresSource
from barnabas.connect.errors import BadOption, Unavailable
from tests.connect.postgres.capturing import Capture, Database
from tests.support.members import until
from tests.support.postgres import PASSWORD, Postgres

TABLE = "create table items (id int primary key, n int)"


@pytest.fixture
def server() -> Iterator[Postgres]:
    """One that a test may kill."""
    with Postgres() as found:
        yield found


def refusal(capture: Capture) -> str:
    try:
        with pytest.raises(Unavailable) as found:
            capture.open()
    finally:
        capture.close()
    text = str(found.value)
    assert "\n" not in text
    assert PASSWORD not in text
    return text


# --- options and logins ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "url"),
        ({"url": "postgresql://h/d"}, "tables"),
        ({"url": "what is that", "tables": ["a"]}, "no address"),
        ({"url": "postgresql://u:hidden@h:port/d", "tables": ["a"]}, "no address|port"),
        ({"url": "postgresql://h/d?replication=true", "tables": ["a"]}, "replication"),
        ({"url": "postgresql://h/d", "tables": ["a.b.c"]}, "a.b.c"),
        ({"url": "postgresql://h/d", "tables": ["a"], "slot": "No"}, "slot"),
        ({"url": "postgresql://h/d", "tables": ["a"], "envelope": "avro"}, "envelope"),
        ({"url": "postgresql://h/d", "tables": ["a"], "truncate": "event"}, "debezium"),
        ({"url": "postgresql://h/d", "tables": ["a"], "topic": "{nothing}"}, "nothing"),
        ({"url": "postgresql://h/d", "tables": ["a"], "heartbeat_s": 0}, "heartbeat_s"),
        ({"url": "postgresql://h/d", "tables": ["a"], "tabels": 1}, "tables"),
    ],
)
def test_options_that_cannot_be_right(options: dict[str, Any], words: str) -> None:
    with pytest.raises(BadOption, match=words) as found:
        PostgresSource("items", options)
    assert "hidden" not in str(found.value)


def test_logins_and_rights(database: Database, capture: Capture) -> None:
    database.execute(TABLE)
    capture.options["password"] = "wrong-secret"
    said = refusal(capture)
    assert "password authentication failed" in said
    assert "wrong-secret" not in said
    capture.options["password"] = PASSWORD

    capture.options["url"] = "postgresql://postgres@127.0.0.1:9/postgres"
    assert "127.0.0.1" in refusal(capture)
    capture.options["url"] = database.server.url("nowhere")
    assert '"nowhere" does not exist' in refusal(capture)

    user = f"reader_{database.name}"
    capture.options |= {"url": database.server.url(database.name, user)}
    database.execute(f"create role {user} login password '{PASSWORD}'")
    assert "REPLICATION" in refusal(capture)
    database.execute(f"alter role {user} replication")
    assert "publication" in refusal(capture)
    database.execute("create publication made_before for table items")
    capture.options["publication"] = "made_before"
    with pytest.raises(Unavailable, match="GRANT SELECT"):
        capture.read_until(lambda _: False, "an error")
    capture.close()
    database.execute(f"grant select on items to {user}; insert into items values (1, 1)")
    capture.read(1)


def test_tables_that_are_not_there(database: Database, capture: Capture) -> None:
    assert "no table public.items" in refusal(capture)
    capture.options |= {"tables": ["sales.*"]}
    assert "no table matches sales.*" in refusal(capture)
    capture.options |= {"tables": [], "publication": "theirs"}
    assert "theirs does not exist" in refusal(capture)
    assert database.execute("select count(*) from pg_replication_slots where database = %s", [database.name]) == [(0,)]


def test_wal_level() -> None:
    with Postgres({"wal_level": "replica", "max_replication_slots": "0"}) as server:
        server.execute(TABLE)
        capture = Capture(Database(server, "postgres"), tables=["items"])
        assert "wal_level" in refusal(capture)


# --- the slot -------------------------------------------------------------------------------------------------------


def confirmed(database: Database) -> Any:
    return database.execute(
        "select confirmed_flush_lsn from pg_replication_slots where database = %s", [database.name]
    )[0][0]


def test_an_idle_slot_does_not_hold_the_log(database: Database, capture: Capture) -> None:
    """Only a table changes that is not captured."""
    database.execute(TABLE)
    database.execute("insert into items values (1, 1); create table other (id int)")
    capture.read(1)
    database.execute("insert into other select generate_series(1, 1000)")
    end = database.execute("select pg_current_wal_lsn()")[0][0]
    deadline = time.monotonic() + 20
    while database.execute("select %s::pg_lsn > %s::pg_lsn", [end, confirmed(database)]) == [(True,)]:
        assert time.monotonic() < deadline
        if (chunk := capture.peek()) is not None:
            assert chunk.records == []
            capture.take(chunk)
    assert capture.reader is not None
    behind = capture.reader.behind()
    assert behind is not None
    assert behind.seconds == 0
    assert behind.bytes is not None
    assert behind.bytes < 100_000


def test_nothing_is_confirmed_that_is_not_committed(database: Database, capture: Capture) -> None:
    database.execute(TABLE)
    database.execute("insert into items values (1, 1)")
    capture.read(1)
    before = database.execute("select pg_current_wal_lsn()")[0][0]
    database.execute("insert into items values (2, 1)")
    seen = 0
    until = time.monotonic() + 1.5  # several heartbeats
    while time.monotonic() < until:
        chunk = capture.peek()
        seen += 0 if chunk is None else len(chunk.records)
    assert seen == 1
    assert database.execute("select %s::pg_lsn <= %s::pg_lsn", [confirmed(database), before]) == [(True,)]
    capture.close()
    assert capture.read(2)[-1].key == {"id": 2}


def test_a_slot_that_is_gone_or_moved(database: Database, capture: Capture) -> None:
    database.execute(TABLE)
    database.execute("insert into items values (1, 1)")
    capture.read(1)
    capture.close()
    database.execute("insert into items values (2, 1)")
    slot = database.execute("select slot_name from pg_replication_slots where database = %s", [database.name])[0][0]
    until_inactive(database)
    database.execute("select pg_replication_slot_advance(%s, pg_current_wal_lsn())", [slot])
    assert f"reset {capture.name}" in refusal(capture)
    database.execute("select pg_drop_replication_slot(%s)", [slot])
    said = refusal(capture)
    assert f"replication slot {slot} does not exist" in said
    assert f"reset {capture.name}" in said
    capture.position = None  # as reset does
    capture.records.clear()
    assert len(capture.read(2)) == 2


def until_inactive(database: Database) -> None:
    deadline = time.monotonic() + 10
    while database.execute("select 1 from pg_replication_slots where active and database = %s", [database.name]):
        assert time.monotonic() < deadline


def test_a_slot_that_somebody_reads(database: Database, capture: Capture) -> None:
    database.execute(TABLE)
    database.execute("insert into items values (1, 1)")
    capture.read(1)
    capture.peek()
    second = Capture(database, capture.name, tables=["public.items"])
    second.position = capture.position
    assert "in use by pid" in refusal(second)
    capture.close()
    second.open_when_free()
    database.execute("insert into items values (2, 1)")
    assert second.read(1)[0].key == {"id": 2}
    second.close()


def test_removing_gives_the_log_back(database: Database, capture: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("barnabas.connect.connectors.postgres.capture.opening._CLOSING_S", 0.2)
    database.execute(TABLE)
    capture.read_until(lambda _: capture.position is not None, "a position")
    source = PostgresSource(capture.name, capture.options)
    while not database.execute("select 1 from pg_replication_slots where active and database = %s", [database.name]):
        capture.peek()
    with pytest.raises(Unavailable, match="is active"):
        source.remove()
    monkeypatch.undo()
    capture.close()
    source.remove()
    source.remove()  # nothing is left
    assert database.execute("select 1 from pg_replication_slots where database = %s", [database.name]) == []
    assert database.execute("select 1 from pg_publication") == []


def test_a_reader_that_is_gone_without_a_word_is_ended(
    database: Database, capture: Capture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its connection stays open, as when a machine loses power, and it reports nothing."""
    database.execute(TABLE)
    database.execute("insert into items values (1, 1)")
    capture.read(1)
    while capture.peek() is not None:
        pass
    monkeypatch.setattr("barnabas.connect.connectors.postgres.capture.opening._SILENT_S", 0.5)
    second = Capture(database, capture.name, tables=["public.items"])
    second.position = capture.position
    time.sleep(0.6)  # the silence itself
    assert "was ended" in refusal(second)
    second.open_when_free()
    second.close()


def test_the_log_of_the_slot_is_removed(server: Postgres) -> None:
    server.execute("alter system set max_slot_wal_keep_size = '1MB'; ")
    server.execute("alter system set min_wal_size = '32MB'")
    server.execute("alter system set max_wal_size = '32MB'")
    server.execute("select pg_reload_conf()")
    database = Database(server, "postgres")
    database.execute(TABLE)
    capture = Capture(database, tables=["items"])
    capture.read_until(lambda _: capture.position is not None, "a position")
    capture.close()
    until_inactive(database)
    for _ in range(4):
        database.execute("select pg_switch_wal()")
        database.execute("insert into items select coalesce(max(id), 0) + 1 from items")
        database.execute("checkpoint")
    assert "max_slot_wal_keep_size" in refusal(capture)


# --- the server -----------------------------------------------------------------------------------------------------


def test_a_transaction_larger_than_a_chunk(database: Database, capture: Capture) -> None:
    """Delivered in parts, and gone on with in the middle of it."""
    database.execute(TABLE)
    capture.read_until(lambda _: capture.position is not None, "a position")
    database.execute("insert into items select i, i from generate_series(1, 30000) i")
    largest = 0
    while len(capture.records) < 30_000:
        chunk = capture.peek(1000)
        if chunk is not None:
            largest = max(largest, len(chunk.records))
            capture.take(chunk)
            if "open" in chunk.position and len(capture.records) % 7000 < 1000:
                capture.close()
    assert largest == 1000
    assert [each.key["id"] for each in capture.records] == list(range(1, 30_001))


def test_the_database_is_killed_under_load(server: Postgres) -> None:
    """What the writer knows to be committed comes, once. The reader is told in one line, and goes on."""
    database = Database(server, "postgres")
    database.execute("create table items (id serial primary key, n int)")
    done: list[int] = []
    stopping = threading.Event()

    def write() -> None:
        number = 0
        while not stopping.is_set():
            try:
                with server.connect() as connection:
                    while not stopping.is_set():
                        number += 1
                        connection.execute("insert into items (n) values (%s)", [number])
                        done.append(number)
            except psycopg.OperationalError:
                time.sleep(0.02)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    capture = Capture(database, tables=["items"])
    try:
        for round_ in range(3):
            capture.read_until(lambda records: len(records) > 200 * (round_ + 1), "records")  # noqa: B023
            server.kill()
            with pytest.raises(Unavailable, match=r"lost|connect|ended|read"):
                while True:
                    if (chunk := capture.peek()) is not None:
                        capture.take(chunk)
            capture.close()
            server.start()
    finally:
        stopping.set()
        writer.join(20)
    there = {row[0] for row in database.execute("select n from items")}
    capture.read_until(lambda records: len(records) >= len(there), "all rows")
    capture.close()
    delivered = [each.value["n"] for each in capture.records]
    assert len(delivered) == len(set(delivered))
    assert set(delivered) == there
    assert set(done) <= there


def test_a_server_that_shuts_down_is_not_held_up(server: Postgres) -> None:
    """It waits until a reader has confirmed everything."""
    database = Database(server, "postgres")
    database.execute(TABLE)
    database.execute("insert into items values (1, 1)")
    capture = Capture(database, tables=["items"], heartbeat_s=600)
    capture.read(1)
    database.execute("create table other (id int); insert into other values (1)")
    stopped = threading.Thread(target=server.stop, args=(60,))
    began = time.monotonic()
    stopped.start()
    with pytest.raises(Unavailable, match=r"ended|lost|closed the connection"):  # the last: before the stream begins
        while time.monotonic() < began + 50:
            if (chunk := capture.peek()) is not None:
                capture.take(chunk)
    stopped.join(30)
    assert time.monotonic() - began < 20
    capture.close()
    server.start()
    database.execute("insert into items values (2, 1)")
    assert [each.key["id"] for each in capture.read(2)] == [1, 2]
    capture.close()


def written(server: Postgres, capture: Capture, first: int, last: int) -> None:
    server.execute(f"insert into items select i, i from generate_series({first}, {last}) i")
    capture.read(last)


def test_a_database_that_was_restored_from_yesterday(server: Postgres) -> None:
    """Cold copies of the data, as a backup is: the log ends before what was delivered, and later it does not."""
    database = Database(server, "postgres")
    database.execute(TABLE)
    capture = Capture(database, tables=["items"])
    written(server, capture, 1, 5)
    capture.close()
    server.stop()
    backup = server.copy()
    try:
        server.start()
        slot = server.execute("select restart_lsn::text from pg_replication_slots")[0][0]
        written(server, capture, 6, 500)
        # The slot's own LSN moves when the server logs which transactions run, at a checkpoint too.
        deadline = time.monotonic() + 30
        while capture.position is None or lsn_of(capture.position["slot"]) <= lsn_of(slot):
            assert time.monotonic() < deadline
            server.execute("checkpoint; insert into items select max(id) + 1 from items")
            if (chunk := capture.peek()) is not None:
                capture.take(chunk)
        capture.close()
        server.stop()
        with backup:
            capture.options["url"] = backup.url()
            assert "restored from an older backup: its log ends at" in refusal(capture)
            assert capture.position is not None
            while backup.execute("select %s::pg_lsn >= pg_current_wal_lsn()", [capture.position["lsn"]])[0][0]:
                backup.execute("insert into items select i, i from generate_series(1001, 9000) i; delete from items")
            said = refusal(capture)
            assert "restored from an older backup: replication slot" in said
            assert f"reset {capture.name}" in said
    finally:
        backup.remove()


def test_a_server_that_was_promoted(server: Postgres) -> None:
    """A standby that has the slot and all that was delivered goes on; one that was behind does not."""
    database = Database(server, "postgres")
    database.execute(TABLE)
    capture = Capture(database, tables=["items"])
    written(server, capture, 1, 5)
    capture.close()
    server.stop()
    standby = server.copy(as_standby=True)
    with standby:
        standby.execute("select pg_promote()")
        at_the_time = capture.position
        capture.options["url"] = standby.url()
        written(standby, capture, 6, 10)
        assert capture.position is not None
        assert capture.position["timeline"] == 2
        capture.close()
    capture.options["url"] = server.url()
    server.start()
    assert "timeline 1" in refusal(capture)
    capture.position = at_the_time
    capture.records = capture.records[:5]
    written(server, capture, 6, 20)
    capture.close()
    server.stop()
    behind = server.copy(as_standby=True)
    server.start()
    written(server, capture, 21, 30)
    capture.close()
    with behind:
        behind.execute("select pg_promote()")
        capture.options["url"] = behind.url()
        said = refusal(capture)
        assert "restored or promoted" in said
        assert "timeline 2" in said


def test_another_server(capture: Capture, database: Database) -> None:
    database.execute(TABLE)
    database.execute("insert into items values (1, 1)")
    capture.read(1)
    capture.close()
    with Postgres(new_identity=True) as server:
        server.execute(TABLE)
        capture.options["url"] = server.url()
        assert "another PostgreSQL" in refusal(capture)


def test_a_transaction_that_runs_holds_up_the_snapshot(
    database: Database, capture: Capture, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("barnabas.connect.connectors.postgres.capture.reader._PATIENCE_S", 0.1)
    database.execute(TABLE)
    with database.server.connect(database.name) as writer, writer.transaction():
        writer.execute("insert into items values (1, 1)")
        capture.open()
        until = time.monotonic() + 0.5
        while time.monotonic() < until:
            assert capture.peek() is None
        assert f"pid {writer.info.backend_pid}" in caplog.text
    assert capture.read(1)[0].key == {"id": 1}


def test_a_commit_that_waits_for_a_standby_is_in_the_snapshot(server: Postgres) -> None:
    """Its record is in the log, and the stream is beyond it, but no query sees it yet: a table that is captured from
    now on must not be read before it is seen."""
    database = Database(server, "postgres")
    database.execute("create table a (id int primary key); create table b (id int primary key)")
    database.execute("create publication everything for all tables; insert into b values (1)")
    database.execute("insert into a values (0)")
    capture = Capture(database, tables=["a"], publication="everything", topic="{table}")
    capture.read(1)
    server.execute("alter system set synchronous_standby_names = 'nobody'")
    server.execute("select pg_reload_conf()")
    until(lambda: server.execute("show synchronous_standby_names") == [("nobody",)], "the setting counts")
    waiting = threading.Thread(target=server.execute, args=("insert into b values (2)",))
    waiting.start()
    until(
        lambda: bool(server.execute("select 1 from pg_stat_activity where wait_event = 'SyncRep'")),
        "the commit waits",
    )
    with server.connect() as connection:
        connection.execute("set synchronous_commit = local")
        connection.execute("insert into a values (1)")
    capture.read(2)
    capture.close()
    capture.options["tables"] = ["a", "b"]
    soon = time.monotonic() + 0.5
    while time.monotonic() < soon:
        assert capture.peek() is None
    server.execute("alter system reset synchronous_standby_names")
    server.execute("select pg_reload_conf()")
    waiting.join(20)
    capture.read(4)
    server.execute("insert into b values (3)")
    found = [(each.topic, each.key["id"]) for each in capture.read(5)]
    assert found == [("a", 0), ("a", 1), ("b", 1), ("b", 2), ("b", 3)]
    capture.close()
