"""Listeners with TLS and with a login beside the plain one, by the same settings on both servers, and their clients."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import socket
import ssl
import struct
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialUpsertion,
)

from barnabas.cli.secure.authority import create_authority, issue_node
from barnabas.cli.secure.files import CA_CERTIFICATE

from . import wire

USER, PASSWORD, ITERATIONS = "alice", "alice-secret", 4096
MECHANISM, DIGEST = "SCRAM-SHA-512", "sha512"
SASL_HANDSHAKE, SASL_AUTHENTICATE = 17, 36


@dataclass(frozen=True, slots=True)
class Secured:
    folder: Path  # certificates
    tls_port: int
    login_port: int

    def create(self) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        create_authority(self.folder)
        issue_node(self.folder, "node", ["127.0.0.1"], self.folder / "node.pem")

    def settings(self, listeners: str, protocols: str) -> dict[str, object]:
        """`listeners`: those that are there anyway."""
        tls, login = f"TLS://127.0.0.1:{self.tls_port}", f"LOGIN://127.0.0.1:{self.login_port}"
        every = f"{listeners},{tls},{login}"
        return {
            "listeners": every,
            "advertised.listeners": every,
            "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,TLS:SSL,LOGIN:SASL_PLAINTEXT{protocols}",
            "inter.broker.listener.name": "PLAINTEXT",
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": self.folder / "node.pem",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self.ca,
            "sasl.enabled.mechanisms": MECHANISM,
            "listener.name.login.scram-sha-512.sasl.jaas.config": (
                "org.apache.kafka.common.security.scram.ScramLoginModule required;"
            ),
        }

    @property
    def ca(self) -> Path:
        return self.folder / CA_CERTIFICATE

    @property
    def tls_bootstrap(self) -> str:
        return f"127.0.0.1:{self.tls_port}"

    def client(self) -> dict[str, object]:
        """librdkafka over TLS; names with _ for the dots."""
        return {"security_protocol": "SSL", "ssl_ca_location": str(self.ca)}

    def context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.ca))


def create_user(bootstrap: str) -> None:
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, ITERATIONS)
    change: UserScramCredentialAlteration = UserScramCredentialUpsertion(USER, info, PASSWORD.encode())
    admin.alter_user_scram_credentials([change])[USER].result(30)


class TlsConnection(wire.Connection):
    def __init__(self, port: int, context: ssl.SSLContext) -> None:
        super().__init__(("127.0.0.1", port))
        self.socket = context.wrap_socket(self.socket, server_hostname="127.0.0.1")


class Login:
    """SCRAM by hand. The salted password is made once: a client's hashing is not what is measured."""

    def __init__(self, port: int) -> None:
        self._address = ("127.0.0.1", port)
        self._keys: tuple[bytes, bytes] | None = None

    def once(self) -> None:
        """Connect, log in, close."""
        connection = wire.Connection(self._address, buffer_bytes=4096)
        try:
            connection.call(wire.frame(SASL_HANDSHAKE, 1, wire.string(MECHANISM)))
            nonce = secrets.token_urlsafe(18)
            first = f"n={USER},r={nonce}"
            told = self._say(connection, f"n,,{first}".encode())
            parts = {part[:1]: part[2:] for part in told.split(",")}
            client_key, stored_key = self._keys or self._make_keys(base64.b64decode(parts["s"]), int(parts["i"]))
            last = f"c=biws,r={parts['r']}"
            signature = hmac.digest(stored_key, f"{first},{told},{last}".encode(), DIGEST)
            proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
            self._say(connection, f"{last},p={base64.b64encode(proof).decode()}".encode())
        finally:
            connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()

    def _make_keys(self, salt: bytes, iterations: int) -> tuple[bytes, bytes]:
        salted = hashlib.pbkdf2_hmac(DIGEST, PASSWORD.encode(), salt, iterations)
        client_key = hmac.digest(salted, b"Client Key", DIGEST)
        self._keys = client_key, hashlib.new(DIGEST, client_key).digest()
        return self._keys

    def _say(self, connection: wire.Connection, message: bytes) -> str:
        body = struct.pack(">i", len(message)) + message
        answer = connection.call(wire.frame(SASL_AUTHENTICATE, 0, body))
        code, length = struct.unpack_from(">hh", answer)
        if code:
            raise wire.RequestFailed(f"login: error {code}")
        at = 4 + max(0, length)
        size = struct.unpack_from(">i", answer, at)[0]
        return bytes(answer[at + 4 : at + 4 + size]).decode()
