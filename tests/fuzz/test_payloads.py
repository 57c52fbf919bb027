"""Spoilt bytes into what reads the opaque fields of a request: logins, tokens, and what members of a group carry.

A login is refused, never more; what a client put into its group is read or is unknown.
"""

import base64
import hashlib
import hmac
import json
import random
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from barnabas.core.access.jwt import KeySet, TokenRules, unsigned, verified
from barnabas.core.access.sasl.contract import LoginRefused, RefusedByReply
from barnabas.core.access.sasl.oauthbearer import OAuthBearerServer
from barnabas.core.access.sasl.plain import PlainServer
from barnabas.core.access.sasl.scram import SHA_256, ScramServer, credential, salted_password
from barnabas.core.groups.embedded import (
    assignment_user_data,
    embedded_version,
    read_assignment,
    read_subscription,
    write_assignment,
)
from tests.fuzz.inputs import spoil
from tests.fuzz.rounds import REFUSALS, SEED, TOTAL, Target, refused_of_spoilt

LOGINS = (LoginRefused, RefusedByReply)
RULES = TokenRules("issuer", frozenset())
CREDENTIAL = credential(SHA_256, b"salt", salted_password(SHA_256, "secret", b"salt", 1), 1)
FIRST = "n=anna,r=fresh"


def plain(rng: random.Random) -> list[Target]:
    return [(PlainServer({"anna": "secret"}).step, b"\0anna\0secret"), (PlainServer({}).step, b"bo\0anna\0x")]


def _server() -> ScramServer:
    return ScramServer(SHA_256, {"anna": CREDENTIAL}.get, "ours", lambda: b"of the cluster", lambda token: None)


def scram(rng: random.Random) -> list[Target]:
    def first(data: bytes) -> None:
        _server().step(data)

    def last(data: bytes) -> None:
        server = _server()
        server.step(f"n,,{FIRST}".encode())
        server.step(data)

    server = _server()
    answer = server.step(f"n,,{FIRST}".encode())[0].decode()
    unsigned_part = "c=biws,r=freshours"
    key = hmac.digest(salted_password(SHA_256, "secret", b"salt", 1), b"Client Key", "sha256")
    signature = hmac.digest(hashlib.sha256(key).digest(), f"{FIRST},{answer},{unsigned_part}".encode(), "sha256")
    proof = base64.b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True))).decode()
    whole = f"{unsigned_part},p={proof}".encode()
    assert _accepted(server.step, whole), "the message that is spoilt has to be a good one"
    return [
        (first, f"n,,{FIRST}".encode()),
        (first, f"n,a=anna,{FIRST},tokenauth=true".encode()),
        (last, whole),
    ]


def _accepted(step: Callable[[bytes], Any], message: bytes) -> bool:
    return step(message)[1] is not None


def _token(header: dict[str, Any], claims: dict[str, Any], signature: bytes = b"") -> str:
    parts = [json.dumps(header).encode(), json.dumps(claims).encode(), signature]
    return ".".join(base64.urlsafe_b64encode(part).rstrip(b"=").decode() for part in parts)


CLAIMS = {"iss": "issuer", "sub": "anna", "aud": ["a"], "exp": 2_000_000_000, "iat": 1, "scope": ["x", "y"]}


def oauth(rng: random.Random) -> list[Target]:
    def message(token: str) -> bytes:
        return f"n,a=anna,\x01auth=Bearer {token}\x01ext=1\x01\x01".encode()

    def step(verify: Callable[[str], Any], data: bytes) -> None:
        OAuthBearerServer(verify).step(data)

    def spoilt_claims(data: bytes) -> None:
        """The bytes are the claims, so that what is behind base64 is spoilt, too."""
        claims = base64.urlsafe_b64encode(data).rstrip(b"=").decode()
        step(free, message(f"{head}.{claims}."))

    free = partial(unsigned, rules=RULES, now_s=1000.0)
    signed = partial(verified, keys=KeySet(()), rules=RULES, now_s=1000.0)
    head = _token({"alg": "none"}, CLAIMS).partition(".")[0]
    good = message(_token({"alg": "none"}, CLAIMS))
    assert _accepted(OAuthBearerServer(free).step, good)
    return [
        (partial(step, free), good),
        (partial(step, signed), message(_token({"alg": "RS256", "kid": "k"}, CLAIMS, b"x" * 64))),
        (spoilt_claims, json.dumps(CLAIMS).encode()),
    ]


@pytest.mark.parametrize("targets", [plain, scram, oauth], ids=["plain", "scram", "oauth"])
def test_a_login_is_refused_and_nothing_else_comes_out(targets: Callable[[random.Random], list[Target]]) -> None:
    rng = random.Random(SEED)
    rounds = TOTAL // 50
    assert refused_of_spoilt(targets(rng), rounds, rng, (*LOGINS, *REFUSALS)) > rounds // 2


def test_what_a_member_carries_is_read_or_unknown() -> None:
    topics = {"orders": frozenset({0, 1}), "täglich": frozenset[int]()}
    rng = random.Random(SEED)
    assignment = write_assignment(topics)
    subscription = (
        (3).to_bytes(2) + (1).to_bytes(4) + (6).to_bytes(2) + b"orders" + (-1).to_bytes(4, signed=True)
        + assignment[2:-4] + (7).to_bytes(4) + (1).to_bytes(2) + b"r"
    )  # fmt: skip
    read = read_subscription(subscription)
    assert read is not None and (read.topics, read.owned, read.rack_id) == (("orders",), topics, "r")
    unknown = 0
    for number in range(TOTAL // 50):
        data = spoil(subscription if number % 2 else assignment, rng)
        unknown += read_subscription(data) is None
        unknown += read_assignment(data) is None
        assert isinstance(assignment_user_data(data), bytes)
        assert 0 <= embedded_version(data) <= 3
    assert unknown > TOTAL // 500
