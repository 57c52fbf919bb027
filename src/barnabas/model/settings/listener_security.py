"""What a listener asks of whoever connects: TLS, a client's certificate, a login.

A setting of one listener (`listener.name.NAME.SETTING`, KIP-103) stands above the same setting of the node, and one of
a mechanism (`listener.name.NAME.MECHANISM.SETTING`) above that of the listener.
"""

from collections.abc import Mapping
from typing import NamedTuple

from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.settings.effective import Settings
from barnabas.model.settings.jaas import JaasEntry, parse_jaas
from barnabas.model.settings.kerberos import KerberosSettings, kerberos_settings
from barnabas.model.settings.oauth import OAuthSettings, oauth_settings

EXTERNAL, PLAIN, OAUTHBEARER, GSSAPI = "EXTERNAL", "PLAIN", "OAUTHBEARER", "GSSAPI"
MECHANISMS = (PLAIN, "SCRAM-SHA-256", "SCRAM-SHA-512", OAUTHBEARER, GSSAPI, EXTERNAL)
TLS_PROTOCOLS, SASL_PROTOCOLS = ("SSL", "SASL_SSL"), ("SASL_PLAINTEXT", "SASL_SSL")


class TlsSettings(NamedTuple):
    """Where certificates and keys are: files, or the PEM text itself (KIP-651)."""

    keystore_location: str | None
    keystore_password: str | None
    key_password: str | None
    certificate_chain: str | None
    key: str | None
    truststore_location: str | None
    truststore_password: str | None
    trusted_certificates: str | None
    enabled_protocols: tuple[str, ...]
    cipher_suites: tuple[str, ...]
    client_auth: str  # none, requested, required
    identification: str  # "https": the other side's certificate has to be of its host name; "": any that is trusted
    principal_rules: str

    def __repr__(self) -> str:
        return f"TlsSettings({self.keystore_location})"  # others are secrets


class ListenerSecurity(NamedTuple):
    name: str
    protocol: str
    tls: TlsSettings | None
    mechanisms: tuple[str, ...]  # of SASL; empty without it
    jaas: Mapping[str, JaasEntry]  # by mechanism
    nodes_mechanism: str  # by which nodes log in among themselves, which they do before they know the users
    reauth_ms: int  # connections.max.reauth.ms; 0: a login does not end
    failed_delay_ms: int
    login_message_max_bytes: int
    oauth: OAuthSettings | None = None  # of OAUTHBEARER
    kerberos: KerberosSettings | None = None  # of GSSAPI


def listener_security(settings: Settings, name: str, protocol: str) -> ListenerSecurity:
    """KafkaError(INVALID_CONFIG) for what cannot be kept: no listener is more open than it was asked to be."""
    mechanisms = _mechanisms(settings, name) if protocol in SASL_PROTOCOLS else ()
    if protocol in SASL_PROTOCOLS and not mechanisms:
        raise _bad(f"listener {name} speaks {protocol}, but sasl.enabled.mechanisms is empty: nobody could log in")
    jaas = {mechanism: entry for mechanism in mechanisms if (entry := _jaas(settings, name, mechanism)) is not None}
    if PLAIN in mechanisms and PLAIN not in jaas:
        raise _bad(
            f"listener {name} offers PLAIN, but nobody can log in: set"
            f' listener.name.{name.lower()}.plain.sasl.jaas.config with user_NAME="PASSWORD"'
        )
    tls = tls_settings(settings, name) if protocol in TLS_PROTOCOLS else None
    if tls is not None and not (tls.keystore_location or tls.certificate_chain):
        raise _bad(
            f"listener {name} speaks {protocol}, but ssl.keystore.location is not set: it names the node's certificate"
            " (PEM or PKCS12)"
        )
    if EXTERNAL in mechanisms and (tls is None or tls.client_auth == "none"):
        raise _bad(f"listener {name} offers EXTERNAL, which needs SASL_SSL and ssl.client.auth=requested or required")
    number = settings.listener_int
    return ListenerSecurity(
        name,
        protocol,
        tls,
        mechanisms,
        jaas,
        str(settings.listener_value(name, "sasl.mechanism.inter.broker.protocol")).upper(),
        number(name, "connections.max.reauth.ms"),
        number(name, "connection.failed.authentication.delay.ms"),
        number(name, "sasl.server.max.receive.size"),
        oauth_settings(settings, name, jaas.get(OAUTHBEARER)) if OAUTHBEARER in mechanisms else None,
        kerberos_settings(settings, name, jaas.get(GSSAPI)) if GSSAPI in mechanisms else None,
    )


def login_entry(settings: Settings, listener: str, mechanism: str) -> JaasEntry:
    """How this node itself logs in at others on that listener."""
    entry = _jaas(settings, listener, mechanism)
    if entry is None or "username" not in entry.options or "password" not in entry.options:
        raise _bad(
            f"nodes log in on listener {listener} by {mechanism}: set listener.name.{listener.lower()}."
            f'{mechanism.lower()}.sasl.jaas.config with username="..." password="..."'
        )
    return entry


def tls_settings(settings: Settings, listener: str) -> TlsSettings:
    def text(name: str) -> str | None:
        value = settings.listener_value(listener, name)
        return str(value) if value else None

    def items(name: str) -> tuple[str, ...]:
        value = settings.listener_value(listener, name)
        return value if isinstance(value, tuple) else ()

    return TlsSettings(
        text("ssl.keystore.location"),
        text("ssl.keystore.password"),
        text("ssl.key.password"),
        text("ssl.keystore.certificate.chain"),
        text("ssl.keystore.key"),
        text("ssl.truststore.location"),
        text("ssl.truststore.password"),
        text("ssl.truststore.certificates"),
        items("ssl.enabled.protocols"),
        items("ssl.cipher.suites"),
        text("ssl.client.auth") or "none",
        (text("ssl.endpoint.identification.algorithm") or "").lower(),
        text("ssl.principal.mapping.rules") or "DEFAULT",
    )


def _mechanisms(settings: Settings, listener: str) -> tuple[str, ...]:
    value = settings.listener_value(listener, "sasl.enabled.mechanisms")
    found = tuple(item.upper() for item in value) if isinstance(value, tuple) else ()
    for mechanism in found:
        if mechanism not in MECHANISMS:
            raise _bad(
                f"listener {listener} asks for the login {mechanism} (sasl.enabled.mechanisms), which is not known."
                f" Served are {', '.join(MECHANISMS)}"
            )
    return found


def _jaas(settings: Settings, listener: str, mechanism: str) -> JaasEntry | None:
    name = f"{mechanism.lower()}.sasl.jaas.config"
    text = settings.listener_text(listener, name) or settings.listener_value(listener, "sasl.jaas.config")
    if not text:
        return None
    entry = parse_jaas(f"listener.name.{listener.lower()}.{name}", str(text))
    return entry if mechanism in entry.mechanisms else None


def _bad(why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_CONFIG, why)
