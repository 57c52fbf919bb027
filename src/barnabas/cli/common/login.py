"""How the commands that speak Kafka's protocol by themselves log in: by the client profile, as the library does."""

from __future__ import annotations

import ssl
from typing import NamedTuple

from barnabas.cli.common.failure import Failure
from barnabas.link.errors import LoginFailed
from barnabas.link.login_settings import UnusableLogin, credentials_of, is_by_token, tls_of, token_credentials
from barnabas.link.sasl import Credentials


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
    if not is_by_token(profile):
        return credentials_of(profile)
    try:
        return token_credentials(profile)
    except LoginFailed as error:
        raise Failure(f"the login failed: {error}") from None
