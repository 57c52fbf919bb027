"""Key stores and trust stores, as PEM text: files of PEM or PKCS12, or PEM in the setting itself (KIP-651).

What a file is, its content says, because Java's default type is JKS whatever the file is. A store in Java's own format
is refused with the line that converts it.
"""

from pathlib import Path

from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.limits import CONFIG_FILE_MAX_BYTES
from barnabas.model.settings.listener_security import TlsSettings

_PEM = b"-----BEGIN "
_JKS = b"\xfe\xed\xfe\xed"


def key_and_certificates(tls: TlsSettings) -> str | None:
    """The private key and the certificate chain as one PEM text; None where neither is set."""
    if tls.certificate_chain is not None:
        if tls.key is None:
            raise _bad("ssl.keystore.certificate.chain is set without ssl.keystore.key")
        return f"{tls.key.strip()}\n{tls.certificate_chain.strip()}\n"
    if tls.keystore_location is None:
        return None
    data = _read("ssl.keystore.location", tls.keystore_location)
    if _PEM in data:
        return data.decode()
    return _from_pkcs12("ssl.keystore.location", tls.keystore_location, data, tls.keystore_password, with_key=True)


def trusted(tls: TlsSettings) -> str | None:
    """The certificates of those whose signature counts, as PEM; None where nothing is set."""
    if tls.trusted_certificates is not None:
        return tls.trusted_certificates
    if tls.truststore_location is None:
        return None
    data = _read("ssl.truststore.location", tls.truststore_location)
    if _PEM in data:
        return data.decode()
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
