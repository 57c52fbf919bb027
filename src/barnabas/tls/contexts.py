"""`ssl.SSLContext`s from settings, and their renewal when the files change.

Connections that are made after a renewal get the new certificates, those that live go on. Files that cannot be used (a
key that does not fit its certificate) leave the old ones in use.
"""

import os
import re
import ssl
from collections.abc import Callable
from pathlib import Path

from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.settings.listener_security import TlsSettings
from barnabas.tls.alerts import AlertingContext
from barnabas.tls.stores import files, key_and_certificates, trusted

_VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
_CLIENT_AUTH = {"none": ssl.CERT_NONE, "requested": ssl.CERT_OPTIONAL, "required": ssl.CERT_REQUIRED}
_JAVA_SUITE = re.compile(
    r"TLS_(ECDHE_RSA|ECDHE_ECDSA|DHE_RSA|RSA)_WITH_(AES_128|AES_256|CHACHA20)_(GCM|CBC|POLY1305)_(SHA\d*)"
)
_OPENSSL_SUITE = re.compile(r"[A-Z0-9-]+")
_TLS13_SUITES = frozenset({"TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"})


def server_context(tls: TlsSettings) -> ssl.SSLContext:
    """Of a listener. Raises KafkaError(INVALID_CONFIG) with one line for a person."""
    context = AlertingContext(ssl.PROTOCOL_TLS_SERVER)
    _limit_versions(context, tls)
    context.options |= ssl.OP_NO_RENEGOTIATION | ssl.OP_CIPHER_SERVER_PREFERENCE
    context.verify_mode = _CLIENT_AUTH[tls.client_auth]
    _load(context, tls)
    if context.verify_mode is not ssl.CERT_NONE and trusted(tls) is None:
        raise _bad("ssl.client.auth is set, but ssl.truststore.location is not: whose certificates are to be trusted?")
    return context


def client_context(tls: TlsSettings) -> ssl.SSLContext:
    """Of somebody who connects. Without a trust store, the certificates that this machine trusts count."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    _limit_versions(context, tls)
    context.check_hostname = tls.identification == "https"
    context.verify_mode = ssl.CERT_REQUIRED
    _load(context, tls)
    if trusted(tls) is None:
        context.load_default_certs()
    return context


class RenewedContext:
    """The newest context that the files give. It is made anew when they change, never changed itself: connections are
    made from it meanwhile, and an authority that was taken out must not go on being trusted."""

    def __init__(self, tls: TlsSettings, make: Callable[[TlsSettings], ssl.SSLContext]) -> None:
        self._tls = tls
        self._make = make
        self._seen = self._stamps()
        self.context = make(tls)

    def _stamps(self) -> list[tuple[int, int, int]]:
        found = []
        for path in files(self._tls):
            try:
                state = Path(path).stat()
                found.append((state.st_mtime_ns, state.st_size, state.st_ino))
            except OSError:
                found.append((0, 0, 0))
        return found

    def renew_if_changed(self) -> bool:
        """Whether new certificates are in use; KafkaError where the new ones cannot be used (said once a change)."""
        stamps = self._stamps()
        if stamps == self._seen:
            return False
        self._seen = stamps
        self.context = self._make(self._tls)
        return True


def _limit_versions(context: ssl.SSLContext, tls: TlsSettings) -> None:
    versions = sorted(_VERSIONS[name] for name in tls.enabled_protocols if name in _VERSIONS)
    unknown = [name for name in tls.enabled_protocols if name not in _VERSIONS]
    if unknown or not versions:
        raise _bad(f"ssl.enabled.protocols: {', '.join(unknown) or 'nothing'}; served are {', '.join(_VERSIONS)}")
    context.minimum_version, context.maximum_version = versions[0], versions[-1]
    suites = [_openssl_name(name) for name in tls.cipher_suites if name not in _TLS13_SUITES]
    if suites:
        try:
            context.set_ciphers(":".join(suites))
        except ssl.SSLError:
            raise _bad(f"ssl.cipher.suites: none of {', '.join(tls.cipher_suites)} is there") from None


def _openssl_name(suite: str) -> str:
    """Java's TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256 is OpenSSL's ECDHE-RSA-AES128-GCM-SHA256."""
    if _OPENSSL_SUITE.fullmatch(suite):
        return suite
    match = _JAVA_SUITE.fullmatch(suite)
    if match is None:
        raise _bad(f"ssl.cipher.suites: {suite} is not served")
    exchange = "" if match[1] == "RSA" else match[1].replace("_", "-") + "-"
    cipher = match[2].replace("_", "")
    if match[3] == "POLY1305":
        return f"{exchange}{cipher}-POLY1305"
    return f"{exchange}{cipher}-{match[4]}" if match[3] == "CBC" else f"{exchange}{cipher}-GCM-{match[4]}"


def _load(context: ssl.SSLContext, tls: TlsSettings) -> None:
    pem = key_and_certificates(tls)
    if pem is not None:
        _load_key(context, pem, tls.key_password or tls.keystore_password)
    authorities = trusted(tls)
    if authorities is not None:
        try:
            context.load_verify_locations(cadata=authorities)
        except (ssl.SSLError, ValueError) as error:
            raise _bad(
                f"{tls.truststore_location or 'ssl.truststore.certificates'} has no certificates: {error}"
            ) from None


def _load_key(context: ssl.SSLContext, pem: str, password: str | None) -> None:
    """OpenSSL reads keys from files only: one in memory, so that no secret is written to a disk."""
    fd = os.memfd_create("key")
    try:
        os.write(fd, pem.encode())
        context.load_cert_chain(f"/proc/self/fd/{fd}", password=password or "")
    except (ssl.SSLError, OSError, ValueError) as error:
        why = (
            "the key does not belong to the certificate"
            if "KEY_VALUES_MISMATCH" in str(error)
            else "the key cannot be read: is ssl.key.password right?"
        )
        raise _bad(f"the node's certificate cannot be used: {why}") from None
    finally:
        os.close(fd)


def _bad(why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_CONFIG, why)
