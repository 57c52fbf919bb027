"""Writers and the server that are killed, logins that are wrong."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from barnabas.connect.connectors.s3.sink import S3Sink
from barnabas.connect.connectors.s3.source import S3Source
from barnabas.connect.errors import ConnectError, Unavailable
from tests.support.delivered import numbered
from tests.support.members import until
from tests.support.paths import ROOT
from tests.support.process import end
from tests.support.s3 import SECRET, S3Bucket, S3Process

SMALL: dict[str, Any] = {"prefix": "lake", "metadata": True, "object_records": 150}


@pytest.mark.parametrize("kills", [3, pytest.param(25, marks=pytest.mark.long)])
def test_a_killed_writer_leaves_each_offset_once(bucket: S3Bucket, kills: int) -> None:
    rng, last, done, lives = random.Random(kills), 600 * (kills + 1), 0, 0
    options = json.dumps({**bucket.options, **SMALL})
    while done < last:
        lives += 1
        command = [sys.executable, "-m", "tests.connect.s3.writing", options, "orders", str(last), str(lives)]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT, text=True)
        killer = threading.Timer(rng.uniform(0.001, 0.03), process.kill)  # anywhere in what comes next
        armed = lives > kills
        try:
            assert process.stdout is not None
            for line in process.stdout:
                done = max(done, int(line))
                if not armed and done > 500 * lives:
                    killer.start()
                    armed = True
        finally:
            end(process)
            killer.cancel()
        assert lives <= kills + 1
    assert lives > kills // 2
    rows = sorted(row["_offset"] for row in bucket.all_rows())
    assert rows == list(range(last))


@pytest.mark.parametrize("kills", [1, pytest.param(5, marks=pytest.mark.long)])
def test_a_server_that_is_killed_comes_back_with_everything(tmp_path: Path, kills: int) -> None:
    server = S3Process(tmp_path / "s3")
    server.start()
    try:
        bucket = server.bucket("restarted")
        sink = S3Sink("lake", {**bucket.options, **SMALL, "timeout_seconds": 2})
        durable, stop, troubles = [0], threading.Event(), list[str]()

        def run() -> None:
            while not stop.is_set():
                try:  # as the runtime does it: a writer that failed is closed, and the next one says where it stands
                    writer = sink.open("orders", 0)
                    at = writer.next_offset() or 0
                    while not stop.is_set():
                        writer.write(numbered(at, at + 30, step_ms=20_000), at + 30)
                        at += 30
                        durable[0] = writer.flush(False) or 0
                except Unavailable as problem:
                    troubles.append(str(problem))
                    time.sleep(0.1)
            writer.flush(True)
            durable[0] = at

        thread = threading.Thread(target=run)
        thread.start()
        try:
            for _ in range(kills):
                before = durable[0]
                until(lambda before=before: durable[0] > before + 300, "records are written")  # type: ignore[misc]
                known = len(troubles)
                server.kill()
                until(lambda known=known: len(troubles) > known, "the writer notices", 60)  # type: ignore[misc]
                server.start()
            until(lambda before=durable[0]: durable[0] > before + 300, "records are written again")  # type: ignore[misc]
        finally:
            stop.set()
            thread.join(60)
        assert sorted(row["_offset"] for row in bucket.all_rows()) == list(range(durable[0]))
        assert all("\n" not in each for each in troubles)
    finally:
        server.kill()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"secret_access_key": SECRET + "x"}, "Check 'access_key_id', 'secret_access_key' and the clock"),
        ({"access_key_id": "nobody"}, "the login is refused (403 InvalidAccessKeyId)"),
        ({"bucket": "no-such-bucket"}, "there is no such bucket. Create it"),
        ({"endpoint": "http://127.0.0.1:1"}, "Check 'endpoint' and that it runs"),
        ({"endpoint": "http://user:pass-word@127.0.0.1:1"}, "Check 'endpoint' and that it runs"),
    ],
)
def test_what_is_wrong_is_one_line_without_a_secret(bucket: S3Bucket, change: dict[str, str], said: str) -> None:
    options = {**bucket.options, "timeout_seconds": 5, **change}
    problems = []
    with pytest.raises(ConnectError) as caught:
        S3Sink("lake", options).open("orders", 0)
    problems.append(str(caught.value))
    with pytest.raises(ConnectError) as caught:
        S3Source("lake", options).open("0-of-1", None).read(10, 0)
    problems.append(str(caught.value))
    for problem in problems:
        assert said in problem
        assert "\n" not in problem
        assert "sesame" not in problem
        assert "pass-word" not in problem
        assert len(problem) < 400
