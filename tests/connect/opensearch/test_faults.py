"""Writers and the server that are killed, a server that is busy, full or closed to us."""

from __future__ import annotations

import ssl
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from barnabas.connect.connectors.opensearch.sink import OpensearchSink
from barnabas.connect.errors import ConnectError, Unavailable
from tests.connect.opensearch.test_documents import writing
from tests.support.certificates import Authority
from tests.support.delivered import delivered, numbered
from tests.support.members import until
from tests.support.opensearch import OpenSearchProcess, proxied
from tests.support.paths import ROOT
from tests.support.process import end

BUSY = b'{"error":{"type":"circuit_breaking_exception","reason":"[parent] Data too large"},"status":429}'


@pytest.mark.parametrize("kills", [4, pytest.param(10, marks=pytest.mark.long)])
def test_a_killed_writer_leaves_each_offset_once(opensearch: OpenSearchProcess, index: str, kills: int) -> None:
    done, last, lives = 0, 800 * (kills + 1), 0
    command = [sys.executable, "-m", "tests.connect.opensearch.writing", opensearch.url, index]
    while done < last:
        lives += 1
        first = max(0, done - 137)  # what was written, and not yet known to be, comes again
        process = subprocess.Popen(
            [*command, *map(str, (first, last, lives))], stdout=subprocess.PIPE, cwd=ROOT, text=True
        )
        try:
            assert process.stdout is not None
            for line in process.stdout:
                done = int(line)
                if lives <= kills and done > lives * 700:
                    process.kill()  # between this line and the next: in the middle of a request, mostly
        finally:
            end(process)
        assert lives <= kills or process.returncode == 0
    assert lives == kills + 1
    found = opensearch.documents(index)
    assert sorted(document["kafka"]["offset"] for document in found.values()) == list(range(last))


@pytest.mark.long
def test_a_server_that_is_killed_comes_back_with_everything(opensearch: OpenSearchProcess, index: str) -> None:
    written, stop, troubles = [0], threading.Event(), []

    def run() -> None:
        with writing(opensearch.url, index, retry_seconds=0.5, timeout_seconds=5) as writer:
            while not stop.is_set():
                upto = written[0] + 20
                try:
                    assert not writer.write(numbered(written[0], upto), upto)
                    written[0] = upto
                except Unavailable as problem:
                    troubles.append(str(problem))
                    time.sleep(0.2)

    thread = threading.Thread(target=run)
    thread.start()
    try:
        for kill in range(3):
            before = written[0]
            until(lambda before=before: written[0] >= before + 100, "records are written")  # type: ignore[misc]
            known = len(troubles)
            opensearch.kill()
            until(lambda known=known: len(troubles) > known, f"the writer notices kill {kill}")  # type: ignore[misc]
            opensearch.start()
        until(lambda before=written[0]: written[0] >= before + 100, "records are written again")  # type: ignore[misc]
    finally:
        stop.set()
        thread.join(30)
    assert "cannot be reached" in troubles[0]
    assert len(opensearch.documents(index)) == written[0]


def test_shards_that_are_busy_get_their_records_later(opensearch: OpenSearchProcess, index: str) -> None:
    """More shards than the node's queue holds: OpenSearch refuses some records of a request with 429."""
    shards = {"settings": {"number_of_shards": 24, "number_of_replicas": 0}}
    assert opensearch.ask("PUT", f"/{index}", shards)[0] == 200
    with proxied(opensearch.port, lambda *_: None) as proxy:
        with writing(f"http://127.0.0.1:{proxy.port}", index) as writer:
            asked, requests = proxy.requests, 2
            for part in range(requests):
                assert not writer.write(numbered(part * 500, part * 500 + 500), part * 500 + 500)
        assert proxy.requests - asked > requests, "none was refused"
    assert len(opensearch.documents(index)) == 1000


def test_requests_that_are_refused_as_busy_are_sent_again(opensearch: OpenSearchProcess, index: str) -> None:
    def sometimes(number: int, path: str, headers: dict[str, str]) -> tuple[int, bytes] | None:
        return {0: (429, BUSY), 1: (503, b"")}.get(number % 3) if path.startswith("/_bulk") else None

    with proxied(opensearch.port, sometimes) as proxy, writing(f"http://127.0.0.1:{proxy.port}", index) as writer:
        for part in range(4):
            assert not writer.write(numbered(part * 10, part * 10 + 10), part * 10 + 10)
    assert len(opensearch.documents(index)) == 40

    with (
        proxied(opensearch.port, lambda number, path, _: (429, BUSY) if "_bulk" in path else None) as proxy,
        writing(f"http://127.0.0.1:{proxy.port}", index, retry_seconds=0.5) as writer,
        pytest.raises(Unavailable, match=r"is busy: 429 circuit_breaking_exception: \[parent\] Data too large"),
    ):
        writer.write(numbered(40, 50), 50)


def test_a_node_that_is_gone_is_left_for_another(opensearch: OpenSearchProcess, index: str) -> None:
    url = f"http://127.0.0.1:1, {opensearch.url}"
    for partition in range(4):  # writers begin with different nodes
        with writing(url, index, partition) as writer:
            assert not writer.write([delivered(0, {"n": partition}, f"p{partition}", partition=partition)], 1)
    assert len(opensearch.documents(index)) == 4


def test_a_node_that_does_not_answer(opensearch: OpenSearchProcess, index: str) -> None:
    release = threading.Event()

    def hang(number: int, path: str, headers: dict[str, str]) -> tuple[int, bytes] | None:
        if number == 2:
            release.wait(10)
        return None

    with proxied(opensearch.port, hang) as proxy:
        with writing(f"http://127.0.0.1:{proxy.port}", index, timeout_seconds=0.5) as writer:
            assert not writer.write(numbered(0, 10), 10)
        release.set()
    assert len(opensearch.documents(index)) == 10


def test_a_wrong_login_is_one_line_without_the_password(
    opensearch: OpenSearchProcess, index: str, tmp_path: Path
) -> None:
    authority = Authority(tmp_path)
    certificate = authority.issue("opensearch")
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(certificate.certificate, certificate.key)

    def guard(number: int, path: str, headers: dict[str, str]) -> tuple[int, bytes] | None:
        return None if headers.get("Authorization") == "Basic YXBwOnJpZ2h0" else (401, b"Unauthorized")  # app:right

    with proxied(opensearch.port, guard, tls) as proxy:
        address = f"127.0.0.1:{proxy.port}"
        wrong = {"url": f"https://{address}", "username": "app", "password": "sesame-42", "ca": str(authority.file)}
        said = problem_of(wrong)
        assert said.startswith(f"opensearch at https://{address} refuses the login (401). Check 'username'")
        assert "sesame-42" not in said + repr(OpensearchSink("s", wrong)._settings)
        assert "sesame-42" not in problem_of({**wrong, "url": f"https://app:sesame-42@{address}", "username": ""})
        assert "its certificate is not trusted" in problem_of({**wrong, "ca": ""})
        with writing(f"https://{address}", index, username="app", password="right", ca=str(authority.file)) as writer:
            assert not writer.write(numbered(0, 10), 10)
    assert len(opensearch.documents(index)) == 10


def problem_of(options: dict[str, str]) -> str:
    with pytest.raises(ConnectError) as caught:
        OpensearchSink("search", options).open("orders", 0)
    said = str(caught.value)
    assert "\n" not in said
    return said


def test_a_full_disk_a_closed_index_and_one_that_must_not_be_made(opensearch: OpenSearchProcess, index: str) -> None:
    with writing(opensearch.url, index) as writer:
        assert not writer.write(numbered(0, 10), 10)
        block = "index.blocks.read_only_allow_delete"
        assert opensearch.ask("PUT", f"/{index}/_settings", {block: True})[0] == 200
        with pytest.raises(Unavailable, match=r"disk usage exceeded flood-stage watermark.*Free disk space"):
            writer.write(numbered(10, 20), 20)
        assert opensearch.ask("PUT", f"/{index}/_settings", {block: None})[0] == 200
        assert not writer.write(numbered(10, 20), 20)
        assert opensearch.ask("POST", f"/{index}/_close")[0] == 200
        with pytest.raises(Unavailable, match=r"index_closed_exception.*Open the index"):
            writer.write(numbered(20, 30), 30)
        assert opensearch.ask("POST", f"/{index}/_open")[0] == 200
        until(lambda: opensearch.ask("GET", f"/_cluster/health/{index}")[1]["status"] != "red", "the index opens")
        assert not writer.write(numbered(20, 30), 30)
    assert len(opensearch.documents(index)) == 30
    with writing(opensearch.url, "UPPER-" + index) as writer:
        rejected = writer.write(numbered(0, 1), 1)
    assert "must be lowercase" in rejected[0].reason
