"""Who is at the other end of a connection: principal, listener, address, and what the client says it is.

A connection has one session, which every request on it refers to. A request that another node handed on in an Envelope
has a session of its own, with the principal and the address that the Envelope names. The principal is that of the
login, or of the client's TLS certificate on a listener without SASL; without either it is User:ANONYMOUS, as in Kafka.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING, NamedTuple

from msgspec import Struct

from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.wire.codec import decode_struct, encode_struct
from barnabas.wire.errors import ProtocolError

if TYPE_CHECKING:
    from barnabas.broker.access import AccessMemo
    from barnabas.broker.network.connection import Connection
    from barnabas.broker.network.login.conversation import Login
    from barnabas.broker.network.throttling import SessionMeters
    from barnabas.wire.messages import DefaultPrincipalData, DefaultPrincipalDataBody

_PRINCIPAL = "default_principal_data"  # Kafka's schema for a principal in an Envelope
_VERSION = 0
_VERSION_BYTES = 2


class Principal(NamedTuple):
    type: str
    name: str
    token_authenticated: bool = False

    def __str__(self) -> str:
        return f"{self.type}:{self.name}"


ANONYMOUS = Principal("User", "ANONYMOUS")
NODE_SOFTWARE = "barnabas-node"  # what a node says it is when it writes to the audit trail on another node


class Session(Struct):
    client_host: str  # its address
    listener_host: str = ""  # the address on which the client reached this node
    listener_port: int = 0
    listener: str = ""  # the name of the listener, empty when the request came on none
    principal: Principal = ANONYMOUS
    software_name: str = ""  # of the client, from ApiVersions 3 on
    software_version: str = ""
    client_id: str = ""  # from ApiVersions
    connection: Connection | None = None  # None: asked inside this process, or handed on by another node
    login: Login | None = None  # of a connection on a listener with SASL
    meters: SessionMeters | None = None  # of its client's quotas, while there are any (throttling.py)
    client_port: int = 0  # 0: not known
    is_encrypted: bool = False  # by TLS, all the way from the client to this node
    of_node: bool = False  # a wish of a node itself, not of a client that it hands on
    access_memo: AccessMemo | None = None  # what it was found to be allowed (broker/access.py)

    @property
    def may_use_tokens(self) -> bool:
        """Delegation tokens are for those who have proved who they are, and not by such a token (KIP-48)."""
        principal = self.principal
        return not principal.token_authenticated and (self.login is not None or principal != ANONYMOUS)


OWN = Session("", of_node=True)
"""Of what a node asks itself."""


def principal_bytes(principal: Principal) -> bytes:
    """As an Envelope carries it: Kafka's default serialization, behind its version."""
    body: DefaultPrincipalDataBody = {
        "type": principal.type,
        "name": principal.name,
        "token_authenticated": principal.token_authenticated,
    }
    return _VERSION.to_bytes(_VERSION_BYTES, "big") + encode_struct(_PRINCIPAL, _VERSION, body)


def principal_from(data: bytes | None) -> Principal:
    """None: a node that says nothing of it. Raises PRINCIPAL_DESERIALIZATION_FAILURE for bytes that are none."""
    if data is None:
        return ANONYMOUS
    try:
        version = int.from_bytes(data[:_VERSION_BYTES], "big")
        found: DefaultPrincipalData = decode_struct(_PRINCIPAL, version, data, _VERSION_BYTES)
    except ProtocolError as error:
        raise KafkaError(ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE, str(error)) from error
    return Principal(found.type, found.name, found.token_authenticated)


def plain_host(host: str) -> str:
    """An IPv4 address as seen by an IPv6 socket is told as what it is: rules name it so."""
    return host.removeprefix("::ffff:") if "." in host else host


def packed_address(host: str) -> bytes:
    """As an Envelope carries it; nothing for what is no address."""
    try:
        return ip_address(host).packed
    except ValueError:
        return b""
