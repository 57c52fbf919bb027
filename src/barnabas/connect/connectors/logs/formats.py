"""Lines as fields: formats that have a name, and patterns of one's own.

Named formats use Python's `re`, which is several times as fast as RE2 here; each expression has one way to match a
line, so that its time grows with the length of the line. What users write is compiled by RE2 (grok.py).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime, tzinfo
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import msgspec

from barnabas.connect.connectors.logs.grok import Grok
from barnabas.connect.connectors.logs.syslog import parse_syslog
from barnabas.connect.connectors.logs.times import milliseconds, parse_time
from barnabas.connect.contract import Value
from barnabas.connect.errors import BadOption

Fields = dict[str, Value]
LineParser = Callable[[str], Fields | None]

_TEXT = r'([^"\\]*(?:\\.[^"\\]*)*)'
_COMBINED = re.compile(
    rf'(\S+) (\S+) ([^\[]+) \[([^\]]+)\] "{_TEXT}" (\d{{3}}) (\d+|-)(?: "{_TEXT}" "{_TEXT}")?(?: .*)?', re.DOTALL
)
_CLOCK = r"(?P<time>(?:\d{4}-\d\d-\d\d[ T])?\d\d:\d\d:\d\d(?:[.,]\d{1,9})?(?: ?(?:Z|[+-]\d\d:?\d\d))?)"
_JAVA = (  # logback's default and log4j2's until 2.24; level before thread; Spring Boot; Apache Kafka; log4j2 from 2.25
    re.compile(rf"{_CLOCK} +\[(?P<thread>[^\]]*)\] +(?P<level>[A-Z]+) +(?P<logger>\S+) +-+ ?(?P<message>.*)"),
    re.compile(rf"{_CLOCK} +(?P<level>[A-Z]+) +\[(?P<thread>[^\]]*)\] +(?P<logger>\S+) *[-:]+ ?(?P<message>.*)"),
    re.compile(
        rf"{_CLOCK} +(?P<level>[A-Z]+) (?P<pid>\d+) --- (?:\[[^\]]*\] )?\[(?P<thread>[^\]]*)\] +"
        r"(?P<logger>\S+) +: ?(?P<message>.*)"
    ),
    re.compile(rf"\[{_CLOCK}\] (?P<level>[A-Z]+) (?P<message>.*) \((?P<logger>[^()\s]+)\)"),
    re.compile(rf"{_CLOCK} (?P<thread>.*?) (?P<level>TRACE|DEBUG|INFO|WARN|ERROR|FATAL) (?P<message>.*)"),
)
_LOGFMT = re.compile(rf'([^\s="]+)(?:=(?:"{_TEXT}"|(\S*)))?')
_ESCAPE = re.compile(r"\\(.)")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r"}
_TIME_NAMES = ("@timestamp", "timestamp", "time", "ts")

UNPARSED = "unparsed"


class Formats:
    """What the options `pattern`, `patterns` and `timezone` say."""

    def __init__(self, pattern: Sequence[str], own: Mapping[str, str], zone: str) -> None:
        self._zone: tzinfo | None = None
        self._last: tuple[str, datetime | None] = ("", None)
        if zone:
            try:
                self._zone = ZoneInfo(zone)
            except (ZoneInfoNotFoundError, ValueError):
                raise BadOption(
                    f"option 'timezone' of logs: there is no {zone!r}", "Name one such as Europe/Berlin"
                ) from None
        named: dict[str, LineParser] = {
            "combined": self.combined,
            "nginx": self.combined,
            "apache": self.combined,
            "java": self.java,
            "log4j2": self.java,
            "logback": self.java,
            "json": self.json,
            "logfmt": self.logfmt,
            "syslog": self.syslog,
        }
        self._parsers = [named[each] if each in named else Grok(each, own, self._time).match for each in pattern]

    def fields(self, line: str) -> tuple[Fields, int | None]:
        """The fields of a line, and its time in milliseconds where it has one."""
        for parser in self._parsers:
            fields = parser(line)
            if fields is not None:
                return fields, self._timestamp(fields)
        return {"message": line, "tags": [UNPARSED]}, None

    def _time(self, text: str) -> datetime | None:
        last_text, time = self._last
        if text != last_text:  # lines that follow each other have the same second
            time = parse_time(text, self._zone, datetime.now(UTC))
            self._last = (text, time)
        return time

    def _timestamp(self, fields: Fields) -> int | None:
        for name in _TIME_NAMES:
            value = fields.get(name)
            if isinstance(value, datetime):
                return milliseconds(value)
            if isinstance(value, str) and (time := self._time(value)):
                return milliseconds(time)
        return None

    def combined(self, line: str) -> Fields | None:
        """nginx and Apache: common and combined."""
        match = _COMBINED.fullmatch(line)
        if match is None:
            return None
        client, ident, user, time, request, status, size, referrer, agent = match.groups()
        fields: Fields = {"client": client, "ident": ident, "user": user, "time": self._time(time) or time}
        method, _, rest = request.partition(" ")
        path, _, protocol = rest.rpartition(" ")
        if protocol.startswith("HTTP/"):
            fields |= {"method": method, "path": path, "protocol": protocol}
        else:  # what a port scanner sent
            fields["request"] = request
        fields |= {"status": int(status), "bytes": 0 if size == "-" else int(size[:18])}
        fields |= {"referrer": referrer, "agent": agent}
        return {name: value for name, value in fields.items() if value is not None and value != "-"}

    def java(self, line: str) -> Fields | None:
        """The first line by one of the usual layouts; what follows (option multiline) is the stack trace."""
        head, _, trace = line.partition("\n")
        for layout in _JAVA:
            if match := layout.fullmatch(head):
                fields: Fields = {name: text.strip() for name, text in match.groupdict().items()}
                time = self._time(fields["time"]) if len(fields["time"]) > 18 else None  # else it has no day
                fields["time"] = time or fields["time"]
                if trace.strip():
                    fields["stack_trace"] = trace.rstrip()
                return fields
        return None

    def json(self, line: str) -> Fields | None:
        try:
            value = msgspec.json.decode(line.encode(errors="replace"))
        except (msgspec.DecodeError, RecursionError):
            return None
        return value if isinstance(value, dict) else None

    def logfmt(self, line: str) -> Fields | None:
        fields: Fields = {}
        pairs = False
        for match in _LOGFMT.finditer(line):
            name, quoted, bare = match.groups()
            if quoted is not None:
                fields[name] = _ESCAPE.sub(lambda each: _ESCAPED.get(each[1], each[1]), quoted)
            else:
                fields[name] = True if bare is None else bare
            pairs = pairs or quoted is not None or bare is not None
        return fields if pairs else None

    def syslog(self, line: str) -> Fields | None:
        return parse_syslog(line, self._zone, datetime.now(UTC))
