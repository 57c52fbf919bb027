"""Runs the console: uvicorn on uvloop, one process."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

import uvicorn

from barnabas.console.options import ConsoleOptions
from barnabas.console.problems import Problem
from barnabas.console.web.app import Console
from barnabas.model.os_reasons import reason_of

_CONNECTIONS_MAX = 500  # a stream a tab
_GRACE_SECONDS = 1  # open streams would hold a stop for ever


def run(options: ConsoleOptions, ready: Callable[[str], None]) -> None:
    """Until SIGINT or SIGTERM. `ready` is told the address when browsers can connect."""
    options.check()
    _check_certificate(options)
    bound = _bound(options)
    scheme = "https" if options.certificate else "http"
    host, port = options.host, bound.getsockname()[1]
    console = Console(replace(options, port=port))
    config = uvicorn.Config(
        console.app(),
        loop="uvloop",
        http="httptools",
        ws="none",
        log_config=None,
        access_log=False,
        server_header=False,
        limit_concurrency=_CONNECTIONS_MAX,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        ssl_certfile=options.certificate,
        ssl_keyfile=options.key,
    )
    address = f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
    server = _Server(config, lambda: ready(address), console.ending.set)
    with bound, suppress(KeyboardInterrupt):  # uvicorn raises the signal again when it has ended
        server.run(sockets=[bound])


def _check_certificate(options: ConsoleOptions) -> None:
    """Before anything listens, as one line."""
    if options.certificate is None:
        return
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(options.certificate, options.key)
    except OSError as error:  # ssl.SSLError is one
        reason = error.reason if isinstance(error, ssl.SSLError) else (error.strerror or str(error)).lower()
        raise Problem(
            f"certificate {options.certificate} cannot be used: {reason or error}",
            "It and its key are PEM files; name the key with key = ... where it is in another file.",
        ) from None


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, ready: Callable[[], None], ending: Callable[[], None]) -> None:
        super().__init__(config)
        self._ready = ready
        self._ending = ending

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._ending()
        await super().shutdown(sockets)


def _bound(options: ConsoleOptions) -> socket.socket:
    family = socket.AF_INET6 if ":" in options.host else socket.AF_INET
    try:
        return socket.create_server((options.host, options.port), family=family, backlog=128)
    except OSError as error:
        reason = reason_of(error)
        raise Problem(
            f"the console cannot listen on {options.host}:{options.port}: {reason}", "Choose another one: --port 0"
        ) from None
