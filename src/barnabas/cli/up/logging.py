"""The log of a node, on stderr: as text, or as one JSON object a line for whoever collects logs.

Without a level given, warnings and what an operator has to know (`barnabas.events`: failovers, in-sync replicas,
topics, settings) are told; on a terminal, which has the screen of `up`, only the warnings. The level comes from
--log-level or BARNABAS_LOG_LEVEL, the form from --log-format or BARNABAS_LOG_FORMAT. A thread writes: a pipe that
nobody reads, or a slow disk behind it, must not hold up the loop. Lines that come faster than they can be written are
dropped beyond a bound, and counted.
"""

from __future__ import annotations

import atexit
import json
import logging
import os
import threading
import time
from collections import deque

from barnabas.cli.common.failure import usage
from barnabas.cli.up.options import LOG_FORMATS, LOG_LEVELS, UpOptions

LEVEL_VARIABLE, FORMAT_VARIABLE = "BARNABAS_LOG_LEVEL", "BARNABAS_LOG_FORMAT"
QUEUED_LINES_MAX = 10_000  # about 2 MB
_END_SECONDS = 1.0
_STDERR = 2


class TextFormatter(logging.Formatter):
    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s")


class JsonFormatter(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        told = {
            "time": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            told["exception"] = self.formatException(record.exc_info)
        return json.dumps(told, ensure_ascii=False)


class ThreadHandler(logging.Handler):
    """Formats where the line is logged, writes in a thread."""

    def __init__(self, fd: int) -> None:
        super().__init__()
        self._fd = fd
        self._lines: deque[str] = deque()
        self._dropped = 0
        self._wake = threading.Event()
        self._written = threading.Event()
        self._thread: threading.Thread | None = None

    def emit(self, record: logging.LogRecord) -> None:
        try:
            line = self.format(record)
        except Exception:  # a wrong line must not end what wanted to tell it
            self.handleError(record)
            return
        if len(self._lines) >= QUEUED_LINES_MAX:
            self._dropped += 1
            return
        self._lines.append(line)
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="barnabas-log", daemon=True)
            self._thread.start()
        self._written.clear()
        self._wake.set()

    def _run(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            while self._lines:
                self._write(self._lines.popleft())
            if self._dropped:
                dropped, self._dropped = self._dropped, 0
                told = logging.LogRecord(
                    __name__, logging.WARNING, "", 0, "%d log lines were dropped", (dropped,), None
                )
                self._write(self.format(told))
            self._written.set()

    def _write(self, line: str) -> None:
        data = (line + "\n").encode(errors="backslashreplace")
        try:
            while data:
                data = data[os.write(self._fd, data) :]
        except OSError:  # nobody reads it, or its disk is full: the node goes on
            pass

    def finish(self) -> None:
        if self._thread is not None and (self._lines or not self._written.is_set()):
            self._wake.set()
            self._written.wait(_END_SECONDS)


def log_to_stderr(options: UpOptions) -> None:
    given = _choice(options.log_level, "--log-level", LEVEL_VARIABLE, LOG_LEVELS)
    form = _choice(options.log_format, "--log-format", FORMAT_VARIABLE, LOG_FORMATS)
    if logging.root.handlers:  # whoever called this has a log of its own
        return
    handler = ThreadHandler(_STDERR)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter())
    logging.root.addHandler(handler)
    logging.root.setLevel((given or "warning").upper())
    if given is None and not os.isatty(_STDERR):
        logging.getLogger("barnabas.events").setLevel(logging.INFO)
    atexit.register(handler.finish)


def _choice(flag: str | None, name: str, variable: str, choices: tuple[str, ...]) -> str | None:
    value, origin = (flag, name) if flag is not None else (os.environ.get(variable), variable)
    if not value:
        return None
    if value.lower() not in choices:
        raise usage(f"{origin} {value!r} is unknown", f"Choose from {', '.join(choices)}.")
    return value.lower()
