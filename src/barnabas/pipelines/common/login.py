"""A query's security settings as link/ takes them (link/login_settings.py), with errors that name Spark's options."""

from __future__ import annotations

import ssl
from collections.abc import Mapping

from barnabas.link.login_settings import UnknownMechanism, UnusableLogin, credentials_of, tls_of
from barnabas.link.sasl import Credentials
from barnabas.pipelines.errors import PipelineError


def credentials(settings: Mapping[str, str]) -> Credentials | None:
    """None where nobody logs in."""
    try:
        return credentials_of(settings)
    except UnknownMechanism as error:
        raise PipelineError(f'kafka.{error}; format("kafka") of session(connector=True) has the others') from None
    except UnusableLogin as error:
        raise PipelineError(f"kafka.{error}") from None


def tls(settings: Mapping[str, str]) -> ssl.SSLContext | None:
    try:
        return tls_of(settings)
    except UnusableLogin as error:
        raise PipelineError(f"kafka.{error}") from None
