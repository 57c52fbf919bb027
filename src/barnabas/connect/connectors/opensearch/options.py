"""Options of the OpenSearch sink, checked and taken apart: nodes, login, the name of the index."""

from __future__ import annotations

import ssl
import string
from base64 import b64encode
from dataclasses import dataclass
from typing import Literal
from urllib.parse import unquote, urlsplit

import msgspec

from barnabas.connect.contract import Options
from barnabas.connect.errors import BadOption
from barnabas.connect.options import Secret, read_options

TIME_FIELDS = frozenset({"year", "month", "day", "hour"})
FIELDS = TIME_FIELDS | {"topic"}


class OpensearchOptions(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    url: Secret  # several nodes by comma; a secret, since a password may stand in it
    index: str = "{topic}"
    id: Literal["auto", "key", "offset"] = "auto"
    version: Literal["offset", "timestamp"] = "offset"
    data_stream: bool = False
    timestamp_field: str = ""
    metadata: str = ""
    pipeline: str = ""
    username: str = ""
    password: Secret = ""
    api_key: Secret = ""
    ca: str = ""
    certificate: str = ""
    key: str = ""
    verify: bool = True
    compress: bool = False
    batch_bytes: int = 5_000_000
    batch_records: int = 10_000
    timeout_seconds: float = 60
    retry_seconds: float = 20

    def __repr__(self) -> str:  # the one that comes with a Struct has the secrets
        return f"OpensearchOptions(index={self.index!r})"


@dataclass(frozen=True)
class Node:
    """One address of the cluster. Never holds the login."""

    host: str
    port: int
    tls: bool
    path: str

    def __str__(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{'https' if self.tls else 'http'}://{host}:{self.port}{self.path}"


@dataclass(frozen=True)
class Settings:
    options: OpensearchOptions
    nodes: tuple[Node, ...]
    authorization: str  # the header's value; empty: none
    tls: ssl.SSLContext | None

    def __repr__(self) -> str:  # the login is in two of the fields
        return f"Settings({', '.join(map(str, self.nodes))})"

    @property
    def by_offset(self) -> bool:
        """Whether no record has its key as `_id`: a key in an index by day, or in a data stream, names no document."""
        timed = any(name in TIME_FIELDS for _, name, _, _ in string.Formatter().parse(self.options.index))
        return self.options.id == "offset" or (self.options.id == "auto" and (timed or self.options.data_stream))


def read_settings(given: Options) -> Settings:
    options = read_options("opensearch", OpensearchOptions, given)
    _check(options)
    nodes, login = [], (options.username, options.password)
    for url in filter(None, (each.strip() for each in options.url.split(","))):
        node, user, password = _node(url)
        nodes.append(node)
        if user and not login[0]:
            login = (user, password)
    if not nodes:
        raise BadOption("option 'url' of opensearch is empty", "Give the address of a node: http://HOST:9200")
    return Settings(options, tuple(nodes), _authorization(options, login), _tls(options, nodes))


def _node(url: str) -> tuple[Node, str, str]:
    parts = urlsplit(url if "://" in url else f"http://{url}")
    try:
        port = parts.port
    except ValueError:
        port = -1
    shown = f"{parts.scheme}://{parts.hostname or ''}"
    if parts.scheme not in ("http", "https") or not parts.hostname or port == -1:
        raise BadOption(
            f"option 'url' of opensearch: {shown!r} is no address", "Write http://HOST:PORT or https://HOST"
        )
    tls = parts.scheme == "https"
    default = 443 if tls else 9200
    node = Node(parts.hostname, port or default, tls, parts.path.rstrip("/"))
    return node, unquote(parts.username or ""), unquote(parts.password or "")


def _authorization(options: OpensearchOptions, login: tuple[str, str]) -> str:
    if options.api_key and login[0]:
        raise BadOption("opensearch has both 'username' and 'api_key'", "Leave one of them out")
    if options.api_key:
        return f"ApiKey {options.api_key}"
    if login[0]:
        return "Basic " + b64encode(f"{login[0]}:{login[1]}".encode()).decode()
    return ""


def _tls(options: OpensearchOptions, nodes: list[Node]) -> ssl.SSLContext | None:
    if not any(node.tls for node in nodes):
        return None
    try:
        context = ssl.create_default_context(cafile=options.ca or None)
        if options.certificate:
            context.load_cert_chain(options.certificate, options.key or None)
    except (OSError, ssl.SSLError) as problem:
        raise BadOption(
            f"opensearch cannot read a certificate: {problem.strerror or problem}",
            "Check the files of 'ca', 'certificate' and 'key'",
        ) from None
    if not options.verify:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    return context


def _check(options: OpensearchOptions) -> None:
    try:
        names = {name for _, name, _, _ in string.Formatter().parse(options.index) if name is not None}
    except ValueError:
        raise BadOption(f"option 'index' of opensearch: {options.index!r} has a brace that is not closed") from None
    if unknown := sorted(names - FIELDS):
        raise BadOption(
            f"option 'index' of opensearch has no field {{{unknown[0]}}}",
            f"There are: {', '.join(f'{{{name}}}' for name in sorted(FIELDS))}",
        )
    if not options.index:
        raise BadOption("option 'index' of opensearch is empty")
    if options.data_stream and options.id == "key":
        raise BadOption("a data stream only takes new documents, so opensearch cannot write by key", "Leave 'id' out")
    for name in ("batch_bytes", "batch_records", "timeout_seconds", "retry_seconds"):
        if getattr(options, name) <= 0:
            raise BadOption(f"option {name!r} of opensearch must be above 0")
