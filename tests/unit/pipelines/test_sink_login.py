"""SCRAM by the example of RFC 7677, and what a login refuses."""

from __future__ import annotations

import pytest

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.sink.login import log_in, mechanism, protocol, scram

SERVER_FIRST = "r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
SERVER_LAST = "v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


def test_the_example_of_the_rfc() -> None:
    sent, answers = [], [SERVER_FIRST, SERVER_LAST]

    def exchange(message: bytes) -> bytes:
        sent.append(message.decode())
        return answers.pop(0).encode()

    scram("sha256", "user", "pencil", "rOprNGfwEbeRWgbNEkqO", exchange)
    assert sent == [
        "n,,n=user,r=rOprNGfwEbeRWgbNEkqO",
        "c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
    ]


@pytest.mark.parametrize(
    "answers",
    [
        [SERVER_FIRST, "v=AAAA"],  # a server that does not know the password
        ["r=somebody-elses,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"],
        [SERVER_FIRST.replace("i=4096", "i=1")],
    ],
)
def test_a_server_that_cannot_prove_itself(answers: list[str]) -> None:
    with pytest.raises(PipelineError, match="the login failed"):
        scram("sha256", "user", "pencil", "rOprNGfwEbeRWgbNEkqO", lambda _: answers.pop(0).encode())


def test_plain() -> None:
    sent = []
    log_in("PLAIN", {"sasl.username": "u", "sasl.password": "p"}, lambda message: sent.append(message) or b"")
    assert sent == [b"\0u\0p"]


def test_what_cannot_be_used() -> None:
    assert mechanism({}) is None
    assert protocol({"security.protocol": "SSL"}) == "ssl"
    with pytest.raises(PipelineError, match="not 'tls'"):
        protocol({"security.protocol": "tls"})
    with pytest.raises(PipelineError, match=r"GSSAPI is one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512.*connector=True"):
        mechanism({"security.protocol": "sasl_ssl", "sasl.mechanism": "GSSAPI"})
    with pytest.raises(PipelineError, match=r"kafka\.sasl\.username"):
        mechanism({"security.protocol": "sasl_ssl", "sasl.mechanism": "PLAIN"})
