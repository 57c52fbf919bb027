"""Tokens of OAuth: what is accepted, and every way in which one may be wrong, forged or for somebody else."""

from __future__ import annotations

import base64
import hmac
import json
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from hypothesis import given
from hypothesis import strategies as st
from joserfc import jws
from joserfc.jwk import ECKey, OctKey, RSAKey

from barnabas.core.access.jwt import (
    ALGORITHMS,
    BadKeySet,
    BadToken,
    KeySet,
    TokenRules,
    UnknownKey,
    parse_key_set,
    unsigned,
    verified,
)
from barnabas.core.access.sasl.contract import Identity, LoginRefused, NotReady, RefusedByReply
from barnabas.core.access.sasl.oauthbearer import OAuthBearerServer

NOW = 1_700_000_000
RULES = TokenRules("https://issuer", frozenset({"kafka", "kafka-2"}))
CLAIMS: dict[str, Any] = {"iss": "https://issuer", "aud": "kafka", "sub": "alice", "iat": NOW - 10, "exp": NOW + 600}
RSA, FOREIGN = RSAKey.generate_key(2048), RSAKey.generate_key(2048)
EC = {curve: ECKey.generate_key(curve) for curve in ("P-256", "P-384", "P-521")}
SIGNERS = list(ALGORITHMS)


def public(key: RSAKey | ECKey, kid: str, **more: Any) -> dict[str, Any]:
    return {**key.as_dict(private=False), "kid": kid, **more}


def key_set(*keys: dict[str, Any]) -> KeySet:
    return parse_key_set(json.dumps({"keys": keys}).encode())


KEYS = key_set(public(RSA, "rsa", use="sig"), *(public(key, curve) for curve, key in EC.items()))


def signed(
    claims: dict[str, Any], algorithm: str = "RS256", key: Any = RSA, kid: str | None = "rsa", **header: Any
) -> str:
    named = {} if kid is None else {"kid": kid}
    registry = jws.JWSRegistry(algorithms=[*ALGORITHMS, "HS256"], strict_check_header=False)
    return jws.serialize_compact({"alg": algorithm, **named, **header}, json.dumps(claims), key, registry=registry)


def part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def refusal(token: str, keys: KeySet = KEYS, rules: TokenRules = RULES) -> str:
    with pytest.raises(BadToken) as refused:
        verified(token, keys, rules, NOW)
    return str(refused.value)


@pytest.mark.parametrize("algorithm", SIGNERS)
def test_every_algorithm(algorithm: str) -> None:
    kind, curve = ALGORITHMS[algorithm]
    key, kid = (RSA, "rsa") if kind == "RSA" else (EC[curve or ""], curve)
    token = signed(CLAIMS, algorithm, key, kid)
    assert verified(token, KEYS, RULES, NOW) == Identity("alice", (NOW + 600) * 1000)
    head, body, signature = token.split(".")
    flipped = signature[:-5] + ("A" if signature[-5] != "A" else "B") + signature[-4:]
    assert "signature is wrong" in refusal(f"{head}.{body}.{flipped}")
    assert "signature is wrong" in refusal(f"{head}.{part(CLAIMS | {'sub': 'admin'})}.{signature}")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"iss": "https://other"}, "its issuer is"),
        ({"iss": None}, "its issuer is"),
        ({"aud": "payments"}, "its audience is"),
        ({"aud": ["payments", 7]}, "its audience is"),
        ({"aud": None}, "its audience is"),
        ({"aud": {"kafka": 1}}, "its audience is"),
        ({"exp": NOW - 30}, "expired"),
        ({"exp": None}, "no time as exp"),
        ({"exp": True}, "no time as exp"),
        ({"exp": "never"}, "no time as exp"),
        ({"exp": 10**30}, "no time as exp"),
        ({"iat": None}, "no time as iat"),
        ({"iat": NOW + 31}, "issued in the future"),
        ({"nbf": NOW + 31}, "not valid yet"),
        ({"iat": NOW - 5, "exp": NOW - 6}, "expires before it begins"),
        ({"sub": None}, "no text as sub"),
        ({"sub": " "}, "no text as sub"),
        ({"sub": 7}, "no text as sub"),
        ({"scope": ["a", "a"]}, "no list of different texts"),
    ],
)
def test_claims_that_are_refused(change: dict[str, Any], words: str) -> None:
    claims = {name: value for name, value in (CLAIMS | change).items() if value is not None}
    assert words in refusal(signed(claims))


def test_clocks_may_differ_a_little() -> None:
    for change in ({"exp": NOW - 29, "iat": NOW - 60}, {"iat": NOW + 29}, {"nbf": NOW + 30}):
        assert verified(signed(CLAIMS | change), KEYS, RULES, NOW).user == "alice"


def test_other_claims_and_lists() -> None:
    rules = RULES._replace(subject_claim="client_id", scope_claim="scp")
    token = signed(CLAIMS | {"aud": ["x", "kafka-2"], "client_id": "job", "scp": ["a", "b"], "exp": NOW + 0.5})
    assert verified(token, KEYS, rules, NOW) == Identity("job", NOW * 1000 + 500)


# --- forgeries --------------------------------------------------------------------------------------------------------


def test_no_signature_at_all() -> None:
    for algorithm in ("none", "None", "NONE", "nOnE", ""):
        assert "is not accepted" in refusal(f"{part({'alg': algorithm, 'kid': 'rsa'})}.{part(CLAIMS)}.")


def test_an_hmac_with_the_public_key_as_its_secret() -> None:
    for secret in (RSA.as_pem(private=False), json.dumps(RSA.as_dict(private=False)).encode()):
        text = f"{part({'alg': 'HS256', 'kid': 'rsa'})}.{part(CLAIMS)}"
        signature = base64.urlsafe_b64encode(hmac.digest(secret, text.encode(), "sha256")).rstrip(b"=").decode()
        assert "'HS256' is not accepted" in refusal(f"{text}.{signature}")


def test_a_symmetric_key_is_never_taken_from_a_key_set() -> None:
    secret = OctKey.generate_key(256)
    entry = {**secret.as_dict(private=True), "kid": "oct"}
    assert all(key.kid != "oct" for key in key_set(public(RSA, "rsa"), entry).keys)
    with pytest.raises(BadKeySet):
        key_set(entry)


def test_a_foreign_key() -> None:
    assert "signature is wrong" in refusal(signed(CLAIMS, key=FOREIGN))
    with pytest.raises(UnknownKey):
        verified(signed(CLAIMS, key=FOREIGN, kid="foreign"), KEYS, RULES, NOW)
    # Keys that the token brings along are not looked at.
    token = signed(CLAIMS, key=FOREIGN, kid="rsa", jwk=FOREIGN.as_dict(private=False), jku="http://evil/jwks")
    assert "signature is wrong" in refusal(token)


def test_a_key_of_another_type_or_algorithm() -> None:
    assert "is not for the algorithm" in refusal(signed(CLAIMS, "ES256", EC["P-256"], "rsa"))
    assert "is not for the algorithm" in refusal(signed(CLAIMS, "ES256", EC["P-256"], "P-384"))
    only = key_set(public(RSA, "rsa", alg="PS256"))
    assert "is not for the algorithm" in refusal(signed(CLAIMS), only)
    assert verified(signed(CLAIMS, "PS256"), only, RULES, NOW).user == "alice"


def test_without_kid_one_key_has_to_be_meant() -> None:
    assert verified(signed(CLAIMS, kid=None), KEYS, RULES, NOW).user == "alice"
    assert "names no key" in refusal(signed(CLAIMS, kid=None), key_set(public(RSA, "a"), public(FOREIGN, "b")))


@pytest.mark.parametrize("use", [{"use": "enc"}, {"key_ops": ["encrypt"]}, {"key_ops": 7}, {"alg": "RSA-OAEP"}])
def test_keys_that_are_not_for_signatures(use: dict[str, Any]) -> None:
    with pytest.raises(BadKeySet):
        key_set(public(RSA, "rsa", **use))


def test_a_short_key_is_no_key() -> None:
    short = rsa.generate_private_key(65537, 1024).public_key().public_numbers()
    modulus = base64.urlsafe_b64encode(short.n.to_bytes(128, "big")).rstrip(b"=").decode()
    with pytest.raises(BadKeySet):
        key_set({"kty": "RSA", "kid": "short", "n": modulus, "e": "AQAB"})


@pytest.mark.parametrize("data", [b"", b"[]", b"{}", b'{"keys":7}', b'{"keys":[7]}', b"[" * 100_000, b"\xff", b"null"])
def test_what_is_no_key_set(data: bytes) -> None:
    with pytest.raises(BadKeySet):
        parse_key_set(data)
    with pytest.raises(BadKeySet):
        parse_key_set(json.dumps({"keys": [public(EC["P-256"], "p", x="AAAA")]}).encode())


@pytest.mark.parametrize(
    "token",
    [
        "",
        ".",
        "..",
        "a.b",
        "a.b.c.d.e",
        f"{part([])}.{part({})}.x",
        f"{part({'alg': 7})}.e30.x",
        "é.é.é",
        f"{part('[' * 5000)}.e30.AA",
        f"{base64.urlsafe_b64encode(b'[' * 5000).decode().rstrip('=')}.e30.AA",
        "A" * 200_000,
    ],
)
def test_what_is_no_token(token: str) -> None:
    assert refusal(token)


def test_claims_that_are_no_object() -> None:
    registry = jws.JWSRegistry(algorithms=["RS256"])
    for payload in (b"[]", b"7", b"", b"\xff\xfe", b"[" * 50_000, b'{"exp":NaN}'):
        token = jws.serialize_compact({"alg": "RS256", "kid": "rsa"}, payload, RSA, registry=registry)
        assert "no JSON object" in refusal(token)


@given(st.text(max_size=60) | st.binary(max_size=60).map(lambda data: base64.urlsafe_b64encode(data).decode()))
def test_nonsense_is_refused(text: str) -> None:
    for token in (text, f"{text}.{text}.{text}", f"{part({'alg': 'RS256', 'kid': 'rsa'})}.{text}.{text}"):
        assert refusal(token)


def test_unsigned_tokens_where_they_were_asked_for() -> None:
    rules = TokenRules(None, frozenset())
    token = f"{part({'alg': 'none'})}.{part({'sub': 'bob', 'exp': NOW + 5})}."
    assert unsigned(token, rules, NOW).user == "bob"
    for wrong in (token + "AA", signed(CLAIMS), f"{part({'alg': 'none'})}.{part({'sub': 'bob', 'exp': NOW - 50})}."):
        with pytest.raises(BadToken):
            unsigned(wrong, rules, NOW)


# --- the mechanism ----------------------------------------------------------------------------------------------------


def server(**known: Identity) -> OAuthBearerServer:
    def verify(token: str) -> Identity:
        if token not in known:
            raise BadToken("who is that")
        return known[token]

    return OAuthBearerServer(verify)


def first(token: str, head: str = "n,,", more: str = "") -> bytes:
    return f"{head}\x01auth=Bearer {token}\x01{more}\x01".encode()


def test_a_login() -> None:
    alice = Identity("alice", 5)
    assert server(t=alice).step(first("t")) == (b"", alice)
    assert server(t=alice).step(first("t", "n,a=alice,", "traceId=1 2\x01other=x\x01")) == (b"", alice)
    assert server(t=alice).step(b"n,,\x01x=y\x01auth=bEARER  t\x01\x01") == (b"", alice)


def test_a_refusal_comes_in_two_steps() -> None:
    machine = server(good=Identity("alice"))
    with pytest.raises(RefusedByReply, match="who is that") as told:
        machine.step(first("bad"))
    assert told.value.reply == b'{"status":"invalid_token"}'
    for message in (b"\x01", first("good")):  # one connection has one try
        with pytest.raises(LoginRefused) as refused:
            machine.step(message)
        assert str(refused.value) == '{"status":"invalid_token"}' and refused.value.reason == "who is that"
        assert refused.value.counted


def test_an_algorithm_that_is_no_text_is_refused() -> None:
    with pytest.raises(BadToken):
        verified(f"{part({'alg': ['RS256']})}.{part(CLAIMS)}.AAAA", KEYS, RULES, NOW)


@pytest.mark.parametrize(
    ("message", "words"),
    [
        (b"", "Invalid OAUTHBEARER client first message"),
        (b"\x01", "Invalid OAUTHBEARER client first message"),
        (b"\xff\xfe", "Invalid OAUTHBEARER client first message"),
        (b"y,,\x01auth=Bearer t\x01\x01", "Invalid OAUTHBEARER client first message"),
        (b"n,,\x01auth=Bearer t\x01", "Invalid OAUTHBEARER client first message"),
        (b"n,,\x01auth=Bearer t\x01\x01more", "Invalid OAUTHBEARER client first message"),
        (b"n,,\x01a1=b\x01auth=Bearer t\x01\x01", "Invalid OAUTHBEARER client first message"),
        (b"n,,\x01" + b"a=b\x01" * 120_000 + b"auth=Bearer t\x01\x01", "Invalid OAUTHBEARER client first message"),
        (b"n,,\x01\x01", "'auth' not specified"),
        (b"n,,\x01auth=Bearer\x01\x01", "invalid 'auth' format"),
        (b"n,,\x01auth=Bearer a b\x01\x01", "invalid 'auth' format"),
        (b"n,,\x01auth=Basic t\x01\x01", "Invalid scheme"),
        (first("t", "n,a=admin,"), "different from the token's principal name"),
    ],
)
def test_messages_that_are_refused(message: bytes, words: str) -> None:
    with pytest.raises(LoginRefused) as refused:
        server(t=Identity("alice")).step(message)
    assert words in str(refused.value)


def test_it_can_be_tried_again_when_keys_are_fetched() -> None:
    answers: list[Exception | Identity] = [NotReady(), Identity("alice")]

    def verify(token: str) -> Identity:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    machine = OAuthBearerServer(verify)
    with pytest.raises(NotReady):
        machine.step(first("t"))
    assert machine.step(first("t")) == (b"", Identity("alice"))
