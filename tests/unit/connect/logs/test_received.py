"""Syslog over sockets, and the journal by a `journalctl` that is a script. tests/connect/logs has logger and the real
journalctl."""

from __future__ import annotations

import json
import socket
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from barnabas.connect.connectors.logs import network
from barnabas.connect.connectors.logs.journald import entry_record
from barnabas.connect.connectors.logs.source import LogsSource
from barnabas.connect.contract import Reader, Record
from barnabas.connect.errors import BadOption, Unavailable
from tests.support.members import until
from tests.support.process import free_port
from tests.unit.connect.logs.collect import Collector

MESSAGE = b"<156>1 2026-11-18T01:02:03Z shop-1 shop 4711 - - first one"


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


def test_datagrams(readers: list[Reader]) -> None:
    reader, port = listen(readers, "udp", max_line_bytes=100)
    assert reader.read(10, 0.0) is None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
        for data in (MESSAGE + b"\n", b"x" * 300, b""):
            sender.sendto(data, ("127.0.0.1", port))
    first, cut = receive(reader, 2)
    fields = first.value
    assert (fields["facility"], fields["severity"], fields["app"]) == ("local3", "warning", "shop")
    assert (fields["message"], fields["from"], first.key) == ("first one", "127.0.0.1", "shop-1")
    moment = datetime(2026, 11, 18, 1, 2, 3, tzinfo=UTC)
    assert fields["time"] == moment and first.timestamp_ms == moment.timestamp() * 1000
    assert cut.value["message"] == "x" * 100 + " [cut: 200 bytes more]" and cut.timestamp_ms is None


def test_connections_with_and_without_counts(readers: list[Reader]) -> None:
    reader, port = listen(readers, "tcp")
    with socket.create_connection(("127.0.0.1", port)) as one, socket.create_connection(("127.0.0.1", port)) as other:
        one.sendall(b"%d %s" % (len(MESSAGE), MESSAGE))
        other.sendall(MESSAGE + b"\n" + MESSAGE[:20])
        assert [record.value["message"] for record in receive(reader, 2)] == ["first one"] * 2
        other.sendall(MESSAGE[20:])  # and no end of the line: the end of the connection is one
    assert receive(reader, 1)[0].value["message"] == "first one"


def test_strangers_on_the_syslog_port(readers: list[Reader]) -> None:
    reader, port = listen(readers, "tcp", max_line_bytes=1000)
    with socket.create_connection(("127.0.0.1", port)) as bad, socket.create_connection(("127.0.0.1", port)) as good:
        bad.sendall(b"5 <13>aGARBAGE WITHOUT A COUNT")
        good.sendall(b"<13>" + b"x" * 100_000 + b"\n\x00\xff\nno priority\n")
        records = receive(reader, 4)
        bad.settimeout(5)
        reader.read(1, 0.1)
        assert bad.recv(1) == b""
    messages = [record.value["message"] for record in records]
    assert "a" in messages
    assert any(message.endswith("[cut: 99004 bytes more]") for message in messages)
    plain = next(each.value for each in records if each.value["message"] == "no priority")
    assert {"tags", "message", "from"} == set(plain)


def test_no_more_connections_than_the_limit(readers: list[Reader], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "CONNECTIONS_MAX", 1)
    reader, port = listen(readers, "tcp")
    with socket.create_connection(("127.0.0.1", port)) as first, socket.create_connection(("127.0.0.1", port)) as more:
        more.settimeout(0.05)

        def refused() -> bool:
            reader.read(1, 0.01)
            try:
                return more.recv(1) == b""
            except TimeoutError:
                return False

        until(refused, "the second is refused")
        first.sendall(MESSAGE + b"\n")
        assert len(receive(reader, 1)) == 1


def test_a_port_that_is_taken_and_addresses_that_are_none(readers: list[Reader]) -> None:
    _, port = listen(readers, "tcp")
    taken = LogsSource("x", {"syslog": f"tcp://127.0.0.1:{port}"})
    with pytest.raises(Unavailable, match=rf"cannot listen on tcp://127\.0\.0\.1:{port}: Address already in use"):
        taken.open(taken.splits()[0], None)
    for wrong in ("http://h:1", "udp://h", "udp://:5", "tcp://h:70000", "tcp://h:port"):
        with pytest.raises(BadOption, match=r"Write it as udp://127\.0\.0\.1:5514"):
            LogsSource("x", {"syslog": wrong})
    assert network.address_of("udp://[::1]:5514").host == "::1"


# --- the journal ----------------------------------------------------------------------------------------------------

JOURNALCTL = """
import json, sys, time
after = next((w.split("=", 1)[1] for w in sys.argv if w.startswith("--after-cursor=")), None)
if after == "nonsense":
    sys.exit("Failed to seek to cursor: Invalid argument")
print("no entry of a journal")
for number in range(int(after or -1) + 1, 30):
    moment = str(1763424000000000 + number)
    entry = {"__CURSOR": str(number), "__REALTIME_TIMESTAMP": moment, "MESSAGE": f"entry {number}"}
    entry |= {"_SYSTEMD_UNIT": "shop.service", "_PID": "7", "PID": "6", "words": " ".join(sys.argv[1:])}
    print(json.dumps(entry), flush=True)
print(json.dumps(["no", "entry"]), flush=True)
time.sleep(600)
"""


@pytest.fixture
def journalctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "bin" / "journalctl"
    program.parent.mkdir()
    program.write_text(f"#!{sys.executable}{JOURNALCTL}")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(program.parent))


@pytest.mark.usefixtures("journalctl")
def test_entries_of_the_journal_once_over_crashes() -> None:
    options = {"journald": True, "journal_directory": "/j", "units": ["shop", "web"]}
    collector = Collector(options)
    collector.run(lambda: sum("pid" in value for value in collector.values) >= 30, crash_every=2, most=7)
    entries = [record for record in collector.records if "pid" in record.value]
    assert [record.value["message"] for record in entries] == [f"entry {number}" for number in range(30)]
    first = entries[0]
    assert (first.key, first.timestamp_ms, first.value["pid"]) == ("shop.service", 1763424000000, "7")
    assert first.value["time"] == datetime(2025, 11, 18, tzinfo=UTC)
    assert "--directory=/j --unit=shop --unit=web" in first.value["words"]
    cut = next(value for value in collector.values if "tags" in value)
    assert cut == {"message": "no entry of a journal", "tags": ["cut"]}


@pytest.mark.usefixtures("journalctl")
def test_a_journalctl_that_ends_says_why() -> None:
    reader = LogsSource("x", {"journald": True}).open("journald", {"cursor": "nonsense"})
    try:
        with pytest.raises(Unavailable, match="journalctl ended: Failed to seek to cursor: Invalid argument"):
            reader.read(10, 10)
    finally:
        reader.close()


def test_a_machine_without_journalctl(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(BadOption, match="there is no journalctl on this machine"):
        LogsSource("x", {"journald": True})


def test_what_journald_says_counts_and_not_what_a_program_says_of_itself() -> None:
    claimed = {"PID": "1", "UID": "0", "SYSTEMD_UNIT": "sshd.service"}
    found = {"_PID": "7", "_UID": "1000", "_SYSTEMD_UNIT": "shop.service"}
    for entry in ({**claimed, **found}, {**found, **claimed}):
        record = entry_record(entry)
        assert record.value == {"pid": "7", "uid": "1000", "systemd_unit": "shop.service"}
        assert record.key == "shop.service"


def test_what_an_entry_may_have() -> None:
    record = entry_record({"MESSAGE": [104, 105, 255], "__REALTIME_TIMESTAMP": "soon", "SYSLOG_IDENTIFIER": "cron"})
    assert record.value == {"message": "hi\ufffd", "syslog_identifier": "cron"}
    assert (record.key, record.timestamp_ms) == ("cron", None)
    assert entry_record({"_SYSTEMD_UNIT": ["a", "b"]}).key is None
    assert json.dumps(entry_record({"LIST": [1, 300]}).value) == '{"list": [1, 300]}'
