"""The user behind a Kerberos principal, by `sasl.kerberos.principal.to.local.rules`: the first rule that applies.

    alice@EXAMPLE.ORG                                  DEFAULT: alice, in the node's own realm
    kafka/host-1.example.org@EXAMPLE.ORG               RULE:[2:$1@$0](kafka@.*)s/@.*//

A rule is for principals of so many parts; it puts them together ($0 is the realm, $1 the first part), looks at the
result and replaces in it. What has a / or @ left at the end is no user (the rules are those of Hadoop and Kafka).
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from barnabas.core.access.principals import BadRule

_PRINCIPAL = re.compile(r"([^/@]*)(?:/([^/@]*))?(?:@([^/@]*))?")
_RULE = re.compile(
    r"(?P<default>DEFAULT)"
    r"|RULE:\[(?P<parts>\d+):(?P<format>[^\]]*)\](?:\((?P<match>[^)]*)\))?"
    r"(?:s/(?P<pattern>[^/]*)/(?P<replacement>[^/]*)/(?P<all>g)?)?/?(?P<case>[LU])?"
)
_PARAMETER = re.compile(r"\$(\d+)")


class _Rule(NamedTuple):
    """`parts` is 0 for DEFAULT."""

    parts: int
    format: str = ""
    match: "re.Pattern[str] | None" = None
    pattern: "re.Pattern[str] | None" = None
    replacement: str = ""
    replaces_all: bool = False
    case: str = ""


class KerberosNames:
    """BadRule where a rule cannot be read."""

    def __init__(self, rules: Iterable[str], realm: str) -> None:
        self._rules = [_rule(text.strip()) for text in rules]
        self._realm = realm

    def user(self, principal: str) -> str | None:
        """None where no rule applies: such a client is refused."""
        found = _PRINCIPAL.fullmatch(principal)
        if found is None:
            return None
        first, second, realm = found.groups()
        if realm is None and second is None:
            return first or None
        parts = [realm or "", first] if second is None else [realm or "", first, second]
        for rule in self._rules:
            user = self._apply(rule, parts)
            if user is not None:
                return user if user and "/" not in user and "@" not in user else None
        return None

    def _apply(self, rule: _Rule, parts: list[str]) -> str | None:
        if not rule.parts:
            return parts[1] if parts[0] == self._realm else None
        if rule.parts != len(parts) - 1:
            return None
        name = _PARAMETER.sub(lambda number: parts[int(number[1])], rule.format)
        if rule.match is not None and rule.match.fullmatch(name) is None:
            return None
        if rule.pattern is not None:
            name = rule.pattern.sub(rule.replacement, name, count=0 if rule.replaces_all else 1)
        return name.lower() if rule.case == "L" else name.upper() if rule.case == "U" else name


def _rule(text: str) -> _Rule:
    found = _RULE.fullmatch(text)
    if found is None:
        raise BadRule(f"{text!r} is neither DEFAULT nor RULE:[parts:format](match)s/pattern/replacement/g/L")
    if found["default"]:
        return _Rule(0)
    parts = int(found["parts"])
    if not 1 <= parts <= 2 or any(int(number) > parts for number in _PARAMETER.findall(found["format"])):
        raise BadRule(f"{text!r}: a principal has one or two parts, and its format names no others")
    try:
        match = None if found["match"] is None else re.compile(found["match"])
        pattern = None if found["pattern"] is None else re.compile(found["pattern"])
    except re.error as error:
        raise BadRule(f"{text!r} has a regular expression that cannot be read: {error}") from None
    replacement = _PARAMETER.sub(r"\\g<\1>", (found["replacement"] or "").replace("\\", r"\\"))
    if pattern is not None and any(int(each) > pattern.groups for each in _PARAMETER.findall(found["replacement"])):
        raise BadRule(f"{text!r} replaces by a group that its pattern does not have")
    return _Rule(parts, found["format"], match, pattern, replacement, bool(found["all"]), found["case"] or "")
