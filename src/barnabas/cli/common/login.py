"""How the commands that speak Kafka's protocol by themselves log in: by the client profile, as the library does."""

from __future__ import annotations

import ssl
from typing import NamedTuple

from barnabas.cli.common.failure import Failure
from barnabas.link.login_settings import UnusableLogin, credentials_of, tls_of
from barnabas.link.sasl import OAUTHBEARER, Credentials


class Login(NamedTuple):
    tls: ssl.SSLContext | None = None
    credentials: Credentials | None = None


def login_for(bootstrap: str) -> Login:
    from barnabas.client.common.connection import addresses
    from barnabas.client.common.profile import profile_for
    from barnabas.client.errors import BadSetting

    try:
        profile = profile_for(addresses(bootstrap))
        return Login(tls_of(profile), _credentials(profile))
    except BadSetting as error:
        raise Failure(str(error)) from None
    except UnusableLogin as error:
        raise Failure(f"the client profile cannot be used: {error}") from None


def _credentials(profile: dict[str, str]) -> Credentials | None:
    is_oauth = profile.get("sasl.mechanism", "").upper() == OAUTHBEARER
    if is_oauth and profile.get("security.protocol", "").upper().startswith("SASL_"):
        return Credentials(OAUTHBEARER, "", _token(profile))
    return credentials_of(profile)


def _token(profile: dict[str, str]) -> str:
    """From the provider, by the settings that librdkafka has for it."""
    from barnabas.link.errors import LoginFailed
    from barnabas.link.token_endpoint import TokenRequest, fetch_token

    prefix = "sasl.oauthbearer."
    needed = [prefix + name for name in ("token.endpoint.url", "client.id", "client.secret")]
    missing = [name for name in needed if not profile.get(name)]
    if profile.get(f"{prefix}method", "").lower() != "oidc" or missing:
        what = ", ".join([f"{prefix}method=oidc", *needed])
        raise Failure("the client profile does not say how to get a token for OAUTHBEARER", f"It needs {what}.")
    url, client_id, secret = (profile[name] for name in needed)
    try:
        authorities = profile.get("https.ca.location")
        tls = None if authorities is None else ssl.create_default_context(cafile=authorities)
        return fetch_token(TokenRequest(url, client_id, secret, profile.get(f"{prefix}scope"), tls))
    except (OSError, LoginFailed) as error:
        raise Failure(f"the login failed: {error}") from None
