"""A certificate authority of the tests, and certificates from it: PEM files in a folder."""

import datetime
import ipaddress
from dataclasses import dataclass
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import pkcs12
from cryptography.x509.oid import NameOID

_DAY = datetime.timedelta(days=1)


@dataclass(frozen=True)
class Certificate:
    """`pem` has the key and the certificate in one file, as a key store of Kafka's type PEM."""

    key: Path
    certificate: Path
    pem: Path
    pkcs12: Path
    password: str


_SIGNS = x509.KeyUsage(
    digital_signature=False, content_commitment=False, key_encipherment=False, data_encipherment=False,
    key_agreement=False, key_cert_sign=True, crl_sign=True, encipher_only=False, decipher_only=False,
)  # fmt: skip


class Authority:
    def __init__(self, folder: Path, name: str = "ca") -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        constraints = x509.BasicConstraints(ca=True, path_length=None)
        self._certificate = self._signed(self._name, self._key.public_key(), 30, constraints, ())
        self.file = folder / f"{name}.pem"
        self.file.write_bytes(self._certificate.public_bytes(serialization.Encoding.PEM))

    def issue(
        self, name: str, unit: str | None = None, *, days: int = 30, hosts: tuple[str, ...] = ("127.0.0.1", "localhost")
    ) -> Certificate:
        key = ec.generate_private_key(ec.SECP256R1())
        parts = [x509.NameAttribute(NameOID.ORGANIZATIONAL_UNIT_NAME, unit)] if unit else []
        subject = x509.Name([*parts, x509.NameAttribute(NameOID.COMMON_NAME, name)])
        made = self._signed(subject, key.public_key(), days, x509.BasicConstraints(ca=False, path_length=None), hosts)
        key_pem = key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        pem = made.public_bytes(serialization.Encoding.PEM)
        key_file, certificate, both, store = (self._folder / f"{name}.{end}" for end in ("key", "crt", "pem", "p12"))
        files = Certificate(key_file, certificate, both, store, "store-pw")
        for path, data in ((files.key, key_pem), (files.certificate, pem), (files.pem, key_pem + pem)):
            path.write_bytes(data)
        encryption = serialization.BestAvailableEncryption(files.password.encode())
        files.pkcs12.write_bytes(
            pkcs12.serialize_key_and_certificates(name.encode(), key, made, [self._certificate], encryption)
        )
        return files

    def _signed(
        self,
        subject: x509.Name,
        key: ec.EllipticCurvePublicKey,
        days: int,
        constraints: x509.BasicConstraints,
        hosts: tuple[str, ...],
    ) -> x509.Certificate:
        now = datetime.datetime.now(datetime.UTC)
        begun = now - _DAY if days > 0 else now + _DAY * (days - 1)
        builder = (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(begun)
            .not_valid_after(now + _DAY * days)
            .add_extension(constraints, critical=True)
            .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
            .add_extension(x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), critical=False)
        )
        if constraints.ca:
            builder = builder.add_extension(_SIGNS, critical=True)
        if hosts:
            names = [_general_name(host) for host in hosts]
            builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
        return builder.sign(self._key, hashes.SHA256())


def _general_name(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)
