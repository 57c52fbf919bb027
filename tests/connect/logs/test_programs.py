"""Logs that real programs write: nginx, Java's log4j2, logger, journald."""

from __future__ import annotations

import signal
import socket
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from barnabas.connect.connectors.logs.source import LogsSource
from barnabas.connect.contract import Reader, Record
from barnabas.connect.errors import Unavailable
from tests.support.members import until
from tests.support.nginx import nginx
from tests.support.paths import LIBS, ROOT, require
from tests.support.process import free_port
from tests.unit.connect.logs.collect import Collector


def test_nginx(tmp_path: Path) -> None:
    port = free_port()
    log = tmp_path / "access.log"
    collector = Collector({"paths": str(log), "pattern": "nginx"})

    def ask(path: str) -> None:
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", headers={"User-Agent": 'a "b"'})
        try:
            urllib.request.urlopen(request, timeout=5).close()
        except urllib.error.HTTPError as answer:
            answer.close()

    blocks = 'location / { return 200 "ok"; } location /no { return 404; }'
    with nginx(tmp_path, port, blocks, f"access_log {log} combined;") as server:
        for path in ("/a?b=c", "/no"):
            ask(path)
        collector.run(lambda: len(collector.records) == 2)
        log.rename(tmp_path / "access.log.1")
        ask("/between")
        server.signal(signal.SIGUSR1)
        until(log.exists, "nginx to open its log again")
        ask("/after")
        collector.run(lambda: len(collector.records) == 4)
    assert [value["path"] for value in collector.values] == ["/a?b=c", "/no", "/between", "/after"]
    first = collector.values[0]
    assert (first["client"], first["method"], first["protocol"], first["status"]) == (
        "127.0.0.1",
        "GET",
        "HTTP/1.1",
        200,
    )
    assert (first["bytes"], first["agent"], collector.values[1]["status"]) == (2, r"a \x22b\x22", 404)
    assert abs((datetime.now(UTC) - first["time"]).total_seconds()) < 60
    assert collector.records[0].timestamp_ms == int(first["time"].timestamp() * 1000)


def test_java(tmp_path: Path) -> None:
    require(LIBS)
    program = ROOT / "tests" / "java" / "logs" / "Logging.java"
    classes = ":".join(str(jar) for word in ("api", "core") for jar in LIBS.glob(f"log4j-{word}-*.jar"))
    with (tmp_path / "app.log").open("wb") as log:
        subprocess.run(["java", "-cp", classes, str(program)], stdout=log, check=True, timeout=60)
    multiline = {"more": "java", "timeout_s": 0.2}
    collector = Collector({"paths": f"{tmp_path}/*.log", "pattern": "java", "multiline": multiline})
    collector.run(lambda: len(collector.records) == 3, most=2, crash_every=3)
    messages = [(value["level"], value["thread"], value["message"]) for value in collector.values]
    assert messages == [("ERROR", "main", each) for each in ("order 17 is late", "order 18 failed", "order 19 is late")]
    trace = collector.values[1]["stack_trace"]
    assert trace.startswith("java.lang.IllegalStateException: order 18 not written\n\tat Logging.main")
    assert "\nCaused by: java.io.IOException: disk full\n" in trace
    assert [name for value in collector.values for name in value if name == "stack_trace"] == ["stack_trace"]


@pytest.fixture
def readers() -> Iterator[list[Reader]]:
    opened: list[Reader] = []
    yield opened
    for reader in opened:
        reader.close()


def listen(readers: list[Reader], kind: str, **options: object) -> tuple[Reader, int]:
    port = free_port()
    source = LogsSource("x", {"syslog": f"{kind}://127.0.0.1:{port}", **options})
    assert not source.exactly_once
    readers.append(source.open(source.splits()[0], None))
    return readers[-1], port


def receive(reader: Reader, count: int) -> list[Record]:
    records: list[Record] = []

    def enough() -> bool:
        chunk = reader.read(100, 0.1)
        if chunk is not None:
            assert chunk.position == {}
            records.extend(chunk.records)
        return len(records) >= count

    until(enough, f"{count} messages", 10)
    return records


@pytest.mark.parametrize(
    "words",
    [["--udp", "--rfc5424"], ["--udp", "--rfc3164"], ["--tcp", "--rfc5424"], ["--tcp", "--rfc3164", "--octet-count"]],
    ids=" ".join,
)
def test_logger(readers: list[Reader], words: list[str]) -> None:
    reader, port = listen(readers, words[0].removeprefix("--"))
    command = ["logger", "--server", "127.0.0.1", "--port", str(port), *words, "-p", "local3.warning", "-t", "shop"]
    for message in ("first one", "größer"):
        subprocess.run([*command, "--id=4711", message], check=True, timeout=10)
    records = receive(reader, 2)
    host = socket.gethostname()
    for record, message in zip(records, ("first one", "größer"), strict=True):
        fields = record.value
        assert (fields["facility"], fields["severity"], fields["app"]) == ("local3", "warning", "shop")
        assert (fields["pid"], fields["message"], fields["from"]) == ("4711", message, "127.0.0.1")
        assert host.startswith(fields["host"])
        assert abs((datetime.now(UTC) - fields["time"]).total_seconds()) < 60


def journal(folder: Path, first: int, count: int) -> None:
    """Writes a real journal."""
    entries = b"".join(
        b"__REALTIME_TIMESTAMP=%d\n__MONOTONIC_TIMESTAMP=%d\n_BOOT_ID=0123456789abcdef0123456789abcdef\n"
        b"MESSAGE=entry %d\nPRIORITY=6\n_SYSTEMD_UNIT=shop.service\n_HOSTNAME=h\n\n"
        % (1763424000000000 + n, 1000 + n, n)
        for n in range(first, first + count)
    )
    command = ["/lib/systemd/systemd-journal-remote", f"--output={folder}/shop.journal", "-"]
    subprocess.run(command, input=entries, check=True, capture_output=True, timeout=20)


def test_journald(tmp_path: Path) -> None:
    journal(tmp_path, 0, 50)
    collector = Collector({"journald": True, "journal_directory": str(tmp_path)})
    collector.run(lambda: len(collector.records) >= 50, crash_every=3, most=10)
    journal(tmp_path, 50, 10)
    collector.run(lambda: len(collector.records) >= 60)
    assert [value["message"] for value in collector.values] == [f"entry {number}" for number in range(60)]
    first = collector.records[0]
    assert (first.key, first.timestamp_ms, first.value["priority"]) == ("shop.service", 1763424000000, "6")
    assert first.value["time"] == datetime(2025, 11, 18, tzinfo=UTC)


def test_a_cursor_that_journald_does_not_know(tmp_path: Path) -> None:
    journal(tmp_path, 0, 1)
    source = LogsSource("x", {"journald": True, "journal_directory": str(tmp_path)})
    reader = source.open("journald", {"cursor": "nonsense"})
    try:
        with pytest.raises(Unavailable, match="journalctl ended: Failed to seek to cursor: Invalid argument"):
            reader.read(10, 10)
    finally:
        reader.close()
