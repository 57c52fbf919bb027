"""Worker, node and source killed ten times each under load: every change once in the topic."""

from __future__ import annotations

import threading
import time
from pathlib import Path

import psycopg
import pytest

from tests.connect.chaos.kills import through_a_source
from tests.support.postgres import PASSWORD, Postgres

ROUNDS = 10
pytestmark = pytest.mark.long


class Inserting(threading.Thread):
    """1, 2, 3 ... as rows, one transaction each ten; what a kill leaves in doubt is looked up."""

    def __init__(self, database: Postgres) -> None:
        super().__init__(daemon=True)
        self._database = database
        self._ending = threading.Event()
        self.count = 0

    def run(self) -> None:
        while not self._ending.is_set():
            try:
                with self._database.connect() as connection:
                    self.count = connection.execute("select coalesce(max(n), 0) from numbers").fetchone()[0]  # type: ignore[index]
                    connection.commit()
                    while not self._ending.wait(0.005):
                        connection.execute(
                            "insert into numbers select n, 'number ' || n from generate_series(%s::int, %s::int) n",
                            [self.count + 1, self.count + 10],
                        )
                        connection.commit()
                        self.count += 10
            except psycopg.Error:
                time.sleep(0.05)

    def stop(self) -> int:
        self._ending.set()
        self.join()
        rows: int = self._database.execute("select count(*) from numbers")[0][0]
        return rows


def test_postgres(tmp_path: Path) -> None:
    with Postgres() as database:
        database.execute("create table numbers (n integer primary key, text text)")
        inserting = Inserting(database)
        definition = f"""
name: numbers-source
from: {{postgres: {{url: "{database.url()}", password: "{PASSWORD}", tables: [public.numbers]}}}}
to: {{topic: numbers, partitions: 3}}
"""
        through_a_source(tmp_path, definition, database, inserting.start, inserting.stop, ROUNDS)


def test_logs(tmp_path: Path) -> None:
    folder = tmp_path / "log"
    folder.mkdir()
    ending = threading.Event()
    written = [0]

    def write() -> None:
        """Lines of a file that is rotated every few thousand."""
        while not ending.is_set():
            with (folder / "service.log").open("a") as file:
                for _ in range(3000):
                    written[0] += 1
                    file.write(f'{{"n": {written[0]}}}\n')
                    if written[0] % 10 == 0:
                        file.flush()
                        if ending.wait(0.005):
                            break
            if not ending.is_set():
                (folder / "service.log").rename(folder / f"service.log.{written[0]}")

    writing = threading.Thread(target=write, daemon=True)

    def end() -> int:
        ending.set()
        writing.join()
        return written[0]

    definition = f"""
name: numbers-logs
from: {{logs: {{paths: ["{folder}/service.log*"], pattern: json}}}}
to: {{topic: numbers, partitions: 3}}
"""
    through_a_source(tmp_path, definition, None, writing.start, end, ROUNDS)


def test_sql(tmp_path: Path) -> None:
    with Postgres() as database:
        database.execute("create table numbers (n integer primary key, text text)")
        inserting = Inserting(database)
        definition = f"""
name: numbers-sql
from:
  sql: {{url: "{database.url()}", password: "{PASSWORD}", tables: [numbers], increasing: n, interval: 0.2}}
to: {{topic: numbers, partitions: 3}}
"""
        through_a_source(tmp_path, definition, database, inserting.start, inserting.stop, ROUNDS)
