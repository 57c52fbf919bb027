"""The registry that a command speaks to, and what goes wrong there as one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.common.failure import Failure

if TYPE_CHECKING:
    from barnabas.client.serde.registry.connection import Http
    from barnabas.client.serde.registry.registry import Registry

DEFAULT_REGISTRY = "http://127.0.0.1:8081"
_WAYS_OUT = {  # by the registry's codes
    40401: "What there is: barnabas schema list",
    40402: "Its versions: barnabas schema show SUBJECT",
}

RegistryUrl = Annotated[
    str,
    typer.Option(
        "--registry",
        "-r",
        envvar="BARNABAS_REGISTRY",
        metavar="URL",
        help="The schema registry, or several with commas.",
    ),
]


@contextmanager
def connected(url: str) -> Iterator[Registry]:
    """A Registry whose errors end the command."""
    from barnabas.client.errors import BarnabasError
    from barnabas.client.serde.registry.registry import Registry

    try:
        registry = Registry(url)
        yield registry
        registry.close()
    except BarnabasError as error:
        raise _failure(error) from None


@contextmanager
def connected_http(url: str) -> Iterator[Http]:
    """The same for what is asked path by path."""
    from barnabas.client.errors import BarnabasError
    from barnabas.client.serde.registry.connection import Http
    from barnabas.client.serde.registry.profile import settings_for
    from barnabas.client.serde.registry.settings import registry_settings

    try:
        found = registry_settings(url, {})
        if found.authorization is None and (known := settings_for({str(each) for each in found.addresses})):
            found = registry_settings(url, known)
        http = Http(found)
        yield http
        http.close()
    except BarnabasError as error:
        raise _failure(error) from None


def _failure(error: Exception) -> Failure:
    text = str(error)
    way_out = _WAYS_OUT.get(getattr(error, "error_code", 0), "")
    return Failure(f"{text[:1].lower()}{text[1:]}", way_out)
