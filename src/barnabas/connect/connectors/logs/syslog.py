"""Messages of syslog: RFC 5424, and what RFC 3164 found in the wild. Without a priority, it is a line that a daemon has
written to a file."""

from __future__ import annotations

import re
from datetime import datetime, tzinfo

from barnabas.connect.connectors.logs.times import parse_time
from barnabas.connect.contract import Value

_PRIORITY = re.compile(r"<(\d{1,3})>")
_NEW = re.compile(r"1 (\S+) (\S+) (\S+) (\S+) (\S+) ?")
_ELEMENT = re.compile(r"\[([^ =\]\"]{1,64})((?: [^ =\]\"]{1,64}=\"(?:[^\"\\]|\\.)*\")*)\]")
_PARAMETER = re.compile(r" ([^ =\]\"]{1,64})=\"((?:[^\"\\]|\\.)*)\"")
_OLD = re.compile(r"([A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d|\d{4}-\d\d-\d\dT[\d:.,]+(?:Z|[+-]\d\d:?\d\d)?) (?:(\S+) )?")
_TAG = re.compile(r"([^\s\[\]:]{1,128})(?:\[([^\]]{0,64})\])?: ?")

FACILITIES = [
    "kern",
    "user",
    "mail",
    "daemon",
    "auth",
    "syslog",
    "lpr",
    "news",
    "uucp",
    "cron",
    "authpriv",
    "ftp",
    "ntp",
    "audit",
    "alert",
    "clock",
    *(f"local{number}" for number in range(8)),
]
SEVERITIES = ["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"]


def parse_syslog(text: str, zone: tzinfo | None, now: datetime) -> dict[str, Value] | None:
    """Fields of a message, or None if it is no syslog."""
    fields: dict[str, Value] = {}
    start = 0
    if priority := _PRIORITY.match(text):
        number = int(priority[1])
        if number > 191:
            return None
        fields |= {"facility": FACILITIES[number // 8], "severity": SEVERITIES[number % 8]}
        start = priority.end()
        if new := _NEW.match(text, start):
            return fields | _new(text, new, zone, now)
    head = _OLD.match(text, start)
    if head is None:
        if not priority:
            return None
        return fields | {"message": text[start:]}
    fields["time"] = parse_time(head[1], zone, now) or head[1]
    start = head.end()
    host = head[2]
    if host and host.endswith(":"):  # a sender that leaves out its host: this is the tag
        start, host = head.start(2), None
    if host:
        fields["host"] = host
    if tag := _TAG.match(text, start):
        fields["app"] = tag[1]
        if tag[2]:
            fields["pid"] = tag[2]
        start = tag.end()
    fields["message"] = text[start:]
    return fields


def _new(text: str, head: re.Match[str], zone: tzinfo | None, now: datetime) -> dict[str, Value]:
    time, host, app, process, kind = (None if each == "-" else each for each in head.groups())
    fields: dict[str, Value] = {"host": host, "app": app, "pid": process, "msgid": kind}
    if time is not None:
        fields["time"] = parse_time(time, zone, now) or time
    start = head.end()
    structured: dict[str, dict[str, str]] = {}
    if text.startswith("-", start):
        start += 1
    else:
        while element := _ELEMENT.match(text, start):
            parameters = _PARAMETER.findall(element[2])
            structured[element[1]] = {name: re.sub(r'\\(["\\\]])', r"\1", value) for name, value in parameters}
            start = element.end()
    if structured:
        fields["structured"] = structured
    fields["message"] = text[start:].removeprefix(" ").removeprefix("\ufeff")
    return {name: value for name, value in fields.items() if value is not None}
