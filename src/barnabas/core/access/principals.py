"""The name of whoever shows a TLS certificate: its distinguished name as Java writes it (RFC 2253), mapped by
`ssl.principal.mapping.rules` (KIP-371): the first rule that matches the whole name gives the principal's name.

    RULE:^CN=([^,]+),OU=nodes.*$/$1/L,DEFAULT
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

# The names that Java writes as such; all others are written as object identifiers.
_SHORT = {
    "commonName": "CN",
    "organizationalUnitName": "OU",
    "organizationName": "O",
    "localityName": "L",
    "stateOrProvinceName": "ST",
    "countryName": "C",
    "streetAddress": "STREET",
    "domainComponent": "DC",
    "userId": "UID",
}
_AS_BYTES = {  # (object identifier, ASN.1 tag): Java writes their values as the bytes they are encoded in
    "emailAddress": ("1.2.840.113549.1.9.1", 0x16),
    "title": ("2.5.4.12", 0x13),
    "serialNumber": ("2.5.4.5", 0x13),
}
_ESCAPED = re.compile(r'[,=+<>#;"\\]')

Subject = Iterable[Iterable[tuple[str, str]]]
"""As `ssl` gives it: relative names in the order of the certificate, each of one or more (type, value)."""


def distinguished_name(subject: Subject) -> str:
    return ",".join("+".join(_attribute(*pair) for pair in relative) for relative in reversed(list(subject)))


def _attribute(kind: str, value: str) -> str:
    if kind in _AS_BYTES:
        oid, tag = _AS_BYTES[kind]
        data = value.encode()
        return f"{oid}=#{tag:02x}{len(data):02x}{data.hex()}"
    text = _ESCAPED.sub(lambda found: "\\" + found[0], value)
    if text.startswith(" "):
        text = "\\" + text
    if text.endswith(" ") and len(text) > 1:
        text = text[:-1] + "\\ "
    return f"{_SHORT.get(kind, kind)}={text}"


class BadRule(ValueError):
    """A rule that cannot be read; the text says why."""


class _Rule(NamedTuple):
    pattern: "re.Pattern[str] | None"  # None: DEFAULT
    replacement: str
    case: str


_RULE = re.compile(r"\s*(?:(DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?))\s*(?:,|\n|$)")


class PrincipalRules:
    def __init__(self, text: str) -> None:
        self._rules: list[_Rule] = []
        position, text = 0, text.strip()
        while position < len(text):
            match = _RULE.match(text, position)
            if match is None:
                raise BadRule(
                    f"expected RULE:pattern/replacement/[LU] or DEFAULT at {text[position : position + 40]!r}"
                )
            self._rules.append(_rule(match))
            position = match.end()

    def principal(self, name: str) -> str | None:
        """The principal's name; None where no rule matches, and the client is refused."""
        for rule in self._rules:
            if rule.pattern is None:
                return name
            if (match := rule.pattern.fullmatch(name)) is not None:
                found = match.expand(rule.replacement)
                return found.lower() if rule.case == "L" else found.upper() if rule.case == "U" else found
        return None


def _rule(match: "re.Match[str]") -> _Rule:
    if match[1]:
        return _Rule(None, "", "")
    try:
        pattern = re.compile(match[2])
    except re.error as error:
        raise BadRule(f"{match[2]!r} is not a regular expression: {error}") from None
    replacement = re.sub(r"\$(\d)", r"\\g<\1>", match[3].replace("\\", ""))
    if any(int(number) > pattern.groups for number in re.findall(r"\$(\d)", match[3])):
        raise BadRule(f"{match[3]!r} names a group that {match[2]!r} does not have")
    return _Rule(pattern, replacement, match[4])
