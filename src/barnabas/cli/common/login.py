"""How the commands that speak Kafka's protocol by themselves log in: by the client profile, as the library does."""

from __future__ import annotations

import ssl
from typing import NamedTuple

from barnabas.cli.common.failure import Failure
from barnabas.link.sasl import MECHANISMS, Credentials


class Login(NamedTuple):
    tls: ssl.SSLContext | None = None
    credentials: Credentials | None = None


def login_for(bootstrap: str) -> Login:
    from barnabas.client.common.connection import addresses
    from barnabas.client.common.profile import profile_for
    from barnabas.client.errors import BadSetting

    try:
        profile = profile_for(addresses(bootstrap))
    except BadSetting as error:
        raise Failure(str(error)) from None
    protocol = profile.get("security.protocol", "PLAINTEXT").upper()
    return Login(
        _tls(profile) if protocol.endswith("SSL") else None,
        _credentials(profile) if protocol.startswith("SASL_") else None,
    )


def _credentials(profile: dict[str, str]) -> Credentials:
    mechanism = profile.get("sasl.mechanism", "").upper()
    if mechanism not in MECHANISMS:
        raise Failure(f"the client profile logs in by {mechanism or 'nothing'}", f"Use one of {', '.join(MECHANISMS)}.")
    return Credentials(mechanism, profile.get("sasl.username", ""), profile.get("sasl.password", ""))


def _tls(profile: dict[str, str]) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=profile.get("ssl.ca.location"), cadata=profile.get("ssl.ca.pem"))
        if "ssl.certificate.location" in profile:
            context.load_cert_chain(
                profile["ssl.certificate.location"], profile.get("ssl.key.location"), profile.get("ssl.key.password")
            )
    except (OSError, ValueError) as error:
        raise Failure(f"the certificates of the client profile cannot be used: {error}") from None
    if profile.get("ssl.endpoint.identification.algorithm", "https") in ("", "none"):
        context.check_hostname = False
    return context
