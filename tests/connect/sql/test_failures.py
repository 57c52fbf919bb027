"""What can be wrong with the database, in one clear line without the password."""

from __future__ import annotations

import pytest

from barnabas.connect.connectors.sql.source import SqlSource
from barnabas.connect.errors import Unavailable
from tests.connect.sql.conftest import PostgresDatabase
from tests.connect.sql.rows import Following
from tests.support.postgres import PASSWORD, Postgres
from tests.support.process import free_port

BY_ID = {"tables": ["orders"], "increasing": "id"}


def test_what_is_not_there(postgres: PostgresDatabase) -> None:
    with pytest.raises(Unavailable, match=r"has no table orders. Create it"):
        postgres.source(**BY_ID).open("orders", None)
    postgres.execute("create table orders (id int primary key, name text)")
    with pytest.raises(Unavailable, match=r"has no column number. It has: id, name"):
        postgres.source(tables=["orders"], increasing="number").open("orders", None).read(1, 0)
    with pytest.raises(Unavailable, match=r"column name of orders in .* is TEXT, and no timestamp"):
        postgres.source(tables=["orders"], timestamp="name").open("orders", None)
    with pytest.raises(Unavailable, match='column "nothing" does not exist'):
        postgres.source(queries={"q": "select nothing"}, increasing="x").open("q", None).read(1, 0)


def test_a_wrong_password_and_a_server_that_is_down(postgres: PostgresDatabase) -> None:
    wrong = SqlSource("orders", {**postgres.options, **BY_ID, "password": "not-the-password"})
    with pytest.raises(Unavailable) as caught:
        wrong.open("orders", None)
    assert "password authentication failed" in str(caught.value) and "not-the-password" not in str(caught.value)
    assert "\n" not in str(caught.value) and PASSWORD not in str(caught.value)
    wrong.close()
    port = free_port()
    down = SqlSource("orders", {"url": f"postgresql://u:{PASSWORD}@127.0.0.1:{port}/x", **BY_ID})
    with pytest.raises(Unavailable) as caught:
        down.open("orders", None)
    assert f"postgresql 127.0.0.1:{port}/x: " in str(caught.value) and PASSWORD not in str(caught.value)
    down.close()


# SQLAlchemy leaves the cursor of a connection that was lost to the collector, where psycopg warns of it.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_server_that_is_killed_and_comes_back() -> None:
    with Postgres() as server:
        database = PostgresDatabase(server)
        database.execute("create table orders (id bigserial primary key)")
        database.execute("insert into orders select from generate_series(1, 50)")
        following = Following(database.source(**BY_ID), most=20)
        following.until(lambda: len(following.records) == 50, "the rows")
        server.kill()
        with pytest.raises(Unavailable):
            for _ in range(100):
                following.once()
        server.start()
        database.execute("insert into orders select from generate_series(1, 50)")
        # The pool may have more connections that are gone: each is noticed once.
        for _ in range(10):
            try:
                following.restart()
                following.until(lambda: len(following.records) >= 100, "the rows after the crash")
                break
            except Unavailable:
                continue
        # Numbers of a sequence are taken from the log 32 at a time, so that a crash leaves a gap.
        expected = [number for (number,) in database.execute("select id from orders order by id")]
        assert following.values("id") == expected
        database.close()
