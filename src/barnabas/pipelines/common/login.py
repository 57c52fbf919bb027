"""A query's security settings as link/ takes them: a TLS context, and credentials for SASL.

Settings carry librdkafka's names (source/security.py translates Java's). What link/ does not speak (Kerberos, OAuth) is
refused with one line; Spark's own connector has them.
"""

from __future__ import annotations

import ssl
from collections.abc import Mapping

from barnabas.link.sasl import MECHANISMS, Credentials
from barnabas.pipelines.errors import PipelineError


def protocol(settings: Mapping[str, str]) -> str:
    name = settings.get("security.protocol", "plaintext").lower()
    if name not in ("plaintext", "ssl", "sasl_plaintext", "sasl_ssl"):
        raise PipelineError(f"kafka.security.protocol is PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL, not {name!r}")
    return name


def credentials(settings: Mapping[str, str]) -> Credentials | None:
    """None where nobody logs in."""
    if not protocol(settings).startswith("sasl"):
        return None
    name = settings.get("sasl.mechanism", settings.get("sasl.mechanisms", "")).upper()
    if name not in MECHANISMS:
        raise PipelineError(
            f"kafka.sasl.mechanism {name or 'is missing: it'} is one of {', '.join(MECHANISMS)} for this sink;"
            ' format("kafka") of session(connector=True) has the others'
        )
    if "sasl.username" not in settings or "sasl.password" not in settings:
        raise PipelineError("a login needs kafka.sasl.username and kafka.sasl.password, or kafka.sasl.jaas.config")
    return Credentials(name, settings["sasl.username"], settings["sasl.password"])


def tls(settings: Mapping[str, str]) -> ssl.SSLContext | None:
    if not protocol(settings).endswith("ssl"):
        return None
    try:
        found = ssl.create_default_context(cafile=settings.get("ssl.ca.location"), cadata=settings.get("ssl.ca.pem"))
        if "ssl.certificate.location" in settings:
            found.load_cert_chain(
                settings["ssl.certificate.location"], settings.get("ssl.key.location"), settings.get("ssl.key.password")
            )
    except (OSError, ssl.SSLError, ValueError) as error:
        raise PipelineError(f"the certificates cannot be used: {error}") from None
    if settings.get("ssl.endpoint.identification.algorithm", "https").lower() in ("", "none"):
        found.check_hostname = False
    if settings.get("enable.ssl.certificate.verification", "true").lower() == "false":
        found.check_hostname = False
        found.verify_mode = ssl.CERT_NONE
    return found
