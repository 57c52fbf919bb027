"""Versions and logins as conversations: SCRAM by the example of RFC 7677, and servers that are refused."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.link.errors import LoginFailed, NotKafka, UnknownApi
from barnabas.link.opening import Ask, Conversation, ask_versions, log_in, log_in_again_after_ms
from barnabas.link.sasl import Credentials, messages
from barnabas.link.versions import NONE_IN_COMMON, NodeVersions
from barnabas.wire.apis import API_VERSIONS, FETCH, METADATA, SASL_AUTHENTICATE, SASL_HANDSHAKE

NONCE = "rOprNGfwEbeRWgbNEkqO"
SERVER_FIRST = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
SERVER_LAST = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
SCRAM = Credentials("SCRAM-SHA-256", "user", "pencil")


def run(conversation: Conversation[Any], *answers: Any) -> tuple[list[Ask], Any]:
    """What was asked, and the result."""
    asked, rest = [next(conversation)], list(answers)
    while True:
        try:
            asked.append(conversation.send(rest.pop(0)))
        except StopIteration as end:
            assert not rest
            return asked, end.value


def told(**fields: Any) -> SimpleNamespace:
    return SimpleNamespace(**{"error_code": 0, "error_message": None, "session_lifetime_ms": 0, **fields})


def scram_messages(*answers: str) -> list[str]:
    speaking = messages(SCRAM, NONCE)
    sent = [next(speaking).decode()]
    for answer in answers[:-1]:
        sent.append(speaking.send(answer.encode()).decode())
    with pytest.raises(StopIteration):
        speaking.send(answers[-1].encode())
    return sent


def test_the_example_of_the_rfc() -> None:
    assert scram_messages(SERVER_FIRST, SERVER_LAST) == [
        "n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
        "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
    ]


@pytest.mark.parametrize(
    "answers",
    [
        [SERVER_FIRST, "v=AAAA"],  # a server that does not know the password
        [SERVER_FIRST, "e=other-error"],
        [SERVER_FIRST, "v=%%%"],
        ["r=somebody-elses,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"],
        [SERVER_FIRST.replace("i=4096", "i=1")],
        [SERVER_FIRST.replace("i=4096", "i=2000000000")],  # would hash for half an hour
        [SERVER_FIRST.replace("i=4096", "i=many")],
        [SERVER_FIRST.replace("s=W22", "s=%%%")],
        ["nothing of the kind"],
        [""],
    ],
)
def test_a_server_that_cannot_prove_itself(answers: list[str]) -> None:
    with pytest.raises(LoginFailed, match="the login failed"):
        scram_messages(*answers)


def test_a_server_that_answers_no_text() -> None:
    speaking = messages(SCRAM, NONCE)
    next(speaking)
    with pytest.raises(LoginFailed, match="the login failed"):
        speaking.send(b"\xff\xfe")


def test_a_login_is_a_handshake_and_the_messages_of_the_mechanism() -> None:
    asked, _ = run(log_in(Credentials("PLAIN", "u", "p"), ""), told(mechanisms=["PLAIN"]), told(auth_bytes=b""))
    assert asked == [
        Ask(SASL_HANDSHAKE, 1, {"mechanism": "PLAIN"}),
        Ask(SASL_AUTHENTICATE, 1, {"auth_bytes": b"\0u\0p"}),
    ]
    answers = [told(auth_bytes=each.encode()) for each in (SERVER_FIRST, SERVER_LAST)]
    asked, _ = run(log_in(SCRAM, NONCE), told(mechanisms=[]), *answers)
    assert [each.api_key for each in asked] == [SASL_HANDSHAKE, SASL_AUTHENTICATE, SASL_AUTHENTICATE]


@pytest.mark.parametrize(("lifetime_ms", "after_ms"), [(2_000, 1_000), (20_000, 15_000), (3_600_000, 3_060_000)])
def test_the_next_login_begins_before_this_one_ends(lifetime_ms: int, after_ms: int) -> None:
    answer = told(auth_bytes=b"", session_lifetime_ms=lifetime_ms)
    _, lifetime = run(log_in(Credentials("PLAIN", "u", "p"), ""), told(mechanisms=["PLAIN"]), answer)
    assert lifetime == lifetime_ms
    assert log_in_again_after_ms(lifetime) == after_ms


def test_a_node_that_refuses() -> None:
    with pytest.raises(LoginFailed, match="does not know the login SCRAM-SHA-256, only PLAIN, GSSAPI"):
        run(log_in(SCRAM, NONCE), told(error_code=33, mechanisms=["PLAIN", "GSSAPI"]))
    with pytest.raises(LoginFailed, match="the login failed: wrong user or password"):
        run(log_in(SCRAM, NONCE), told(mechanisms=[]), told(error_code=58))
    with pytest.raises(LoginFailed, match="the login failed: not today"):
        run(log_in(SCRAM, NONCE), told(mechanisms=[]), told(error_code=58, error_message="not today"))


def test_a_password_is_not_shown() -> None:
    assert "pencil" not in repr(SCRAM)


def test_versions_are_asked_in_version_0() -> None:
    keys = [SimpleNamespace(api_key=FETCH, min_version=4, max_version=12)]
    asked, versions = run(ask_versions(), told(api_keys=keys))
    assert asked == [Ask(API_VERSIONS, 0, {})]
    assert versions.newest(FETCH) == 12
    with pytest.raises(NotKafka, match="unsupported version"):
        run(ask_versions(), told(error_code=35, api_keys=[]))


@pytest.mark.parametrize(
    ("spoken", "at_most", "newest"),
    [
        ((0, 12), None, 12),
        ((0, 99), None, 13),  # a later Kafka: the newest that we know
        ((0, 99), 9, 9),
        ((10, 13), 9, NONE_IN_COMMON),  # it no longer speaks what we want
        ((14, 20), None, NONE_IN_COMMON),
        ((5, 3), None, NONE_IN_COMMON),
        ((-5, -1), None, NONE_IN_COMMON),
    ],
)
def test_the_newest_version_both_know(spoken: tuple[int, int], at_most: int | None, newest: int) -> None:
    versions = NodeVersions({METADATA: spoken})
    assert versions.newest(METADATA, at_most) == newest
    if newest == NONE_IN_COMMON:
        with pytest.raises(UnknownApi, match="the node does not know Metadata"):
            versions.must(METADATA, at_most)


def test_an_api_the_node_does_not_name() -> None:
    assert NodeVersions({}).newest(FETCH) == NONE_IN_COMMON
