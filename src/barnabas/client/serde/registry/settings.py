"""How to reach a registry: addresses, login and TLS, by the names that Confluent's clients use.

    schema.registry.url         one address or several with commas, tried in turn; a user may stand in it
    basic.auth.user.info        "user:password"
    bearer.auth.token           a token, sent as it is
    ssl.ca.location             the authorities to trust (PEM); without it those of the system
    ssl.certificate.location, ssl.key.location, ssl.key.password     a certificate of one's own
    ssl.endpoint.identification.algorithm   "none" or "": the server's name is not checked
    timeout                     seconds until an address is given up

`schema.registry.` before any of them is the same setting, as Java's clients write it.
"""

from __future__ import annotations

import base64
import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import SplitResult, unquote, urlsplit

from barnabas.client.errors import BadSetting

DEFAULT_URL = "http://127.0.0.1:8081"
VARIABLE = "BARNABAS_REGISTRY"
TIMEOUT_S = 10.0
PREFIX = "schema.registry."
NAMES = (
    "url", "basic.auth.user.info", "basic.auth.credentials.source", "bearer.auth.token",
    "bearer.auth.credentials.source", "ssl.ca.location", "ssl.certificate.location", "ssl.key.location",
    "ssl.key.password", "ssl.endpoint.identification.algorithm", "timeout",
)  # fmt: skip
_SOURCES = {
    "basic.auth.credentials.source": ("USER_INFO", "URL"),
    "bearer.auth.credentials.source": ("STATIC_TOKEN",),
}


@dataclass(frozen=True, slots=True)
class Address:
    """One registry of those that are tried in turn."""

    host: str
    port: int
    path: str  # before the paths of the API; "" for most
    secure: bool

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.secure else 'http'}://{host}:{self.port}{self.path}"


@dataclass(frozen=True, slots=True)
class RegistrySettings:
    addresses: tuple[Address, ...]
    authorization: str | None = field(default=None, repr=False)
    tls: ssl.SSLContext | None = field(default=None, repr=False)
    timeout_s: float = TIMEOUT_S

    def __str__(self) -> str:
        return ", ".join(map(str, self.addresses))


def registry_settings(url: str | None, given: Mapping[str, object]) -> RegistrySettings:
    """`url` None: what `given` says, else BARNABAS_REGISTRY of the environment, else this machine."""
    named = {name.replace("_", ".").removeprefix(PREFIX): value for name, value in given.items() if value is not None}
    for name in named:
        if name not in NAMES:
            raise BadSetting(f"a registry has no setting {name!r}: it has {', '.join(NAMES)}")
    for name, known in _SOURCES.items():
        if str(named.get(name, known[0])).upper() not in known:
            raise BadSetting(f"{name} {named[name]!r} is not supported: {' or '.join(known)}")
    told = url if url is not None else named.get("url") or os.environ.get(VARIABLE) or DEFAULT_URL
    parts = [_split(each.strip()) for each in str(told).split(",") if each.strip()]
    if not parts:
        raise BadSetting(f'the address of a registry is a URL such as "{DEFAULT_URL}"')
    addresses = tuple(Address(each.hostname or "", _port(each), each.path.rstrip("/"), _is_tls(each)) for each in parts)
    tls = _context(named) if any(each.secure for each in addresses) else None
    return RegistrySettings(addresses, _authorization(named, parts), tls, _seconds(named.get("timeout", TIMEOUT_S)))


def _split(url: str) -> SplitResult:
    try:
        found = urlsplit(url)
        _port(found)
    except ValueError:
        found = urlsplit("")
    if found.scheme not in ("http", "https") or not found.hostname:
        shown = url.rpartition("@")[2]  # what stands before it may be a password
        raise BadSetting(f'{shown!r} is not the address of a registry: write it as "{DEFAULT_URL}"')
    return found


def _is_tls(url: SplitResult) -> bool:
    return url.scheme == "https"


def _port(url: SplitResult) -> int:
    return url.port or (443 if _is_tls(url) else 80)


def _seconds(value: object) -> float:
    try:
        seconds = float(str(value))
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < 3600:
        raise BadSetting(f"timeout of a registry is a number of seconds, not {value!r}")
    return seconds


def _authorization(named: Mapping[str, object], urls: list[SplitResult]) -> str | None:
    """The header. A user in a URL counts for all of them: they are one registry."""
    token, user = named.get("bearer.auth.token"), named.get("basic.auth.user.info")
    in_url = next((f"{unquote(each.username)}:{unquote(each.password or '')}" for each in urls if each.username), None)
    if token is not None and (user is not None or in_url is not None):
        raise BadSetting("a registry is logged in to with a user or with a token: give one of them")
    if token is not None:
        if not str(token).isascii() or any(letter.isspace() for letter in str(token)):
            raise BadSetting("bearer.auth.token is not a token: it has white space, or letters other than ASCII")
        return f"Bearer {token}"
    if user is None:
        user = in_url
    elif ":" not in str(user):
        raise BadSetting("basic.auth.user.info is user:password")
    return None if user is None else f"Basic {base64.b64encode(str(user).encode()).decode()}"


def _context(named: Mapping[str, object]) -> ssl.SSLContext:
    trusted, mine = named.get("ssl.ca.location"), named.get("ssl.certificate.location")
    try:
        context = ssl.create_default_context(cafile=None if trusted is None else str(trusted))
        if mine is not None:
            key, password = named.get("ssl.key.location"), named.get("ssl.key.password")
            context.load_cert_chain(str(mine), None if key is None else str(key), str(password or ""))
    except (OSError, ssl.SSLError) as error:
        reason = (error.strerror or str(error)).lower()
        raise BadSetting(f"the certificates for the registry cannot be read: {reason}") from None
    if str(named.get("ssl.endpoint.identification.algorithm", "https")).lower() in ("", "none"):
        context.check_hostname = False
    return context
