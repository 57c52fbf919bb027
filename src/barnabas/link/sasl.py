"""The client's side of PLAIN (RFC 4616), SCRAM (RFC 5802, 7677), OAUTHBEARER (RFC 7628) and EXTERNAL (RFC 4422).
It does no I/O.

A mechanism is a generator of messages that is sent the node's answers and ends when the login is done. A node that
cannot prove that it knows the password, or whose answer is not what SCRAM asks for, is refused with LoginFailed.
"""

import base64
import hashlib
import hmac
from collections.abc import Generator
from dataclasses import dataclass, field

from barnabas.link.errors import LoginFailed

_DIGESTS = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
EXTERNAL = "EXTERNAL"  # the TLS certificate says who it is
OAUTHBEARER = "OAUTHBEARER"  # the password is a token, which somebody has fetched (token_endpoint.py)
MECHANISMS = ("PLAIN", *_DIGESTS, EXTERNAL)
ITERATIONS_MIN = 4096  # RFC 7677: fewer is an attack or a mistake
ITERATIONS_MAX = 1 << 20  # about a second of hashing; Kafka's own limit is 16,384

Messages = Generator[bytes, bytes, None]


@dataclass(frozen=True, slots=True)
class Credentials:
    mechanism: str  # one of MECHANISMS, or OAUTHBEARER
    user: str
    password: str = field(repr=False)
    by_token: bool = False  # a delegation token: its id and its HMAC (KIP-48), by SCRAM


def messages(credentials: Credentials, nonce: str) -> Messages:
    if credentials.mechanism == "PLAIN":
        return _plain(credentials)
    if credentials.mechanism == EXTERNAL:
        return _external()
    if credentials.mechanism == OAUTHBEARER:
        return _oauthbearer(credentials)
    return _scram(_DIGESTS[credentials.mechanism], credentials, nonce)


def _plain(credentials: Credentials) -> Messages:
    yield f"\0{credentials.user}\0{credentials.password}".encode()


def _external() -> Messages:
    yield b""


def _oauthbearer(credentials: Credentials) -> Messages:
    answer = yield f"n,,\x01auth=Bearer {credentials.password}\x01\x01".encode()
    if answer:
        yield b"\x01"  # a refusal is to be answered; the node then fails the login with the same text
        raise LoginFailed("the login failed: the node does not accept the token")


def _scram(digest: str, credentials: Credentials, nonce: str) -> Messages:
    user = credentials.user.replace("=", "=3D").replace(",", "=2C")
    first = f"n={user},r={nonce}" + (",tokenauth=true" if credentials.by_token else "")
    answer = yield f"n,,{first}".encode()
    try:
        server_first = answer.decode()
        told = _parts(server_first)
        iterations, salt = int(told["i"]), base64.b64decode(told["s"], validate=True)
    except (KeyError, ValueError):
        raise _not_scram() from None
    if not told.get("r", "").startswith(nonce) or not ITERATIONS_MIN <= iterations <= ITERATIONS_MAX:
        raise _not_scram()
    salted = hashlib.pbkdf2_hmac(digest, credentials.password.encode(), salt, iterations)
    last = f"c=biws,r={told['r']}"
    signed = f"{first},{server_first},{last}".encode()
    client_key = hmac.digest(salted, b"Client Key", digest)
    signature = hmac.digest(hashlib.new(digest, client_key).digest(), signed, digest)
    proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
    answer = yield f"{last},p={base64.b64encode(proof).decode()}".encode()
    expected = hmac.digest(hmac.digest(salted, b"Server Key", digest), signed, digest)
    try:
        verifier = base64.b64decode(_parts(answer.decode())["v"], validate=True)
    except (KeyError, ValueError):
        raise _not_scram() from None
    if not hmac.compare_digest(verifier, expected):
        raise LoginFailed("the login failed: the server does not know the password either")


def _not_scram() -> LoginFailed:
    return LoginFailed("the login failed: the server's answer is not what SCRAM asks for")


def _parts(message: str) -> dict[str, str]:
    return {part[:1]: part[2:] for part in message.split(",") if part[1:2] == "="}
