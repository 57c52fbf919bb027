"""Kafka's names of security settings as librdkafka's, and stores that only Java reads."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.client.common.kafka_names import UnusableSetting, librdkafka_names

SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"


def test_a_client_properties_of_java() -> None:
    assert librdkafka_names(
        {
            "security.protocol": "SASL_SSL",
            "sasl.mechanisms": "SCRAM-SHA-512",
            "sasl.jaas.config": f'kafkashaded.{SCRAM} required username="u" password="p=\\"w";',
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": "/trusted",
            "ssl.truststore.password": "nobody asks",
            "ssl.keystore.certificate.chain": "cert",
            "ssl.keystore.key": "key",
            "ssl.endpoint.identification.algorithm": "",
            "client.id": "as it is",
        }
    ) == {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "u",
        "sasl.password": 'p="w',
        "ssl.ca.location": "/trusted",
        "ssl.certificate.pem": "cert",
        "ssl.key.pem": "key",
        "ssl.endpoint.identification.algorithm": "none",
        "client.id": "as it is",
    }


def test_stores_are_known_by_type_content_or_name(tmp_path: Path) -> None:
    pem = tmp_path / "store"
    pem.write_text("-----BEGIN CERTIFICATE-----")
    both = {"ssl.certificate.location": str(pem), "ssl.key.location": str(pem)}
    assert librdkafka_names({"ssl.keystore.location": str(pem)}) == both
    p12 = {"ssl.keystore.location": "/own.p12", "ssl.keystore.password": "secret"}
    assert librdkafka_names(p12) == p12
    assert librdkafka_names({"ssl.truststore.location": "/elsewhere/ca.pem"}) == {
        "ssl.ca.location": "/elsewhere/ca.pem"
    }
    pem.write_text("no certificate")
    for settings in (
        {"ssl.truststore.location": str(pem)},
        {"ssl.truststore.location": "/x.p12"},
        {"ssl.keystore.location": "/x.pem", "ssl.keystore.type": "jks"},
    ):
        with pytest.raises(UnusableSetting, match=r"^ssl\.\w+store\.location is a \w+ store, which only Java reads"):
            librdkafka_names(settings)


@pytest.mark.parametrize("line", [f"{SCRAM} required username=u;", "x", f'{SCRAM} required password="secret" ?', ""])
def test_a_line_that_cannot_be_used_is_not_shown(line: str) -> None:
    with pytest.raises(UnusableSetting, match=r"^sasl\.jaas\.config") as refused:
        librdkafka_names({"sasl.jaas.config": line})
    assert "secret" not in str(refused.value)
