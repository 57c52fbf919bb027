r"""A language of patterns for lines: regular expressions in which `%{NAME:field:type}` stands for a named pattern.

    %{IP:client} %{WORD:method} %{URIPATH:path} %{NUMBER:bytes:int} %{NUMBER:seconds:float}

The names are those that people know from grok. They are compiled by RE2, whose time grows with the length of the line
and not with the shape of the pattern, so that neither a pattern nor a line can hold up a reader. A field without a type
is text; `int`, `float` and `time` convert, and what cannot be converted stays text. `(?P<field>...)` works too.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from barnabas.connect.contract import Value
from barnabas.connect.errors import BadOption

if TYPE_CHECKING:
    import re2

_PATTERN_BYTES_MAX = 64 * 1024  # after names are replaced
_DEPTH_MAX = 16
_REFERENCE = re.compile(r"%\{(\w+)(?::([^:}]*))?(?::(\w+))?\}")

PATTERNS = {
    "INT": r"[+-]?\d+",
    "POSINT": r"[1-9]\d*",
    "NONNEGINT": r"\d+",
    "NUMBER": r"[+-]?(?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?",
    "BASE10NUM": r"%{NUMBER}",
    "BASE16NUM": r"[+-]?(?:0x)?[0-9A-Fa-f]+",
    "WORD": r"\b\w+\b",
    "NOTSPACE": r"\S+",
    "SPACE": r"\s*",
    "DATA": r".*?",
    "GREEDYDATA": r".*",
    "QUOTEDSTRING": r'(?:"(?:[^"\\]|\\.)*"|\'(?:[^\'\\]|\\.)*\')',
    "QS": r"%{QUOTEDSTRING}",
    "UUID": r"[0-9A-Fa-f]{8}-(?:[0-9A-Fa-f]{4}-){3}[0-9A-Fa-f]{12}",
    "USERNAME": r"[a-zA-Z0-9._-]+",
    "USER": r"%{USERNAME}",
    "EMAILADDRESS": r"[a-zA-Z0-9!#$%&'*+/=?^_`{|}~.-]+@%{HOSTNAME}",
    "MAC": r"(?:[0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}|(?:[0-9A-Fa-f]{4}\.){2}[0-9A-Fa-f]{4}",
    "IPV4": r"(?:(?:25[0-5]|2[0-4]\d|1?\d?\d)\.){3}(?:25[0-5]|2[0-4]\d|1?\d?\d)",
    "IPV6": r"(?:[0-9A-Fa-f]{0,4}:){2,7}(?:%{IPV4}|[0-9A-Fa-f]{0,4})(?:%\w+)?",
    "IP": r"(?:%{IPV6}|%{IPV4})",
    "HOSTNAME": r"\b[0-9A-Za-z_][0-9A-Za-z_-]{0,62}(?:\.[0-9A-Za-z_][0-9A-Za-z_-]{0,62})*\.?",
    "IPORHOST": r"(?:%{IP}|%{HOSTNAME})",
    "HOSTPORT": r"%{IPORHOST}:%{POSINT}",
    "UNIXPATH": r"(?:/[^/\s]*)+",
    "WINPATH": r"(?:[A-Za-z]:|\\)(?:\\[^\\?*]*)+",
    "PATH": r"(?:%{UNIXPATH}|%{WINPATH})",
    "URIPROTO": r"[A-Za-z][A-Za-z0-9+.-]*",
    "URIHOST": r"%{IPORHOST}(?::%{POSINT})?",
    "URIPATH": r"/[^\s?#]*",
    "URIPARAM": r"\?[^\s#]*",
    "URIPATHPARAM": r"%{URIPATH}(?:%{URIPARAM})?",
    "URI": r"%{URIPROTO}://(?:[^\s@/]*@)?%{URIHOST}?(?:%{URIPATHPARAM})?",
    "MONTH": r"\b(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]*\b",
    "MONTHNUM": r"(?:0?[1-9]|1[0-2])",
    "MONTHDAY": r"(?:0[1-9]|[12]\d|3[01]|[1-9])",
    "DAY": r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)[a-z]*",
    "YEAR": r"\d{4}",
    "HOUR": r"(?:2[0-3]|[01]?\d)",
    "MINUTE": r"[0-5]\d",
    "SECOND": r"(?:[0-5]?\d|60)(?:[:.,]\d+)?",
    "TIME": r"%{HOUR}:%{MINUTE}(?::%{SECOND})?",
    "DATE_US": r"%{MONTHNUM}[/-]%{MONTHDAY}[/-]\d{2,4}",
    "DATE_EU": r"%{MONTHDAY}[./-]%{MONTHNUM}[./-]\d{2,4}",
    "DATE": r"(?:%{DATE_US}|%{DATE_EU})",
    "ISO8601_TIMEZONE": r"(?:Z|[+-]%{HOUR}:?%{MINUTE})",
    "TIMESTAMP_ISO8601": (
        r"%{YEAR}[/-]%{MONTHNUM}[/-]%{MONTHDAY}[T ]%{HOUR}:?%{MINUTE}(?::?%{SECOND})?%{ISO8601_TIMEZONE}?"
    ),
    "HTTPDATE": r"%{MONTHDAY}/%{MONTH}/%{YEAR}:%{TIME} [+-]\d{4}",
    "SYSLOGTIMESTAMP": r"%{MONTH} +%{MONTHDAY} %{TIME}",
    "PROG": r"[^\s\[\]:]+",
    "SYSLOGPROG": r"%{PROG:program}(?:\[%{POSINT:pid:int}\])?",
    "SYSLOGHOST": r"%{IPORHOST}",
    "LOGLEVEL": (
        r"(?i:trace|debug|info(?:rmation)?|notice|warn(?:ing)?|err(?:or)?|crit(?:ical)?|fatal|severe|alert|"
        r"emerg(?:ency)?)"
    ),
    "JAVACLASS": r"(?:[a-zA-Z$_][a-zA-Z$_0-9]*\.)*[a-zA-Z$_][a-zA-Z$_0-9]*",
    "COMMONAPACHELOG": (
        r"%{IPORHOST:client} %{NOTSPACE:ident} %{NOTSPACE:user} \[%{HTTPDATE:time:time}\] "
        r'"(?:%{WORD:method} %{NOTSPACE:path}(?: %{NOTSPACE:protocol})?|%{DATA:request})" '
        r"%{INT:status:int} (?:%{INT:bytes:int}|-)"
    ),
    "COMBINEDAPACHELOG": r"%{COMMONAPACHELOG} %{QS:referrer} %{QS:agent}",
}

TYPES = ("text", "int", "float", "time")


class Grok:
    """One pattern, ready to match lines."""

    def __init__(self, pattern: str, own: Mapping[str, str], to_time: Callable[[str], Value]) -> None:
        """`own` are patterns beside PATTERNS, and before them. `to_time` makes a time of a field with that type, or
        None."""
        import re2  # 4 MB that logs without patterns do not need

        self._fields: list[tuple[int, str, str]] = []
        self._named: dict[str, tuple[str, str]] = {}
        self._patterns = {**PATTERNS, **own}
        self._to_time = to_time
        expanded = self._expand(pattern, 0)
        settings = re2.Options()
        settings.log_errors = False
        try:
            self._regexp = re2.compile(expanded.encode(), settings)
        except re2.error as problem:
            raise BadOption(f"pattern {pattern!r} of logs: {_said(problem)}") from None
        for group, index in self._regexp.groupindex.items():
            name = group.decode()
            self._fields.append((index, *self._named.get(name, (name, "text"))))
        if not self._fields:
            raise BadOption(f"pattern {pattern!r} of logs names no field", "Name what it finds: %{IP:client}")

    def _expand(self, pattern: str, depth: int) -> str:
        if depth > _DEPTH_MAX:
            raise BadOption(f"patterns of logs name each other more than {_DEPTH_MAX} deep", "Is one part of itself?")
        expanded = _REFERENCE.sub(lambda reference: self._reference(reference, depth), pattern)
        if len(expanded) > _PATTERN_BYTES_MAX:
            raise BadOption(f"a pattern of logs has more than {_PATTERN_BYTES_MAX} characters once names are replaced")
        return expanded

    def _reference(self, reference: re.Match[str], depth: int) -> str:
        name, field, kind = reference.groups()
        if name not in self._patterns:
            raise BadOption(f"logs knows no pattern %{{{name}}}", "Add it to the option patterns")
        if kind is not None and kind not in TYPES:
            raise BadOption(
                f"type {kind!r} of field {field!r} in a pattern of logs", f"It is one of {', '.join(TYPES)}"
            )
        inner = self._expand(self._patterns[name], depth + 1)
        if not field:
            return f"(?:{inner})"
        group = f"field_{len(self._named)}"
        self._named[group] = (field, kind or "text")
        return f"(?P<{group}>{inner})"

    def match(self, line: str) -> dict[str, Value] | None:
        """The fields of the line, or None. Fields that matched nothing are left out."""
        found = self._regexp.search(line.encode(errors="replace"))
        if found is None:
            return None
        fields: dict[str, Value] = {}
        for index, name, kind in self._fields:
            raw = found[index]
            if raw is not None:
                text = raw.decode(errors="replace")
                fields[name] = text if kind == "text" else self._convert(text, kind)
        return fields

    def _convert(self, text: str, kind: str) -> Value:
        try:
            if kind == "time":
                return self._to_time(text) or text
            return int(text) if kind == "int" else float(text)
        except (ValueError, OverflowError):
            return text


def compile_regexp(pattern: str, option: str) -> re2._Regexp:
    """A plain expression of an option, on bytes."""
    import re2

    settings = re2.Options()
    settings.log_errors = False
    settings.encoding = re2.Options.Encoding.LATIN1  # bytes that are no UTF-8 are bytes
    try:
        return re2.compile(pattern.encode(), settings)
    except re2.error as problem:
        raise BadOption(f"option {option!r} of logs: {pattern!r}: {_said(problem)}") from None


def _said(problem: Exception) -> str:
    said = problem.args[0] if problem.args else ""
    return said.decode(errors="replace") if isinstance(said, bytes) else str(said)
