"""A certificate authority for one cluster, and the certificates of its nodes. Files are for their owner only."""

from __future__ import annotations

import datetime
import ipaddress
from collections.abc import Iterable
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from barnabas.cli.common.failure import Failure
from barnabas.cli.secure.files import CA_CERTIFICATE, CA_KEY, write_secret

NODES_UNIT = "barnabas-nodes"  # in the name of every node's certificate: what makes it a node
AUTHORITY_DAYS, NODE_DAYS = 3650, 825  # the latter is the most that browsers and others accept
_EARLIER = datetime.timedelta(hours=1)  # for clocks that are not quite together


def create_authority(folder: Path, name: str = "Barnabas cluster") -> None:
    """Its key never leaves the folder."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    usage = x509.KeyUsage(
        digital_signature=False, content_commitment=False, key_encipherment=False, data_encipherment=False,
        key_agreement=False, key_cert_sign=True, crl_sign=True, encipher_only=False, decipher_only=False,
    )  # fmt: skip
    builder = _builder(subject, subject, key.public_key(), AUTHORITY_DAYS)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
    builder = builder.add_extension(usage, critical=True)
    builder = builder.add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
    write_secret(folder / CA_KEY, _key_pem(key))
    write_secret(folder / CA_CERTIFICATE, _pem(builder.sign(key, hashes.SHA256())))


def issue_node(authority: Path, name: str, hosts: Iterable[str], into: Path) -> None:
    """A key and a certificate for a node, in one file; `hosts`: the names and addresses it is reached by."""
    try:
        ca = x509.load_pem_x509_certificate((authority / CA_CERTIFICATE).read_bytes())
        ca_key = serialization.load_pem_private_key((authority / CA_KEY).read_bytes(), None)
    except FileNotFoundError as error:
        raise Failure(
            f"{error.filename} is not there, so no certificate can be made", "Begin with: barnabas secure init DIR"
        ) from None
    except ValueError:
        raise Failure(f"{authority} has no certificate authority that can be read") from None
    assert isinstance(ca_key, ec.EllipticCurvePrivateKey)
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name(
        [
            x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, NODES_UNIT),
            x509.NameAttribute(NameOID.COMMON_NAME, name),
        ]
    )
    both = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH])
    names = x509.SubjectAlternativeName([_general_name(host) for host in dict.fromkeys(hosts)])
    builder = _builder(subject, ca.subject, key.public_key(), NODE_DAYS)
    # Python 3.13 and others that check strictly (RFC 5280) refuse a certificate that does not name its issuer's key.
    issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(ca_key.public_key())
    for extension in (x509.BasicConstraints(ca=False, path_length=None), both, names, issuer):
        builder = builder.add_extension(extension, critical=isinstance(extension, x509.BasicConstraints))
    write_secret(into, _key_pem(key) + _pem(builder.sign(ca_key, hashes.SHA256())))


def expires(file: Path) -> datetime.datetime:
    return _certificate(file).not_valid_after_utc


def hosts_of(file: Path) -> set[str]:
    names = _certificate(file).extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    return {str(name.value) for name in names}


def _certificate(file: Path) -> x509.Certificate:
    data = file.read_bytes()
    return x509.load_pem_x509_certificate(data[data.index(b"-----BEGIN CERTIFICATE") :])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, days: int
) -> x509.CertificateBuilder:
    now = datetime.datetime.now(datetime.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _EARLIER)
        .not_valid_after(now + datetime.timedelta(days=days))
    )


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(certificate: x509.Certificate) -> bytes:
    return certificate.public_bytes(serialization.Encoding.PEM)


def _key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
