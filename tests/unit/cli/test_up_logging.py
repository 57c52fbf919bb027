"""The log of `barnabas up`: levels, JSON, and a thread that writes it."""

import json
import logging
import os
import threading

import pytest

from barnabas.cli.common.failure import Failure
from barnabas.cli.up import logging as up_logging
from barnabas.cli.up.logging import JsonFormatter, ThreadHandler, log_to_stderr
from barnabas.cli.up.options import UpOptions


def _record(text: str, *arguments: object, error: BaseException | None = None) -> logging.LogRecord:
    info = None if error is None else (type(error), error, error.__traceback__)
    return logging.LogRecord("barnabas.events", logging.WARNING, "", 0, text, arguments, info)


def test_json_is_an_object_a_line() -> None:
    found = json.loads(JsonFormatter().format(_record("%d topics\ncreated: ü", 2)))
    assert found["level"] == "warning"
    assert found["logger"] == "barnabas.events"
    assert found["message"] == "2 topics\ncreated: ü"
    assert found["time"].endswith("Z")
    failed = JsonFormatter().format(_record("no", error=ValueError("why")))
    assert "\n" not in failed
    assert "ValueError: why" in json.loads(failed)["exception"]


def test_a_pipe_that_nobody_reads_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(up_logging, "QUEUED_LINES_MAX", 100)
    reader, writer = os.pipe()
    handler = ThreadHandler(writer)
    handler.setFormatter(logging.Formatter("%(message)s"))
    for number in range(1_000):
        handler.handle(_record("%d " + "x" * 10_000, number))  # far more than a pipe takes
    read: list[bytes] = []
    collect = threading.Thread(target=lambda: read.extend(iter(lambda: os.read(reader, 1 << 16), b"")), daemon=True)
    collect.start()
    handler.finish()
    handler.finish()
    os.close(writer)
    collect.join(10)
    os.close(reader)
    lines = b"".join(read).decode().splitlines()
    assert lines[0].startswith("0 ")
    assert lines[-1].endswith("log lines were dropped")
    assert len(lines) < 200


@pytest.fixture
def untouched_loggers(monkeypatch: pytest.MonkeyPatch) -> None:
    """The levels are there again after the test."""
    events = logging.getLogger("barnabas.events")
    monkeypatch.setattr(logging.root, "level", logging.root.level)
    monkeypatch.setattr(events, "level", logging.NOTSET)
    monkeypatch.setattr("atexit.register", lambda *_: None)


@pytest.mark.usefixtures("untouched_loggers")
@pytest.mark.parametrize(
    ("flag", "variable", "root", "events"),
    [(None, "", "WARNING", "INFO"), (None, "debug", "DEBUG", "DEBUG"), ("error", "debug", "ERROR", "ERROR")],
)
def test_the_level(monkeypatch: pytest.MonkeyPatch, flag: str | None, variable: str, root: str, events: str) -> None:
    monkeypatch.setenv("BARNABAS_LOG_LEVEL", variable)
    monkeypatch.setattr(logging.root, "handlers", [])  # pytest puts its own there before each test
    monkeypatch.setattr("os.isatty", lambda _: False)
    log_to_stderr(UpOptions(log_level=flag))
    assert logging.getLevelName(logging.root.level) == root
    assert logging.getLevelName(logging.getLogger("barnabas.events").getEffectiveLevel()) == events


@pytest.mark.usefixtures("untouched_loggers")
def test_a_terminal_is_told_what_is_wrong_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logging.root, "handlers", [])
    monkeypatch.setattr("os.isatty", lambda _: True)
    log_to_stderr(UpOptions())
    assert logging.getLogger("barnabas.events").getEffectiveLevel() == logging.WARNING


@pytest.mark.usefixtures("untouched_loggers")
def test_the_format(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BARNABAS_LOG_FORMAT", "json")
    monkeypatch.setattr(logging.root, "handlers", [])
    log_to_stderr(UpOptions())
    assert isinstance(logging.root.handlers[-1].formatter, JsonFormatter)


@pytest.mark.parametrize("name", ["BARNABAS_LOG_LEVEL", "BARNABAS_LOG_FORMAT"])
def test_a_wrong_one_is_one_line(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(name, "loud")
    with pytest.raises(Failure, match=f"{name} 'loud' is unknown"):
        log_to_stderr(UpOptions())
