"""Worker, node and source killed ten times each under load: every change once in the topic."""

from __future__ import annotations

import json
import threading
import time
from pathlib import Path

import obstore
import psycopg
import pytest

from barnabas import Admin
from tests.connect.chaos.kills import ROUNDS, Numbers, through_a_source
from tests.connect.chaos.making import Making
from tests.support.figures import Figure
from tests.support.postgres import PASSWORD, Postgres
from tests.support.process import free_port
from tests.support.s3 import S3Bucket, S3Process
from tests.support.servers import BarnabasNode

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


def test_postgres(tmp_path: Path, figure: Figure) -> None:
    with Postgres() as database:
        database.execute("create table numbers (n integer primary key, text text)")
        inserting = Inserting(database)
        definition = f"""
name: numbers-source
from: {{postgres: {{url: "{database.url()}", password: "{PASSWORD}", tables: [public.numbers]}}}}
to: {{topic: numbers, partitions: 3}}
"""
        count = through_a_source(tmp_path, definition, database, inserting.start, inserting.stop, ROUNDS)
        figure("connect-kills", postgres_source=count)


def test_logs(tmp_path: Path, figure: Figure) -> None:
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
    count = through_a_source(tmp_path, definition, None, writing.start, end, ROUNDS)
    figure("connect-kills", logs_source=count)


def test_sql(tmp_path: Path, figure: Figure) -> None:
    with Postgres() as database:
        database.execute("create table numbers (n integer primary key, text text)")
        inserting = Inserting(database)
        definition = f"""
name: numbers-sql
from:
  sql: {{url: "{database.url()}", password: "{PASSWORD}", tables: [numbers], increasing: n, interval: 0.2}}
to: {{topic: numbers, partitions: 3}}
"""
        count = through_a_source(tmp_path, definition, database, inserting.start, inserting.stop, ROUNDS)
        figure("connect-kills", sql_source=count)


def test_another_cluster(tmp_path: Path, figure: Figure) -> None:
    other = BarnabasNode(tmp_path / "other")
    try:
        other.start()
        with Admin(other.bootstrap) as admin:
            admin.create_topic("numbers", partitions=3)
        numbers = Numbers(other.bootstrap, "numbers")
        definition = f"""
name: copy
from: {{kafka: {{bootstrap: "{other.bootstrap}", topics: [numbers]}}}}
to: {{topic: numbers, partitions: 3}}
"""
        count = through_a_source(tmp_path, definition, other, numbers.start, numbers.stop, ROUNDS)
        figure("connect-kills", kafka_source=count)
    finally:
        other.stop()


def test_files(tmp_path: Path, figure: Figure) -> None:
    """The third that is killed is the program that writes the files."""
    folder = tmp_path / "files"
    folder.mkdir()
    making = Making("files", str(folder), tmp_path)
    definition = f"""
name: lines
from: {{files: {{folder: "{folder}", settle_s: 0.1}}}}
to: {{topic: numbers, partitions: 3}}
"""
    try:
        count = through_a_source(tmp_path, definition, making, making.begin, making.end, ROUNDS)
        figure("connect-kills", files_source=count)
    finally:
        making.kill()


def test_webhook(tmp_path: Path, figure: Figure) -> None:
    """The third that is killed is the sender. It names its requests, so that those it sends again are known."""
    port = free_port()
    making = Making("webhook", f"127.0.0.1:{port}", tmp_path)
    definition = f"""
name: hook
from: {{http: {{port: {port}}}}}
to: {{topic: numbers, partitions: 3}}
"""
    try:
        count = through_a_source(tmp_path, definition, making, making.begin, making.end, ROUNDS)
        figure("connect-kills", http_source=count)
    finally:
        making.kill()


class Putting(threading.Thread):
    """1, 2, 3 ... as objects of a hundred, each put until it is there."""

    def __init__(self, bucket: S3Bucket) -> None:
        super().__init__(daemon=True)
        self._bucket = bucket
        self._ending = threading.Event()
        self.count = 0

    def run(self) -> None:
        while not self._ending.wait(0.1):
            numbers = range(self.count + 1, self.count + 101)
            self._put(f"{self.count:09}.jsonl", b"".join(b'{"n": %d}\n' % number for number in numbers))
            self.count += 100

    def _put(self, name: str, data: bytes) -> None:
        """One that is there is not written again: that would be another object."""
        while True:
            try:
                obstore.put(self._bucket.store, name, data, mode="create")
                return
            except obstore.exceptions.AlreadyExistsError:
                return
            except obstore.exceptions.BaseError:
                time.sleep(0.05)

    def stop(self) -> int:
        self._ending.set()
        self.join()
        return self.count


def test_s3(tmp_path: Path, figure: Figure) -> None:
    server = S3Process(tmp_path / "s3")
    try:
        server.start()
        bucket = server.bucket("numbers")
        putting = Putting(bucket)
        definition = f"""
name: objects
from: {{s3: {json.dumps({**bucket.options, "poll_seconds": 0.5})}}}
to: {{topic: numbers, partitions: 3}}
"""
        count = through_a_source(tmp_path, definition, server, putting.start, putting.stop, ROUNDS)
        figure("connect-kills", s3_source=count)
    finally:
        server.stop()
