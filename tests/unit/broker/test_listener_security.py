"""Secured listeners of a node: what a connection has to do is not to be had from another listener, or from the past."""

import ssl
from pathlib import Path

import pytest

from barnabas.broker.network.security import secure_ports
from barnabas.broker.network.session import plain_host
from barnabas.core.cluster.records import Endpoint
from barnabas.model.errors import KafkaError
from barnabas.model.settings import Settings
from barnabas.model.settings.listener_security import tls_settings
from barnabas.tls.contexts import RenewedContext, server_context
from tests.support.certificates import Authority


def test_two_listeners_of_one_port_are_refused() -> None:
    bound = [Endpoint("A", "SASL_PLAINTEXT", "10.0.0.5", 9092), Endpoint("B", "PLAINTEXT", "127.0.0.1", 9092)]
    with pytest.raises(KafkaError, match="same port"):
        secure_ports(Settings(), bound, None, dict, None, None)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("seen", "told"),
    [("::ffff:10.0.0.7", "10.0.0.7"), ("10.0.0.7", "10.0.0.7"), ("::1", "::1"), ("fe80::1", "fe80::1")],
)
def test_rules_name_an_ipv4_address_as_it_is(seen: str, told: str) -> None:
    assert plain_host(seen) == told


def test_an_authority_that_is_taken_out_is_not_trusted_any_more(tmp_path: Path) -> None:
    old, new = Authority(tmp_path, "old"), Authority(tmp_path, "new")
    node = old.issue("node")
    trusted = tmp_path / "trusted.pem"
    trusted.write_bytes(old.file.read_bytes())
    given = {
        "ssl.keystore.location": str(node.pem),
        "ssl.truststore.location": str(trusted),
        "ssl.client.auth": "required",
    }
    renewed = RenewedContext(tls_settings(Settings(given), "L"), server_context)
    first = renewed.context
    assert not renewed.renew_if_changed() and renewed.context is first
    trusted.write_bytes(new.file.read_bytes())
    assert renewed.renew_if_changed()
    assert names(renewed.context) == {"new"} and names(first) == {"old"}


def test_files_that_cannot_be_used_leave_the_old_ones(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    node = authority.issue("node")
    renewed = RenewedContext(tls_settings(Settings({"ssl.keystore.location": str(node.pem)}), "L"), server_context)
    first = renewed.context
    other = authority.issue("other")
    node.pem.write_bytes(other.key.read_bytes() + node.certificate.read_bytes())
    with pytest.raises(KafkaError, match="the key does not belong to the certificate"):
        renewed.renew_if_changed()
    assert renewed.context is first and not renewed.renew_if_changed()


def names(context: ssl.SSLContext) -> set[str]:
    return {dict(part[0] for part in each["subject"])["commonName"] for each in context.get_ca_certs()}  # type: ignore[misc]
