"""What is checked before anything is read: the server, its history, the publication, the slot, the options."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from barnabas.connect.connectors.postgres.capture import opening
from barnabas.connect.connectors.postgres.capture.options import default_name
from barnabas.connect.connectors.postgres.source import PostgresSource
from barnabas.connect.contract import Position, Value
from barnabas.connect.errors import BadOption, Unavailable
from tests.support.fake_postgres import FakePostgres, Refused
from tests.unit.connect.postgres.captured import SYSTEM, Capture, Captured, Slot, items

POSITION: Position = {
    "system": SYSTEM,
    "timeline": 3,
    "slot": "0/150",
    "lsn": "0/200",
    "tables": {"public.items": {"oid": 16388}},
}


@pytest.fixture
def database() -> Iterator[Captured]:
    """As a connector left it that stood at POSITION."""
    made = Captured()
    made.tables["public", "items"] = items()
    made.publications["barnabas_shop"] = {("public", "items")}
    made.slots["barnabas_shop"] = Slot(restart=0x180, confirmed=0x200)
    made.timeline = 3
    yield made
    made.close()


def opened(database: Captured, position: Position | None = None, **options: Value) -> None:
    capture = Capture(database, **options)
    capture.position = position
    try:
        capture.open()
    finally:
        capture.close()


def test_it_goes_on_where_it_stood(database: Captured) -> None:
    opened(database, POSITION)
    assert not any("CREATE_REPLICATION_SLOT" in each for each in database.server.asked)


def other_system(database: Captured) -> None:
    database.system = "1"


def older_timeline(database: Captured) -> None:
    database.timeline = 2


def shorter_log(database: Captured) -> None:
    database.lsn = 0x1FF


def promoted_before(database: Captured) -> None:
    database.timeline, database.history = 5, "1\t0/50\tx\n3\t0/1F0\tno recovery target specified\n4\t0/900\tx\n"


def promoted_elsewhere(database: Captured) -> None:
    database.timeline, database.history = 5, "4\t0/900\tx\n"


def older_slot(database: Captured) -> None:
    database.slots["barnabas_shop"].restart = 0x140


def no_slot(database: Captured) -> None:
    database.slots.clear()


def other_plugin(database: Captured) -> None:
    database.slots["barnabas_shop"].plugin = "wal2json"


def lost_slot(database: Captured) -> None:
    database.slots["barnabas_shop"].lost = True


def slot_beyond(database: Captured) -> None:
    database.slots["barnabas_shop"].confirmed = 0x300


def slot_in_use(database: Captured) -> None:
    database.slots["barnabas_shop"].pid = 99


def slot_of_a_silent_reader(database: Captured) -> None:
    database.slots["barnabas_shop"].pid, database.is_silent = 99, True


def no_logical_log(database: Captured) -> None:
    database.wal_level = "replica"


def too_old(database: Captured) -> None:
    database.server.version = "13.9"


@pytest.mark.parametrize(
    ("happened", "said"),
    [
        (other_system, "this is another PostgreSQL: its system identifier is 1"),
        (older_timeline, "restored from an older backup: it is on timeline 2, the position on 3"),
        (shorter_log, "its log ends at 0/1FF, and changes up to 0/200 were delivered"),
        (promoted_before, "restored or promoted at 0/1F0 (timeline 5), before what was already delivered (0/200)"),
        (promoted_elsewhere, "restored or promoted at 0/0 (timeline 5)"),
        (older_slot, "replication slot barnabas_shop is back at 0/140, it was at 0/150 before"),
        (no_slot, "replication slot barnabas_shop does not exist any more, so changes after 0/200 are lost"),
        (other_plugin, "is of plugin 'wal2json' and database 'shop'"),
        (lost_slot, "PostgreSQL has removed log that replication slot barnabas_shop needs"),
        (slot_beyond, "is at 0/300, beyond what was delivered (0/200)"),
        (slot_in_use, "replication slot barnabas_shop is in use by pid 99"),
        (slot_of_a_silent_reader, "was held by a reader that is gone (pid 99), which was ended"),
        (no_logical_log, "wal_level of PostgreSQL is replica"),
        (too_old, "PostgreSQL 13 is too old"),
    ],
)
def test_what_does_not_fit_the_position_is_told(
    database: Captured, happened: Callable[[Captured], None], said: str
) -> None:
    happened(database)
    with pytest.raises(Unavailable) as problem:
        opened(database, POSITION)
    assert said in str(problem.value)


def test_a_standby_that_was_promoted_after_what_was_delivered_goes_on(database: Captured) -> None:
    database.timeline, database.history = 4, "3\t0/200\tno recovery target specified\n"
    database.slots["barnabas_shop"].restart = 0x100  # its own, which may be behind
    opened(database, POSITION)


def test_a_position_that_cannot_be_read(database: Captured) -> None:
    with pytest.raises(Unavailable, match="the position of connector shop cannot be read"):
        opened(database, {**POSITION, "lsn": "somewhere"})


@pytest.mark.parametrize(
    ("slot", "goes_on"),
    [(Slot(), True), (Slot(lost=True), False), (Slot(backlog=1 << 40), False)],
    ids=["useful", "lost", "far behind"],
)
def test_a_slot_of_an_earlier_life(database: Captured, slot: Slot, goes_on: bool) -> None:
    """Without a position, one with its own name is dropped where it would not help."""
    database.slots["barnabas_shop"] = slot
    opened(database)
    assert ("barnabas_shop" in database.slots) == goes_on
    database.slots["theirs"] = Slot(lost=True)
    opened(database, slot="theirs")  # a name that somebody gave is theirs to drop
    assert "theirs" in database.slots


def test_a_slot_is_dropped_that_is_older_than_its_publication(database: Captured) -> None:
    database.publications.clear()
    opened(database)
    assert "barnabas_shop" not in database.slots


def test_what_an_earlier_life_left_is_removed(database: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_CLOSING_S", 0.2)
    database.slots["barnabas_shop"].pid = 5  # of a reader that has not quite gone
    PostgresSource("shop", {"url": database.server.url(), "tables": ["items"]}).remove()
    assert database.slots == {} and database.publications == {}
    database.slots["theirs"], database.publications["ours"] = Slot(), {("public", "items")}
    named = {"slot": "theirs", "publication": "ours"}
    PostgresSource("shop", {"url": database.server.url(), **named}).remove()
    assert set(database.slots) == {"theirs"} and set(database.publications) == {"ours"}


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        (["public.gone"], "there is no table public.gone in database shop"),
        (["sales.*"], "no table matches sales.*"),
        (["loose"], "table public.loose has no primary key"),
    ],
)
def test_tables_that_cannot_be_captured(database: Captured, tables: list[str], said: str) -> None:
    database.tables["public", "loose"] = items(oid=16400, keys=[])
    with pytest.raises(Unavailable) as problem:
        opened(database, tables=tables)
    assert said in str(problem.value)


def test_a_publication_without_tables_and_one_of_partitions(database: Captured) -> None:
    with pytest.raises(Unavailable, match="publication empty does not exist or has no tables"):
        opened(database, publication="empty")
    database.publications["barnabas_shop"] = {("public", "items_1"), ("public", "items")}
    database.tables["public", "orders"] = items(oid=16400)
    database.refused["alter publication"] = Refused("42501", "must be owner of publication barnabas_shop")
    with pytest.raises(Unavailable) as problem:
        opened(database, tables=["public.orders"])
    assert "publication barnabas_shop lacks public.orders: must be owner" in str(problem.value)
    assert "as its owner" in str(problem.value)


def test_a_table_that_was_captured_and_is_gone_holds_up_no_other(database: Captured) -> None:
    position = {**POSITION, "tables": {"public.items": {"oid": 16388}, "public.gone": {"oid": 3}}}
    opened(database, position, tables=["public.items", "public.gone"])


def test_logins_that_are_refused_say_so_without_the_password(database: Captured) -> None:
    database.server.password = "sesame"
    with pytest.raises(Unavailable) as problem:
        opened(database, password="wrong-word")
    assert "password authentication failed" in str(problem.value) and "Check user and password" in str(problem.value)
    assert "wrong-word" not in str(problem.value)
    opened(database, POSITION, password="sesame")


def test_a_user_who_may_not_replicate(database: Captured, monkeypatch: pytest.MonkeyPatch) -> None:
    from barnabas.connect.connectors.postgres.capture.connection import Server

    connect = Server.connect_for_replication

    def refused(server: Server) -> object:
        database.server.refuse_login = Refused("42501", "permission denied to start WAL sender", fatal=True)
        return connect(server)

    monkeypatch.setattr(Server, "connect_for_replication", refused)
    with pytest.raises(Unavailable, match=r"for replication: .*permission denied to start WAL sender") as problem:
        opened(database, POSITION)
    assert "REPLICATION lets the user read changes" in str(problem.value)


def test_nobody_listens() -> None:
    with FakePostgres(lambda login, text, given: pytest.fail(text)) as server:
        url = server.url()
    with pytest.raises(Unavailable, match=r"cannot connect to PostgreSQL at 127\.0\.0\.1:\d+/shop"):
        PostgresSource("shop", {"url": url, "tables": ["a"]}).open("main", None)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "needs the option 'tables'"),
        ({"tables": ["a.b.c"]}, "'a.b.c' is no name of a table"),
        ({"tables": ["a"], "slot": "My-Slot"}, "has other characters than a-z, 0-9 and _"),
        ({"tables": ["a"], "heartbeat_s": 0}, "It is from 0.1 to 3600"),
        ({"tables": ["a"], "truncate": "event"}, "event needs envelope: debezium"),
        ({"tables": ["a"], "topic": "{database}"}, "has other fields than {schema} and {table}"),
        ({"tables": ["a"], "url": "mysql://x"}, "is no address of a PostgreSQL database"),
        ({"tables": ["a"], "url": "postgresql://h:port/d"}, "has the port 'port'"),
        ({"tables": ["a"], "url": "postgresql://h/d?replication=database"}, "leave out replication"),
    ],
)
def test_options_that_cannot_be_right(options: dict[str, Value], said: str) -> None:
    with pytest.raises(BadOption) as problem:
        PostgresSource("shop", {"url": "postgresql://ann@127.0.0.1/shop", **options})
    assert said in str(problem.value)


def test_names_of_slots_meet_for_no_two_connectors() -> None:
    names = ["shop", "Shop", "shop-1", "shop_1", "x" * 70, "x" * 71]
    made = [default_name(each) for each in names]
    assert len(set(made)) == len(names)
    assert all(len(each) <= 63 for each in made)
    assert made[0] == "barnabas_shop"
