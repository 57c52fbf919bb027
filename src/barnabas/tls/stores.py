"""Key stores and trust stores, as PEM text: files of PEM or PKCS12, or PEM in the setting itself (KIP-651).

What a file is, its content says, because Java's default type is JKS whatever the file is. A store in Java's own format
is refused with the line that converts it. PEM is taken as Kafka takes it: what stands around the blocks (names, which
tools write there in any encoding) does not count, and a block may stand on one line, as in a properties file.
"""

import re
from pathlib import Path

from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.limits import CONFIG_FILE_MAX_BYTES
from barnabas.model.settings.listener_security import TlsSettings

_PEM = b"-----BEGIN "
_BLOCK = re.compile(rb"-----BEGIN ([A-Z0-9 ]+)-----(.*?)-----END \1-----", re.DOTALL)
_LINE = 64  # of the lines of a block: what OpenSSL reads
_JKS = b"\xfe\xed\xfe\xed"


def key_and_certificates(tls: TlsSettings) -> str | None:
    """The private key and the certificate chain as one PEM text; None where neither is set."""
    if tls.certificate_chain is not None:
        if tls.key is None:
            raise _bad("ssl.keystore.certificate.chain is set without ssl.keystore.key")
        return _pem(f"{tls.key}\n{tls.certificate_chain}".encode())
    if tls.keystore_location is None:
        return None
    data = _read("ssl.keystore.location", tls.keystore_location)
    if _PEM in data:
        return _pem(data)
    return _from_pkcs12("ssl.keystore.location", tls.keystore_location, data, tls.keystore_password, with_key=True)


def trusted(tls: TlsSettings) -> str | None:
    """The certificates of those whose signature counts, as PEM; None where nothing is set."""
    if tls.trusted_certificates is not None:
        return _pem(tls.trusted_certificates.encode())
    if tls.truststore_location is None:
        return None
    data = _read("ssl.truststore.location", tls.truststore_location)
    if _PEM in data:
        return _pem(data)
    return _from_pkcs12(
        "ssl.truststore.location", tls.truststore_location, data, tls.truststore_password, with_key=False
    )


def files(tls: TlsSettings) -> tuple[str, ...]:
    """Those that may change while the node runs."""
    return tuple(path for path in (tls.keystore_location, tls.truststore_location) if path)


def _read(setting: str, path: str) -> bytes:
    try:
        with Path(path).open("rb") as file:
            data = file.read(CONFIG_FILE_MAX_BYTES + 1)
    except OSError as error:
        raise _bad(f"{setting}: cannot read {path}: {error.strerror}") from None
    if len(data) > CONFIG_FILE_MAX_BYTES:
        raise _bad(f"{setting}: {path} is larger than {CONFIG_FILE_MAX_BYTES} bytes")
    if data.startswith(_JKS):
        raise _bad(
            f"{setting}: {path} is a Java key store (JKS), which only Java reads. Convert it: keytool -importkeystore"
            f" -srckeystore {path} -destkeystore {Path(path).stem}.p12 -deststoretype PKCS12"
        )
    return data


def _pem(data: bytes) -> str:
    """The blocks alone, each with lines of its own; ASCII, which is all that OpenSSL takes."""
    blocks = []
    for found in _BLOCK.finditer(data):
        label, body = found[1].decode(), found[2].strip().decode("ascii", "backslashreplace")
        if ":" not in body:  # else it has headers, and so its lines, as encrypted keys of the old kind do
            whole = "".join(body.split())
            body = "\n".join(whole[at : at + _LINE] for at in range(0, len(whole), _LINE))
        blocks.append(f"-----BEGIN {label}-----\n{body}\n-----END {label}-----\n")
    return "".join(blocks)


def _from_pkcs12(setting: str, path: str, data: bytes, password: str | None, *, with_key: bool) -> str:
    # Imported here: a node whose files are PEM starts without it (0.1 s).
    from cryptography.hazmat.primitives import serialization
    from cryptography.hazmat.primitives.serialization import pkcs12

    try:
        store = pkcs12.load_pkcs12(data, password.encode() if password is not None else None)
    except ValueError:
        raise _bad(f"{setting}: {path} is neither PEM nor PKCS12, or its password is wrong") from None
    certificates = [store.cert] if store.cert is not None else []
    certificates += store.additional_certs
    parts = [each.certificate.public_bytes(serialization.Encoding.PEM) for each in certificates]
    if with_key:
        if store.key is None:
            raise _bad(f"{setting}: {path} has no private key")
        key = store.key.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        parts.insert(0, key)
    if not certificates:
        raise _bad(f"{setting}: {path} has no certificates")
    return b"".join(parts).decode()


def _bad(why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_CONFIG, why)
