"""SCRAM-SHA-256 and -512 (RFC 5802, 7677; KIP-84): the password never travels, and the node does not keep it.

What a node keeps of a password (`ScramCredential`) is in the metadata log: a salt, how often the password was hashed,
and two keys that prove a login without letting anybody log in who reads them.

An unknown user is answered like a known one, with a salt that is always the same for that name, on every node, and
refused at the end: a stranger cannot find out which users there are. The nonce of the last message has to be the one
that was agreed on (CVE-2024-56128). librdkafka before 2.6.1 puts its own part in front of it once more; Kafka 3.9 lets
that pass, 4.0 does not. It passes here: what makes a message useless for anybody who repeats it is the node's part.
"""

import base64
import hashlib
import hmac
import re
from collections.abc import Callable
from typing import NamedTuple

from barnabas.core.access.credentials import ScramCredential
from barnabas.core.access.delegation_tokens import TokenCredential
from barnabas.core.access.sasl.contract import OTHER_ID, Identity, LoginRefused, invalid_credentials

ITERATIONS_MIN, ITERATIONS_MAX = 4096, 16384  # Kafka's own bounds
ITERATIONS_DEFAULT = 8192  # of the users that we make, and so what an unknown user is told
SALT_BYTES = 18

_BASE64 = r"[A-Za-z0-9/+]+={0,2}"
_NAME = r"(?:[^\0=,]|=2C|=3D)+"
_PRINTABLE = r"[\x21-\x2B\x2D-\x7E]+"
_CLIENT_FIRST = re.compile(
    rf"(n,(?:a=(?P<authorization_id>{_NAME}))?,)"
    rf"(?P<bare>n=(?P<user>{_NAME}),r=(?P<nonce>{_PRINTABLE})(?P<extensions>(?:,[A-Za-z]+=[^\0,]+)*))"
)
_CLIENT_FINAL = re.compile(
    rf"(?P<unsigned>c=(?P<binding>{_BASE64}),r=(?P<nonce>{_PRINTABLE})(?:,[A-Za-z]+=[^\0,]+)*),p=(?P<proof>{_BASE64})"
)


class ScramMechanism(NamedTuple):
    name: str
    number: int  # in APIs 50 and 51 and in the metadata log
    digest: str
    key_bytes: int


SHA_256 = ScramMechanism("SCRAM-SHA-256", 1, "sha256", 32)
SHA_512 = ScramMechanism("SCRAM-SHA-512", 2, "sha512", 64)
SCRAM = {mechanism.name: mechanism for mechanism in (SHA_256, SHA_512)}
BY_NUMBER = {mechanism.number: mechanism for mechanism in SCRAM.values()}


def salted_password(mechanism: ScramMechanism, password: str, salt: bytes, iterations: int) -> bytes:
    return hashlib.pbkdf2_hmac(mechanism.digest, password.encode(), salt, iterations)


def credential(mechanism: ScramMechanism, salt: bytes, salted: bytes, iterations: int) -> ScramCredential:
    """What is kept of a salted password (AlterUserScramCredentials brings one)."""
    client_key = hmac.digest(salted, b"Client Key", mechanism.digest)
    stored_key = hashlib.new(mechanism.digest, client_key).digest()
    return ScramCredential(salt, stored_key, hmac.digest(salted, b"Server Key", mechanism.digest), iterations)


def upsertion(
    user: str, password: str, mechanism: ScramMechanism, salt: bytes, iterations: int = ITERATIONS_DEFAULT
) -> dict[str, object]:
    """A user's password as AlterUserScramCredentials takes it."""
    return {
        "name": user,
        "mechanism": mechanism.number,
        "iterations": iterations,
        "salt": salt,
        "salted_password": salted_password(mechanism, password, salt, iterations),
    }


def salt_of(secret: bytes, mechanism: ScramMechanism, name: str) -> bytes:
    """Of a user that does not exist, and of a delegation token: always the same for that name."""
    return hmac.digest(secret, f"{mechanism.name} {name}".encode(), "sha256")[:SALT_BYTES]


class ScramServer:
    """`find(user)` gives the user's credential or None, `find_token(id)` that of a delegation token (a client that says
    `tokenauth=true`); `nonce` is fresh randomness; `secret()` is the cluster's, for the salts of users that do not
    exist."""

    def __init__(
        self,
        mechanism: ScramMechanism,
        find: Callable[[str], ScramCredential | None],
        nonce: str,
        secret: Callable[[], bytes],
        find_token: Callable[[str], TokenCredential | None] | None = None,
    ) -> None:
        self._mechanism = mechanism
        self._find = find
        self._find_token = find_token
        self._nonce = nonce
        self._secret = secret
        self._first: tuple[str, str, str] | None = None  # (gs2 header, client's first message, ours)
        self._nonces: tuple[str, ...] = ()  # that the last message may have
        self._identity = Identity("")
        self._credential: ScramCredential | None = None

    def step(self, message: bytes) -> tuple[bytes, Identity | None]:
        try:
            text = message.decode()
        except UnicodeDecodeError:
            raise LoginRefused(f"Invalid {self._mechanism.name} message: it is not UTF-8") from None
        if self._first is None:
            return self._answer_first(text), None
        return self._answer_final(text, *self._first), self._identity

    def _answer_first(self, text: str) -> bytes:
        match = _CLIENT_FIRST.fullmatch(text)
        if match is None:
            raise LoginRefused(f"Invalid {self._mechanism.name} client first message")
        user = match["user"].replace("=2C", ",").replace("=3D", "=")
        if match["authorization_id"] and match["authorization_id"] != match["user"]:
            raise LoginRefused(OTHER_ID)
        by_token = "tokenauth=true" in match["extensions"].lower().split(",")
        self._look_up(user, by_token=by_token)
        found = self._credential
        salt = self._invented_salt(user) if found is None else found.salt
        iterations = ITERATIONS_DEFAULT if found is None else found.iterations
        nonce = match["nonce"] + self._nonce
        self._nonces = (nonce, match["nonce"] + nonce)
        first = f"r={nonce},s={base64.b64encode(salt).decode()},i={iterations}"
        self._first = (match[1], match["bare"], first)
        return first.encode()

    def _look_up(self, user: str, *, by_token: bool) -> None:
        if not by_token:
            self._credential, self._identity = self._find(user), Identity(user)
            return
        token = self._find_token(user) if self._find_token is not None else None
        if token is None:
            self._identity = Identity(user, by_token=True)  # who failed; nobody gets in without a credential
        else:
            self._credential = token.credential
            self._identity = Identity(token.user, token.expires_ms, by_token=True)

    def _invented_salt(self, user: str) -> bytes:
        return salt_of(self._secret(), self._mechanism, user)

    def _answer_final(self, text: str, header: str, client_first: str, server_first: str) -> bytes:
        match = _CLIENT_FINAL.fullmatch(text)
        if match is None:
            raise LoginRefused(f"Invalid {self._mechanism.name} client final message")
        found, digest = self._credential, self._mechanism.digest
        if match["nonce"] not in self._nonces or match["binding"] != base64.b64encode(header.encode()).decode():
            raise LoginRefused(f"Invalid {self._mechanism.name} client nonce or channel binding in the final message")
        try:
            proof = base64.b64decode(match["proof"], validate=True)
        except ValueError:
            proof = b""
        if found is None or len(proof) != self._mechanism.key_bytes:
            raise invalid_credentials(self._mechanism.name, self._identity.user)
        signed = f"{client_first},{server_first},{match['unsigned']}".encode()
        signature = hmac.digest(found.stored_key, signed, digest)
        client_key = (int.from_bytes(proof, "big") ^ int.from_bytes(signature, "big")).to_bytes(len(proof), "big")
        if not hmac.compare_digest(hashlib.new(digest, client_key).digest(), found.stored_key):
            raise invalid_credentials(self._mechanism.name, self._identity.user)
        return b"v=" + base64.b64encode(hmac.digest(found.server_key, signed, digest))
