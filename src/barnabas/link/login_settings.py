"""A client's security settings, by librdkafka's names, as link/ takes them: a TLS context, and credentials for SASL.

What link/ does not speak (Kerberos) and what cannot be used is an UnusableLogin: one line that begins with the setting.
Whoever read the settings says where they stand. A token for OAUTHBEARER is fetched for each login.
"""

import ssl
from collections.abc import Mapping

from barnabas.link.errors import LoginFailed
from barnabas.link.sasl import EXTERNAL, MECHANISMS, OAUTHBEARER, Credentials

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")


class UnusableLogin(Exception):
    """The text begins with the name of the setting, and does not show secrets."""


class UnknownMechanism(UnusableLogin):
    """Of SASL: other clients may know it."""


def protocol_of(settings: Mapping[str, str]) -> str:
    name = settings.get("security.protocol", "PLAINTEXT").upper()
    if name not in PROTOCOLS:
        raise UnusableLogin(f"security.protocol is one of {', '.join(PROTOCOLS)}, not {name!r}")
    return name


def credentials_of(settings: Mapping[str, str]) -> Credentials | None:
    """None where nobody logs in."""
    if not protocol_of(settings).startswith("SASL_"):
        return None
    name = settings.get("sasl.mechanism", settings.get("sasl.mechanisms", "")).upper()
    if name not in MECHANISMS:
        raise UnknownMechanism(f"sasl.mechanism {name or 'is missing: it'} is one of {', '.join(MECHANISMS)} here")
    if name == EXTERNAL:
        return Credentials(name, "", "")
    if "sasl.username" not in settings or "sasl.password" not in settings:
        raise UnusableLogin("sasl.username and sasl.password, or sasl.jaas.config, are missing: a login needs them")
    by_token = settings.get("sasl.tokenauth") == "true"  # of a delegation token, as client/common/kafka_names.py says
    return Credentials(name, settings["sasl.username"], settings["sasl.password"], by_token)


def is_by_token(settings: Mapping[str, str]) -> bool:
    """Whether a login needs a token of OAuth, so `token_credentials` and not `credentials_of`."""
    name = settings.get("sasl.mechanism", settings.get("sasl.mechanisms", "")).upper()
    return name == OAUTHBEARER and protocol_of(settings).startswith("SASL_")


def token_credentials(settings: Mapping[str, str]) -> Credentials:
    """With a token from the provider that the settings name. It blocks; LoginFailed where the provider gives none."""
    from barnabas.link.token_endpoint import TokenRequest, fetch_token

    prefix = "sasl.oauthbearer."
    needed = [prefix + name for name in ("token.endpoint.url", "client.id", "client.secret")]
    if settings.get(f"{prefix}method", "").lower() != "oidc" or any(not settings.get(name) for name in needed):
        raise UnusableLogin(f"{prefix}method=oidc and {', '.join(needed)} are what a token for OAUTHBEARER needs")
    url, client_id, secret = (settings[name] for name in needed)
    try:
        authorities = settings.get("https.ca.location")
        tls = None if authorities is None else ssl.create_default_context(cafile=authorities)
    except OSError as error:
        raise LoginFailed(f"https.ca.location cannot be used: {error}") from None
    return Credentials(
        OAUTHBEARER, "", fetch_token(TokenRequest(url, client_id, secret, settings.get(f"{prefix}scope"), tls))
    )


def tls_of(settings: Mapping[str, str]) -> ssl.SSLContext | None:
    """None without TLS."""
    if not protocol_of(settings).endswith("SSL"):
        return None
    try:
        found = ssl.create_default_context(cafile=settings.get("ssl.ca.location"), cadata=settings.get("ssl.ca.pem"))
        if "ssl.certificate.location" in settings:
            found.load_cert_chain(
                settings["ssl.certificate.location"], settings.get("ssl.key.location"), settings.get("ssl.key.password")
            )
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise UnusableLogin(f"ssl.ca.location or ssl.certificate.location cannot be used: {error}") from None
    if settings.get("ssl.endpoint.identification.algorithm", "https").lower() in ("", "none"):
        found.check_hostname = False
    if settings.get("enable.ssl.certificate.verification", "true").lower() == "false":
        found.check_hostname = False
        found.verify_mode = ssl.CERT_NONE
    return found
