"""TLS and SASL for a connection spoken by hand: PLAIN and SCRAM (RFC 5802, 7677), certificates as PEM.

Settings carry librdkafka's names (source/security.py translates Java's). What is not served here (Kerberos, OAuth) is
refused with one line; Spark's own connector has them.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
import os
import socket
import ssl
from collections.abc import Callable, Mapping

from barnabas.pipelines.errors import PipelineError

Exchange = Callable[[bytes], bytes]  # our message -> the server's answer

_SCRAM = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
MECHANISMS = ("PLAIN", *_SCRAM)
_ITERATIONS_LEAST = 4096  # RFC 7677: fewer is an attack or a mistake


def protocol(settings: Mapping[str, str]) -> str:
    name = settings.get("security.protocol", "plaintext").lower()
    if name not in ("plaintext", "ssl", "sasl_plaintext", "sasl_ssl"):
        raise PipelineError(f"kafka.security.protocol is PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL, not {name!r}")
    return name


def mechanism(settings: Mapping[str, str]) -> str | None:
    """The SASL mechanism, or None where nobody logs in."""
    if not protocol(settings).startswith("sasl"):
        return None
    name = settings.get("sasl.mechanism", settings.get("sasl.mechanisms", "")).upper()
    if name not in MECHANISMS:
        raise PipelineError(
            f"kafka.sasl.mechanism {name or 'is missing: it'} is one of {', '.join(MECHANISMS)} for this sink;"
            ' format("kafka") of session(connector=True) has the others'
        )
    if "sasl.username" not in settings or "sasl.password" not in settings:
        raise PipelineError("a login needs kafka.sasl.username and kafka.sasl.password, or kafka.sasl.jaas.config")
    return name


def wrapped(plain: socket.socket, host: str, settings: Mapping[str, str]) -> socket.socket:
    """The socket itself, or TLS on it."""
    if not protocol(settings).endswith("ssl"):
        return plain
    return context(settings).wrap_socket(plain, server_hostname=host)


def context(settings: Mapping[str, str]) -> ssl.SSLContext:
    try:
        found = ssl.create_default_context(cafile=settings.get("ssl.ca.location"), cadata=settings.get("ssl.ca.pem"))
        if "ssl.certificate.location" in settings:
            found.load_cert_chain(
                settings["ssl.certificate.location"], settings.get("ssl.key.location"), settings.get("ssl.key.password")
            )
    except (OSError, ssl.SSLError, ValueError) as error:
        raise PipelineError(f"the certificates cannot be used: {error}") from None
    if settings.get("ssl.endpoint.identification.algorithm", "https").lower() in ("", "none"):
        found.check_hostname = False
    if settings.get("enable.ssl.certificate.verification", "true").lower() == "false":
        found.check_hostname = False
        found.verify_mode = ssl.CERT_NONE
    return found


def log_in(name: str, settings: Mapping[str, str], exchange: Exchange) -> None:
    """Speaks the mechanism through `exchange`; a server that cannot prove itself is refused too."""
    user, password = settings["sasl.username"], settings["sasl.password"]
    if name == "PLAIN":
        exchange(f"\0{user}\0{password}".encode())
        return
    nonce = base64.b64encode(os.urandom(18)).decode()
    scram(_SCRAM[name], user, password, nonce, exchange)


def scram(digest: str, user: str, password: str, nonce: str, exchange: Exchange) -> None:
    first = f"n={user.replace('=', '=3D').replace(',', '=2C')},r={nonce}"
    server_first = exchange(f"n,,{first}".encode()).decode()
    told = _parts(server_first)
    if not told.get("r", "").startswith(nonce) or int(told.get("i", "0")) < _ITERATIONS_LEAST:
        raise PipelineError("the login failed: the server's answer is not what SCRAM asks for")
    salted = hashlib.pbkdf2_hmac(digest, password.encode(), base64.b64decode(told["s"]), int(told["i"]))
    last = f"c=biws,r={told['r']}"
    signed = f"{first},{server_first},{last}".encode()
    client_key = hmac.digest(salted, b"Client Key", digest)
    signature = hmac.digest(hashlib.new(digest, client_key).digest(), signed, digest)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    answer = _parts(exchange(f"{last},p={base64.b64encode(proof).decode()}".encode()).decode())
    expected = hmac.digest(hmac.digest(salted, b"Server Key", digest), signed, digest)
    if not hmac.compare_digest(base64.b64decode(answer.get("v", "")), expected):
        raise PipelineError("the login failed: the server does not know the password either")


def _parts(message: str) -> dict[str, str]:
    return {part[:1]: part[2:] for part in message.split(",") if part[1:2] == "="}
