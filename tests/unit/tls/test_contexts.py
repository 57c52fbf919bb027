"""What a listener or a client of TLS allows: versions, cipher suites, certificates of clients, names of hosts."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from barnabas.tls.alerts import SEND_ALERT
from barnabas.tls.contexts import client_context, server_context
from tests.support.certificates import Authority
from tests.unit.tls.test_stores import given, handshake, refused


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def test_versions_and_suites_by_javas_names(authority: Authority) -> None:
    node = authority.issue("node")
    tls = given(
        keystore_location=node.pem, truststore_location=authority.file, enabled_protocols="TLSv1.2",
        cipher_suites="TLS_AES_128_GCM_SHA256,TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384",
    )  # fmt: skip
    server = server_context(tls)
    assert handshake(server, client_context(tls)) == "TLSv1.2"
    served = {each["name"] for each in server.get_ciphers() if not each["name"].startswith("TLS_")}
    assert served == {"ECDHE-ECDSA-AES256-GCM-SHA384"}


@pytest.mark.parametrize(
    ("java", "openssl"),
    [
        ("TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
        ("TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256", "ECDHE-RSA-CHACHA20-POLY1305"),
        ("TLS_RSA_WITH_AES_256_CBC_SHA", "AES256-SHA"),
        ("ECDHE-RSA-AES128-GCM-SHA256", "ECDHE-RSA-AES128-GCM-SHA256"),
    ],
)
def test_suites(java: str, openssl: str) -> None:
    context = client_context(given(cipher_suites=java, enabled_protocols="TLSv1.2"))
    assert openssl in {each["name"] for each in context.get_ciphers()}


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"enabled_protocols": "TLSv1.1"}, "ssl.enabled.protocols: TLSv1.1; served are TLSv1.2, TLSv1.3"),
        ({"cipher_suites": "TLS_PSK_WITH_NULL_SHA"}, "ssl.cipher.suites: TLS_PSK_WITH_NULL_SHA is not served"),
        ({"cipher_suites": "NO-SUCH-SUITE"}, "ssl.cipher.suites: none of NO-SUCH-SUITE is there"),
        (
            {"client_auth": "required"},
            "ssl.client.auth is set, but ssl.truststore.location is not: whose certificates are to be trusted?",
        ),
    ],
)
def test_what_cannot_be_served(settings: dict[str, str], told: str, authority: Authority) -> None:
    assert refused(server_context, given(keystore_location=authority.issue("node").pem, **settings)) == told


def test_a_name_of_another_host_is_refused_unless_names_do_not_count(authority: Authority) -> None:
    node = authority.issue("node", hosts=("kafka-1.example.org",))
    server = server_context(given(keystore_location=node.pem))
    with pytest.raises(ssl.SSLCertVerificationError):
        handshake(server, client_context(given(truststore_location=authority.file)))
    anybody = given(truststore_location=authority.file, endpoint_identification_algorithm="")
    assert handshake(server, client_context(anybody)) == "TLSv1.3"


def test_a_client_without_a_certificate_is_told_why(authority: Authority) -> None:
    """The alert that OpenSSL made is handed out: the loop would close the connection without it."""
    node = authority.issue("node")
    tls = given(keystore_location=node.pem, truststore_location=authority.file, client_auth="required")
    alerts: list[bytes] = []
    before = SEND_ALERT.set(alerts.append)
    try:
        with pytest.raises(ssl.SSLError, match="PEER_DID_NOT_RETURN_A_CERTIFICATE"):
            handshake(server_context(tls), client_context(given(truststore_location=authority.file)))
    finally:
        SEND_ALERT.reset(before)
    assert len(alerts) == 1 and alerts[0]
    client = given(truststore_location=authority.file, keystore_location=authority.issue("client").pem)
    assert handshake(server_context(tls), client_context(client)) == "TLSv1.3"
