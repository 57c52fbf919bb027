"""The ways to get in: protocol x mechanism, as far as they combine, and what may be wrong with the credentials.

PLAINTEXT has no place for a login, and a client certificate needs TLS. With SASL_SSL a listener may ask for both, a
certificate and a login: the principal is that of the login.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from tests.support.certificates import Certificate

PROTOCOLS = {
    "OPEN": "PLAINTEXT",
    "TLS": "SSL",
    "MUTUAL": "SSL",
    "LOGIN": "SASL_PLAINTEXT",
    "SECURE": "SASL_SSL",
    "BOTH": "SASL_SSL",
}
MUTUAL = ("MUTUAL", "BOTH")
"""Listeners with ssl.client.auth=required."""
PASSWORDS = {"PLAIN": "plain-pw", "SCRAM-SHA-256": "scram-256-pw", "SCRAM-SHA-512": "scram-512-pw"}
OAUTH = "OAUTHBEARER"
MECHANISMS = (*PASSWORDS, OAUTH)
USER = "alice"
ANONYMOUS = "ANONYMOUS"


class Way(NamedTuple):
    listener: str
    mechanism: str | None = None

    @property
    def protocol(self) -> str:
        return PROTOCOLS[self.listener]

    @property
    def mutual(self) -> bool:
        return self.listener in MUTUAL

    @property
    def user(self) -> str:
        """Who one is after it."""
        return USER if self.mutual or self.mechanism else ANONYMOUS

    def __str__(self) -> str:
        parts = [*(["mTLS"] if self.mutual else []), *([self.mechanism] if self.mechanism else [])]
        return "-".join([self.protocol, *(parts or ["none"])])


WAYS = (
    Way("OPEN"),
    Way("TLS"),
    Way("MUTUAL"),
    *(Way("LOGIN", mechanism) for mechanism in MECHANISMS),
    *(Way("SECURE", mechanism) for mechanism in MECHANISMS),
    Way("BOTH", "SCRAM-SHA-512"),
)


@dataclass(frozen=True)
class Credentials:
    """What a client is told, which each says in its own words."""

    bootstrap: str
    protocol: str
    mechanism: str | None
    user: str
    password: str = field(repr=False)
    ca: Path | None  # None: no TLS
    certificate: Certificate | None
    token_url: str
    scope: str  # what a token is asked for; with "payments" it has the audience of another service
    folder: Path  # for files that a client reads


WRONG_LOGINS = ("wrong password", "unknown user")
WRONG_CERTIFICATES = ("expired certificate", "foreign certificate", "no certificate")
WRONG_TOKEN = "wrong audience"


class Wrong(NamedTuple):
    way: Way
    what: str

    def __str__(self) -> str:
        return f"{self.way}-{self.what.replace(' ', '_')}"


WRONGS = (
    *(Wrong(way, what) for way in WAYS if way.mechanism in PASSWORDS for what in WRONG_LOGINS),
    *(Wrong(way, what) for way in WAYS if way.mutual for what in WRONG_CERTIFICATES),
    *(Wrong(way, WRONG_TOKEN) for way in WAYS if way.mechanism == OAUTH),
)
