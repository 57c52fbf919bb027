"""PostgreSQL 17 with a standby that has the slot, too: the primary dies, the standby is promoted, and the source goes
on there with what comes next."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from barnabas.connect.errors import Unavailable
from tests.connect.postgres.capturing import Capture, Database
from tests.support.members import until
from tests.support.postgres import NEWER, PASSWORD, Postgres

pytestmark = [pytest.mark.long, pytest.mark.timeout(180)]


@pytest.fixture
def pair() -> Iterator[tuple[Postgres, Postgres]]:
    primary = Postgres(programs=NEWER)
    with primary:
        primary.execute("create table items (id int primary key, n int)")
        primary.execute("select pg_create_physical_replication_slot('standby')")
        primary.stop()
        standby = primary.copy(as_standby=True)
        with (standby.data / "postgresql.auto.conf").open("a") as settings:
            address = f"host=127.0.0.1 port={primary.port} user=postgres password={PASSWORD} dbname=postgres"
            settings.write(f"primary_conninfo = '{address}'\nprimary_slot_name = 'standby'\n")
            settings.write("hot_standby_feedback = on\nsync_replication_slots = on\n")
        with (primary.data / "postgresql.auto.conf").open("a") as settings:
            settings.write("synchronized_standby_slots = 'standby'\n")  # nothing is delivered that the standby lacks
        primary.start()
        with standby:
            yield primary, standby


def is_synchronised(primary: Postgres, standby: Postgres, capture: Capture) -> bool:
    """The slot is of use on a standby only when it has moved on the primary."""
    primary.execute("checkpoint; insert into items select max(id) + 1, 0 from items")
    if (chunk := capture.peek()) is not None:
        capture.take(chunk)
    return bool(standby.execute("select 1 from pg_replication_slots where synced and not temporary"))


def test_a_standby_is_promoted(pair: tuple[Postgres, Postgres]) -> None:
    primary, standby = pair
    capture = Capture(Database(primary, "postgres"), tables=["items"])
    primary.execute("insert into items select i, i from generate_series(1, 1000) i")
    capture.read(1000)
    until(lambda: is_synchronised(primary, standby, capture), "the standby has the slot", 120)
    primary.execute("insert into items select i, i from generate_series(10001, 11000) i")
    capture.read_until(lambda records: records[-1].key["id"] > 10_500, "a part of what is written last", most=100)
    primary.kill()
    with pytest.raises(Unavailable):
        while True:
            if (chunk := capture.peek()) is not None:
                capture.take(chunk)
    capture.close()
    standby.execute("select pg_promote()")
    standby.execute("insert into items select i, i from generate_series(20001, 20100) i")
    capture.options["url"] = standby.url()
    deadline = time.monotonic() + 30
    while True:
        try:
            capture.open()
            break
        except Unavailable:
            assert time.monotonic() < deadline
            time.sleep(0.1)
    there = {row[0] for row in standby.execute("select id from items")}
    capture.read_until(lambda records: len(records) >= len(there), "everything")
    capture.close()
    assert sorted(each.key["id"] for each in capture.records) == sorted(there)
    assert capture.position is not None
    assert capture.position["timeline"] == 2
