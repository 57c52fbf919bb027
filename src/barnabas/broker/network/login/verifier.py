"""Verifies the tokens of OAUTHBEARER on one listener: by the keys of its provider and its rules."""

import ssl

from barnabas.broker.clock import wall_ms
from barnabas.broker.network.login.jwks import FetchedKeys
from barnabas.core.access.jwt import TokenRules, UnknownKey, unsigned, verified
from barnabas.core.access.sasl.contract import Identity, NotReady
from barnabas.core.access.sasl.oauthbearer import OAuthBearerServer
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.settings.oauth import OAuthSettings


class TokenVerifier:
    def __init__(self, settings: OAuthSettings, listener: str) -> None:
        self._rules = TokenRules(
            settings.issuer,
            frozenset(settings.audience),
            settings.subject_claim,
            settings.scope_claim,
            settings.skew_seconds,
        )
        self._fetched: FetchedKeys | None = None
        if not settings.unsecured:
            self._fetched = FetchedKeys(settings, listener, _tls(settings.truststore))

    def server(self) -> OAuthBearerServer:
        return OAuthBearerServer(self.verify)

    def verify(self, token: str) -> Identity:
        now_s = wall_ms() / 1000
        if self._fetched is None:
            return unsigned(token, self._rules, now_s)
        try:
            return verified(token, self._fetched.keys, self._rules, now_s)
        except UnknownKey:
            ready = self._fetched.waiting()
            if ready is None:
                raise
            raise NotReady(ready) from None

    def close(self) -> None:
        if self._fetched is not None:
            self._fetched.close()


def _tls(truststore: str | None) -> ssl.SSLContext | None:
    if truststore is None:
        return None
    try:
        return ssl.create_default_context(cafile=truststore)
    except (OSError, ValueError) as error:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG, f"ssl.truststore.location={truststore} of the JAAS line is no PEM file: {error}"
        ) from None
