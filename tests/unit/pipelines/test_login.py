"""Security settings of a query: what is taken, and what is refused with one line."""

from __future__ import annotations

import ssl

import pytest

from barnabas.link.sasl import Credentials
from barnabas.pipelines.common.login import credentials, tls
from barnabas.pipelines.errors import PipelineError


def test_what_is_taken() -> None:
    login = {"security.protocol": "SASL_SSL", "sasl.username": "u", "sasl.password": "p"}
    assert credentials(login | {"sasl.mechanism": "scram-sha-512"}) == Credentials("SCRAM-SHA-512", "u", "p")
    assert credentials(login | {"sasl.mechanisms": "PLAIN"}) == Credentials("PLAIN", "u", "p")
    assert tls({}) is None and tls({"security.protocol": "sasl_plaintext"}) is None
    strict = tls(login)
    assert strict is not None and strict.check_hostname and strict.verify_mode is ssl.CERT_REQUIRED
    lenient = tls(login | {"enable.ssl.certificate.verification": "false"})
    assert lenient is not None and not lenient.check_hostname and lenient.verify_mode is ssl.CERT_NONE
    with pytest.raises(PipelineError, match=r"kafka\.ssl\.ca\.location or .* cannot be used"):
        tls(login | {"ssl.ca.location": "/nowhere.pem"})


def test_what_cannot_be_used() -> None:
    assert credentials({}) is None
    assert credentials({"security.protocol": "SSL"}) is None
    assert credentials({"security.protocol": "sasl_ssl", "sasl.mechanism": "EXTERNAL"}) == Credentials(
        "EXTERNAL", "", ""
    )
    for made in (credentials, tls):
        with pytest.raises(PipelineError, match=r"kafka\.security\.protocol is one of .*, not 'TLS'"):
            made({"security.protocol": "tls"})
    with pytest.raises(PipelineError, match=r"GSSAPI is one of PLAIN, SCRAM-SHA-256, SCRAM-SHA-512.*connector=True"):
        credentials({"security.protocol": "sasl_ssl", "sasl.mechanism": "GSSAPI"})
    with pytest.raises(PipelineError, match=r"kafka\.sasl\.username"):
        credentials({"security.protocol": "sasl_ssl", "sasl.mechanism": "PLAIN"})
