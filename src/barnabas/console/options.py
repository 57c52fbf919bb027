"""What a console is started with: clusters, address, people and their roles. From the command line, or a TOML file.

host = "0.0.0.0"                 # other than this machine only where everybody has to sign in
port = 8080
certificate = "console.pem"      # TLS for browsers; the key may be in the same file
key = "console.key"

[clusters.orders]
bootstrap = "kafka-1.example.org:9092,kafka-2.example.org:9092"
security.protocol = "SASL_SSL"   # people sign in with their own user; without SASL the console's identity counts
ssl.ca.location = "orders.pem"
registry = "https://registry.example.org:8081"   # its schemas; people ask it with their own login

[users]                          # people of the console itself, for clusters without logins
ada = "scrypt:..."               # barnabas console --hash-password

[oidc]                           # people sign in here, for clusters with sasl.mechanism = "OAUTHBEARER"
issuer = "https://login.example.org/realm"
client_id = "console"
client_secret = "..."            # where the provider wants one
scope = "openid kafka"
user_claim = "sub"               # of the ID token: whom roles name
address = "https://console.example.org"  # of the console, behind a proxy; ADDRESS/api/oidc/back is where people return

[[roles]]                        # the first one that has the user applies; without one everything is allowed that
name = "support"                 # the cluster allows
users = ["ada", "support-*"]
data = false                     # sees topics, not records
read_only = true
topics = ["orders.*"]            # records of these only
mask = [".card.number", ".email"]
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import msgspec

from barnabas.client.common.connection import addresses
from barnabas.client.common.kafka_names import UnusableSetting, librdkafka_names
from barnabas.client.common.profile import flat
from barnabas.client.errors import BadSetting
from barnabas.client.serde.registry.settings import registry_settings
from barnabas.console.people.oidc import OidcOptions, is_private
from barnabas.console.people.passwords import looks_hashed
from barnabas.console.problems import Problem
from barnabas.link.sasl import OAUTHBEARER

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8080
_NO_PROVIDER = "Add [oidc] with issuer and client_id to the --config file."
LOOPBACK = ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True, slots=True)
class ClusterOptions:
    """`settings`: how to connect, by librdkafka's names. With SASL every person signs in."""

    name: str
    bootstrap: str
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)  # a password of a key may be among them
    registry: str | None = field(default=None, repr=False)  # its URL may name a user

    @property
    def addresses(self) -> list[tuple[str, int]]:
        return addresses(self.bootstrap)

    @property
    def needs_login(self) -> bool:
        return self.settings.get("security.protocol", "").upper().startswith("SASL_")

    @property
    def by_token(self) -> bool:
        """People sign in at a provider, not with a password."""
        named = self.settings.get("sasl.mechanism", self.settings.get("sasl.mechanisms", ""))
        return self.needs_login and named.upper() == OAUTHBEARER


@dataclass(frozen=True, slots=True)
class Role:
    name: str = "everything that the cluster allows"
    users: tuple[str, ...] = ("*",)
    data: bool = True
    read_only: bool = False
    topics: tuple[str, ...] = ("*",)  # whose records are shown
    mask: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ConsoleOptions:
    clusters: tuple[ClusterOptions, ...]
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    certificate: str | None = None
    key: str | None = None
    users: Mapping[str, str] = field(default_factory=dict, repr=False)  # name -> scrypt's hash
    roles: tuple[Role, ...] = ()
    read_only: bool = False
    audit_file: str | None = None
    pipelines: str | None = None  # where pipelines of this machine keep their state
    oidc: OidcOptions | None = None

    def check(self) -> None:
        """Raises a Problem for what must not be served."""
        for each in self.clusters:
            if each.by_token and self.oidc is None:
                raise Problem(
                    f"cluster {each.name} is logged in to with tokens, and no provider is named", _NO_PROVIDER
                )
        if self.host in LOOPBACK:
            return
        open_ones = [each.name for each in self.clusters if not each.needs_login]
        if open_ones and not self.users:
            raise Problem(
                f"the console would let everybody on {self.host} into {', '.join(open_ones)}, which has no logins",
                "Stay on 127.0.0.1, name users in a --config file, or secure the cluster (barnabas up --secure).",
            )
        if self.certificate is None:
            raise Problem(
                f"passwords would travel to {self.host} in plain text",
                "Give the console a certificate (certificate and key in the --config file), or stay on 127.0.0.1"
                " behind a proxy that has one.",
            )


class _Plain(msgspec.Struct, forbid_unknown_fields=True):
    """Types of the settings that are no tables."""

    host: str
    port: Annotated[int, msgspec.Meta(ge=0, le=65_535)]
    certificate: str | None
    key: str | None
    read_only: bool
    audit_file: str | None
    pipelines: str | None


def load(path: Path) -> ConsoleOptions:
    try:
        told = tomllib.loads(path.read_text())
    except OSError as error:
        raise Problem(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise Problem(f"{path} cannot be read: {error}") from None
    known = {"host", "port", "certificate", "key", "clusters", "users", "roles", "read_only", "audit_file", "pipelines",
             "oidc"}  # fmt: skip
    if unknown := sorted(set(told) - known):
        raise Problem(f"{path}: there is no setting {unknown[0]!r}", f"It has {', '.join(sorted(known))}.")
    try:
        clusters = tuple(_cluster(name, table) for name, table in _table(told.pop("clusters", {}), "clusters").items())
        roles = tuple(_role(table) for table in told.pop("roles", []))
        users = {name: _hash(name, value) for name, value in _table(told.pop("users", {}), "users").items()}
        oidc = _oidc(_table(told.pop("oidc", {}), "oidc"))
        found = ConsoleOptions(clusters=clusters, roles=roles, users=users, oidc=oidc, **told)
        msgspec.convert({name: getattr(found, name) for name in _Plain.__struct_fields__}, _Plain)
    except (TypeError, AttributeError, BadSetting, msgspec.ValidationError) as error:
        raise Problem(f"{path}: {error}") from None
    if not found.clusters:
        raise Problem(f"{path} names no cluster", 'Add [clusters.NAME] with bootstrap = "host:port".')
    return found


def _cluster(name: str, told: object) -> ClusterOptions:
    table = _table(told, f"clusters.{name}")
    if not re.fullmatch(r"[A-Za-z0-9._ -]{1,100}", name):
        raise TypeError(f"a cluster is named by letters, digits, dots and dashes, not {name!r}")
    settings = dict(flat("", table))
    bootstrap = settings.pop("bootstrap", settings.pop("bootstrap.servers", ""))
    registry = settings.pop("registry", None)
    if registry is not None:
        registry_settings(registry, {})
    addresses(bootstrap)
    try:
        return ClusterOptions(name, bootstrap, librdkafka_names(settings), registry)
    except UnusableSetting as error:
        raise Problem(f"cluster {name}: {error}") from None


def _table(value: object, name: str) -> dict[str, object]:
    if not isinstance(value, dict):
        raise TypeError(f"[{name}] is a table, not {value!r}")
    return value


def _oidc(table: Mapping[str, object]) -> OidcOptions | None:
    if not table:
        return None
    for name, value in table.items():
        if not isinstance(value, str) or not value:
            raise TypeError(f"{name} of [oidc] is a text")
    made = OidcOptions(**table)  # type: ignore[arg-type]  # an unknown name is a TypeError, which the caller tells
    if not is_private(made.issuer):
        raise TypeError("issuer of [oidc] begins with https://")
    return made


def _hash(name: str, value: object) -> str:
    """Not shown where it is wrong: it may be a password."""
    if not isinstance(value, str) or not looks_hashed(value):
        raise TypeError(f"user {name} has no hash of a password: barnabas console --hash-password makes one")
    return value


def _role(table: Mapping[str, object]) -> Role:
    lists = {name: _texts(table[name]) for name in ("users", "topics", "mask") if name in table}
    rest = {name: value for name, value in table.items() if name not in lists}
    made = Role(**rest, **lists)  # type: ignore[arg-type]  # an unknown name is a TypeError, which the caller tells
    for name in ("data", "read_only"):
        if not isinstance(getattr(made, name), bool):
            raise TypeError(f"{name} of role {made.name!r} is true or false, not {getattr(made, name)!r}")
    return made


def _texts(value: object) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise TypeError(f"a list of texts is wanted, not {value!r}")
    return tuple(str(each) for each in value)
