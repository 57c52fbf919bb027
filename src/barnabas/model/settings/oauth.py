"""What a listener with OAUTHBEARER accepts, from Kafka's settings (KIP-768, KIP-1139).

Kafka's classes are known by their names. Without `sasl.server.callback.handler.class` tokens are verified; in Kafka
that means tokens without a signature, which prove nothing. Those are taken only where the setting names their class.
"""

from typing import NamedTuple
from urllib.parse import urlsplit

from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.settings.effective import Settings
from barnabas.model.settings.jaas import JaasEntry
from barnabas.model.settings.unkept import HANDLER, OAUTH_PACKAGE, UNSECURED, VALIDATORS

MECHANISM = "OAUTHBEARER"
_JWT_VALIDATORS = (f"{OAUTH_PACKAGE}.DefaultJwtValidator", f"{OAUTH_PACKAGE}.BrokerJwtValidator")
_SCHEMES = ("http", "https", "file")


class OAuthSettings(NamedTuple):
    unsecured: bool  # tokens without a signature
    jwks_url: str | None  # None only where `unsecured`
    issuer: str | None
    audience: tuple[str, ...]
    subject_claim: str
    scope_claim: str
    skew_seconds: int
    refresh_ms: int
    backoff_ms: int
    backoff_max_ms: int
    truststore: str | None  # of the provider's certificate: a PEM file; None: what this machine trusts


def oauth_settings(settings: Settings, listener: str, jaas: JaasEntry | None) -> OAuthSettings:
    """KafkaError(INVALID_CONFIG) with one line for what is missing or cannot be kept."""

    def value(name: str) -> object:
        return settings.mechanism_value(listener, MECHANISM, name)

    def text(name: str) -> str | None:
        return str(value(name)) if value(name) else None

    def number(name: str) -> int:
        found = value(name)
        assert isinstance(found, int), name
        return found

    handler = text(HANDLER)
    if handler not in (None, UNSECURED, *VALIDATORS):
        raise _bad(listener, f"{HANDLER}={handler}: no Java class can be loaded; known by its name is {VALIDATORS[0]}")
    validator = text("sasl.oauthbearer.jwt.validator.class")
    if validator not in _JWT_VALIDATORS:
        raise _bad(
            listener,
            f"sasl.oauthbearer.jwt.validator.class={validator}: no Java class can be loaded; known by its name is "
            f"{_JWT_VALIDATORS[0]}",
        )
    unsecured = handler == UNSECURED
    options = {} if jaas is None else jaas.options
    asked = next((name for name in options if name.startswith("unsecuredValidator")), None)
    if asked is not None:
        raise _bad(listener, f"the option {asked} of its JAAS line is not served: use the sasl.oauthbearer settings")
    audience = value("sasl.oauthbearer.expected.audience")
    found = OAuthSettings(
        unsecured,
        text("sasl.oauthbearer.jwks.endpoint.url"),
        text("sasl.oauthbearer.expected.issuer"),
        audience if isinstance(audience, tuple) else (),
        text("sasl.oauthbearer.sub.claim.name") or "sub",
        text("sasl.oauthbearer.scope.claim.name") or "scope",
        max(0, number("sasl.oauthbearer.clock.skew.seconds")),
        max(1_000, number("sasl.oauthbearer.jwks.endpoint.refresh.ms")),
        max(1, number("sasl.oauthbearer.jwks.endpoint.retry.backoff.ms")),
        max(1, number("sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms")),
        options.get("ssl.truststore.location"),
    )
    if not unsecured:
        _check(listener, found)
    return found


def _check(listener: str, found: OAuthSettings) -> None:
    needed = {
        "sasl.oauthbearer.jwks.endpoint.url": (found.jwks_url, "it says where the keys of the provider are"),
        "sasl.oauthbearer.expected.issuer": (found.issuer, "a token of another issuer is not for this cluster"),
        "sasl.oauthbearer.expected.audience": (found.audience, "a token for another service is not for this cluster"),
    }
    for name, (value, why) in needed.items():
        if not value:
            raise _bad(listener, f"it offers OAUTHBEARER, but {name} is not set: {why}")
    url = urlsplit(found.jwks_url or "")
    if url.scheme not in _SCHEMES or not (url.netloc if url.scheme != "file" else url.path):
        raise _bad(listener, f"sasl.oauthbearer.jwks.endpoint.url={found.jwks_url} is no http, https or file URL")


def _bad(listener: str, why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_CONFIG, f"listener {listener}: {why}")
