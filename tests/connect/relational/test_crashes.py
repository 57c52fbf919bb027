"""Workers and servers are killed while they write: in the end the tables are what one undisturbed run would have made
of them, no row missing and none twice."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time

import pytest

from barnabas.connect.errors import Unavailable
from tests.connect.relational.targets import PostgresTarget, Target, record
from tests.connect.relational.writing import expected_rows
from tests.support.members import until
from tests.support.paths import ROOT
from tests.support.postgres import Postgres
from tests.support.process import end


def run(target: Target, total: int, seed: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "tests.connect.relational.writing"]
    return subprocess.Popen(
        [*command, target.kind, json.dumps(target.options()), str(total), str(seed)],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )


def check(target: Target, total: int) -> None:
    assert dict(target.execute("select id, n from upserts")) == expected_rows(total)
    rows = target.execute("select count(*), count(distinct n), min(n), max(n), count(later) from appends")
    assert rows == [(total, total, 0, total - 1, max(0, total - 3001))]
    assert target.execute("select connector, next_offset from barnabas_offsets order by 1") == [
        ("appends", total),
        ("upserts", total),
    ]


@pytest.mark.parametrize("kills", [2, pytest.param(10, marks=pytest.mark.long)])
def test_kill_of_the_worker(target: Target, kills: int) -> None:
    target.execute("create table upserts (id bigint primary key, n bigint check (n >= 0), text varchar)")
    choose = random.Random(kills)
    total = 5000 * kills
    for seed in range(kills):
        worker = run(target, total, seed)
        try:
            assert worker.stdout is not None
            for _ in range(choose.randrange(1, 6)):
                assert worker.stdout.readline(), "it ended by itself"
            time.sleep(choose.random() / 20)  # anywhere within a batch
        finally:
            end(worker)
    last = run(target, total, 99)
    out, _ = last.communicate(timeout=120)
    assert last.returncode == 0, out
    check(target, total)


def test_kill_of_the_server() -> None:
    """While a worker writes, the server dies and comes back, three times; the writer is used on, as the runtime may."""
    with Postgres() as server:
        target = PostgresTarget(server, "target")
        sink = target.sink(mode="append")
        writer, at, errors, stop = sink.open("orders", 0), 0, list[str](), threading.Event()

        def work() -> None:
            nonlocal at
            while not stop.is_set():
                # From a little earlier: the runtime's own offset may be behind.
                begin = max(0, at - 20)
                try:
                    writer.write([record(n, {"n": n}) for n in range(begin, at + 50)], at + 50)
                    at += 50
                except Unavailable as problem:
                    errors.append(str(problem))
                    stop.wait(0.05)

        worker = threading.Thread(target=work)
        worker.start()
        try:
            for _ in range(3):
                before = at
                until(lambda before=before: at > before + 500, "batches are written")  # type: ignore[misc]
                server.kill()
                seen = len(errors)
                until(lambda seen=seen: len(errors) > seen, "the writer has noticed")  # type: ignore[misc]
                server.start()
            before = at
            until(lambda: at > before + 200, "batches are written again")
        finally:
            stop.set()
            worker.join()
        assert target.execute("select count(*), count(distinct n), max(n) from orders") == [(at, at, at - 1)]
        assert all(error.startswith(f"PostgreSQL 127.0.0.1:{server.port}/target: ") for error in errors)
        target.close()
