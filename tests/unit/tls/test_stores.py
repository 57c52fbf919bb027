"""Key stores and trust stores as people have them: PEM with anything around it, PKCS12, Java's own, or none at all."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.serialization import BestAvailableEncryption, pkcs12

from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.settings import Settings
from barnabas.model.settings.listener_security import TlsSettings, tls_settings
from barnabas.tls.contexts import client_context, server_context
from barnabas.tls.stores import files, key_and_certificates, trusted
from tests.support.certificates import Authority, Certificate


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


@pytest.fixture
def node(authority: Authority) -> Certificate:
    return authority.issue("node")


def given(**settings: object) -> TlsSettings:
    return tls_settings(
        Settings({f"ssl.{name.replace('_', '.')}": str(value) for name, value in settings.items()}), "L"
    )


def authorities(tls: TlsSettings) -> int:
    return len(client_context(tls).get_ca_certs())


def handshake(server: ssl.SSLContext, client: ssl.SSLContext, name: str = "localhost") -> str:
    """Both ends in memory; the version that they agreed on."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [client.wrap_bio(to_client, to_server, server_hostname=name), server.wrap_bio(to_server, to_client, True)]
    waiting = list(ends)
    for _ in range(10):
        for end in list(waiting):
            try:
                end.do_handshake()
                waiting.remove(end)
            except ssl.SSLWantReadError:
                pass
    assert not waiting
    return str(ends[0].version())


def refused(make: object, tls: TlsSettings) -> str:
    assert callable(make)
    with pytest.raises(KafkaError) as failed:
        make(tls)
    assert failed.value.code == ErrorCode.INVALID_CONFIG and "\n" not in failed.value.message
    return failed.value.message


def test_names_around_the_blocks_do_not_count_in_any_encoding(
    authority: Authority, node: Certificate, tmp_path: Path
) -> None:
    for number, name in enumerate(("Főtanúsítvány".encode(), "Société".encode("latin-1"))):
        store = tmp_path / f"trusted-{number}.pem"
        store.write_bytes(b"# " + name + b"\n" + authority.file.read_bytes() + b"subject=O = " + name + b"\n")
        assert authorities(given(truststore_location=store)) == 1
        node.pem.write_bytes(b"friendlyName: " + name + b"\n" + node.pem.read_bytes())
        server_context(given(keystore_location=node.pem))
    assert authorities(given(truststore_certificates="Főtanúsítvány\n" + authority.file.read_text())) == 1


def test_pem_in_a_setting_may_stand_on_one_line(authority: Authority, node: Certificate) -> None:
    """A properties file has it so, and Kafka reads it."""
    chain, key, ca = (" ".join(path.read_text().split("\n")) for path in (node.certificate, node.key, authority.file))
    tls = given(keystore_certificate_chain=chain, keystore_key=key, truststore_certificates=ca)
    assert handshake(server_context(tls), client_context(tls)) == "TLSv1.3"


def test_a_chain_without_its_key(node: Certificate) -> None:
    tls = given(keystore_certificate_chain=node.certificate.read_text())
    assert refused(key_and_certificates, tls) == "ssl.keystore.certificate.chain is set without ssl.keystore.key"


def test_pkcs12_with_and_without_what_is_needed(authority: Authority, node: Certificate, tmp_path: Path) -> None:
    tls = given(
        keystore_location=node.pkcs12, keystore_password=node.password,
        truststore_location=node.pkcs12, truststore_password=node.password,
    )  # fmt: skip
    assert handshake(server_context(tls), client_context(tls)) == "TLSv1.3"
    wrong = given(keystore_location=node.pkcs12, keystore_password="another")
    assert "is neither PEM nor PKCS12, or its password is wrong" in refused(key_and_certificates, wrong)
    store = pkcs12.load_pkcs12(node.pkcs12.read_bytes(), node.password.encode())
    assert store.cert is not None
    bare = tmp_path / "bare.p12"
    encryption = BestAvailableEncryption(b"pw")
    bare.write_bytes(pkcs12.serialize_key_and_certificates(None, None, store.cert.certificate, None, encryption))
    told = refused(key_and_certificates, given(keystore_location=bare, keystore_password="pw"))
    assert told == f"ssl.keystore.location: {bare} has no private key"


def test_a_store_of_java_is_refused_with_the_line_that_converts_it(tmp_path: Path) -> None:
    store = tmp_path / "node.jks"
    store.write_bytes(b"\xfe\xed\xfe\xed\x00\x00\x00\x02")
    told = refused(trusted, given(truststore_location=store))
    assert "is a Java key store (JKS), which only Java reads. Convert it: keytool -importkeystore" in told
    assert "-destkeystore node.p12 -deststoretype PKCS12" in told


def test_files_that_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = refused(trusted, given(truststore_location=tmp_path / "none.pem"))
    assert told == f"ssl.truststore.location: cannot read {tmp_path / 'none.pem'}: No such file or directory"
    monkeypatch.setattr("barnabas.tls.stores.CONFIG_FILE_MAX_BYTES", 10)
    (tmp_path / "large.pem").write_bytes(b"x" * 11)
    told = refused(trusted, given(truststore_location=tmp_path / "large.pem"))
    assert told == f"ssl.truststore.location: {tmp_path / 'large.pem'} is larger than 10 bytes"


@pytest.mark.parametrize(
    "text", ["-----BEGIN CERTIFICATE-----\nbm90IG9uZQ==\n-----END CERTIFICATE-----\n", "-----BEGIN CERTIFICATE-----\n"]
)
def test_pem_without_certificates(tmp_path: Path, text: str) -> None:
    store = tmp_path / "trusted.pem"
    store.write_text(text)
    assert f"{store} has no certificates: " in refused(client_context, given(truststore_location=store))


def test_a_key_with_a_password(node: Certificate, authority: Authority, tmp_path: Path) -> None:
    key = serialization.load_pem_private_key(node.key.read_bytes(), None)
    locked = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.TraditionalOpenSSL, BestAvailableEncryption(b"secret")
    )
    assert b"Proc-Type" in locked, "of the old kind, with headers within the block"
    store = tmp_path / "locked.pem"
    store.write_bytes(locked + node.certificate.read_bytes())
    good = given(keystore_location=store, key_password="secret", truststore_location=authority.file)
    assert handshake(server_context(good), client_context(good)) == "TLSv1.3"
    told = refused(server_context, given(keystore_location=store, key_password="wrong"))
    assert told == "the node's certificate cannot be used: the key cannot be read: is ssl.key.password right?"


def test_which_files_are_looked_at_for_renewal(node: Certificate, authority: Authority) -> None:
    assert files(given(keystore_location=node.pem)) == (str(node.pem),)
    both = given(keystore_location=node.pem, truststore_location=authority.file)
    assert files(both) == (str(node.pem), str(authority.file))
