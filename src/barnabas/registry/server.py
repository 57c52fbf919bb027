"""Runs a registry: uvicorn on uvloop, one process. The address is told when everything is loaded."""

from __future__ import annotations

import asyncio
import errno
import gc
import socket
import ssl
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial

import uvicorn

from barnabas.link.async_nodes import AsyncNodes, AsyncOptions
from barnabas.link.login_settings import UnusableLogin, credentials_of, tls_of
from barnabas.model.limits import REGISTRY_CONNECTIONS_MAX
from barnabas.model.os_reasons import reason_of
from barnabas.registry.access.people import People
from barnabas.registry.access.rights import Rights
from barnabas.registry.errors import RegistryError
from barnabas.registry.options import Problem, RegistryOptions
from barnabas.registry.rest.http import Application
from barnabas.registry.rest.protocol import Protocol
from barnabas.registry.rest.quick import QuickAnswers
from barnabas.registry.rest.service import Service
from barnabas.registry.store.handing_on import Peers
from barnabas.registry.store.store import Store

_GRACE_SECONDS = 2
_IDLE_SECONDS = 60  # of a connection that is kept for the next request
_CONNECT_SECONDS = 5.0


def run(options: RegistryOptions, ready: Callable[[str], None]) -> None:
    """Until SIGINT or SIGTERM. `ready` is told the address when clients can connect."""
    options.check()
    _check_certificate(options)
    bound = _bound(options)
    host, port = options.host, bound.getsockname()[1]
    address = f"{options.scheme}://{f'[{host}]' if ':' in host else host}:{port}"
    registry = _Registry(options, options.address or address)
    config = uvicorn.Config(
        registry,
        loop="uvloop",
        http=partial(Protocol, quick=registry.quick),  # type: ignore[arg-type]  # called as a class
        proxy_headers=False,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        limit_concurrency=REGISTRY_CONNECTIONS_MAX,
        timeout_keep_alive=_IDLE_SECONDS,
        timeout_graceful_shutdown=_GRACE_SECONDS,
        ssl_certfile=options.certificate,
        ssl_keyfile=options.key,
    )
    server = _Server(config, registry, lambda: ready(address))
    with bound, suppress(KeyboardInterrupt):  # uvicorn raises the signal again when it has ended
        server.run(sockets=[bound])
    if server.problem is not None:
        raise server.problem


class _Registry:
    """Made inside the loop, before anything is served."""

    def __init__(self, options: RegistryOptions, address: str) -> None:
        self._options = options
        self._address = address
        self._store: Store | None = None
        self._application: Application | None = None
        self._quick: QuickAnswers | None = None  # where nobody has to log in
        self._asking: AsyncNodes | None = None  # for the access rules

    async def start(self) -> None:
        options = self._options
        try:
            asking = AsyncOptions(
                "barnabas-registry",
                _CONNECT_SECONDS,
                tls=tls_of(options.settings),
                credentials=credentials_of(options.settings),
            )
        except UnusableLogin as error:
            raise Problem(f"the client profile cannot be used: {error}") from None
        self._store = Store(lambda: AsyncNodes(options.addresses, asking), options.topic, self._address)
        service = Service(self._store, Peers(options.ca))
        try:
            await self._store.start()
            service.cluster_id = await self._store.cluster_id()
            people, rights = await self._access(asking)
        except RegistryError as error:
            raise Problem(error.message) from None
        self._application = Application(service, people, rights)
        if people is None:
            self._quick = QuickAnswers(service)

    def quick(self, url: bytes, headers: list[tuple[bytes, bytes]]) -> bytes | None:
        return None if self._quick is None else self._quick.answer(url, headers)

    async def _access(self, asking: AsyncOptions) -> tuple[People | None, Rights | None]:
        options = self._options
        if not options.needs_login:
            return None, None
        self._asking = AsyncNodes(options.addresses, asking)
        rights = Rights(self._asking)
        await rights.refresh()
        return (
            People(
                lambda credentials: AsyncNodes(options.addresses, replace(asking, credentials=credentials)),
                options.mechanism,
            ),
            rights,
        )

    async def stop(self) -> None:
        if self._store is not None:
            await self._store.stop()
        if self._asking is not None:
            self._asking.close()

    async def __call__(self, scope, receive, send) -> None:  # type: ignore[no-untyped-def]  # ASGI's
        assert self._application is not None
        await self._application(scope, receive, send)


class _Server(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, registry: _Registry, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._registry = registry
        self._ready = ready
        self.problem: Problem | None = None

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        loading = asyncio.ensure_future(self._registry.start())
        while not (await asyncio.wait([loading], timeout=0.2))[0]:
            if self.should_exit:  # a signal came first
                loading.cancel()
                return
        try:
            loading.result()
        except Problem as problem:
            self.problem = problem
            self.should_exit = True
            return
        gc.collect()
        gc.freeze()  # schemas stay: a collection that looks at all of them would hold the loop
        await super().startup(sockets)
        if self.started:
            self._ready()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self.started:
            await super().shutdown(sockets)
        await self._registry.stop()


def _check_certificate(options: RegistryOptions) -> None:
    """Before anything listens, as one line."""
    try:
        ssl.create_default_context(cafile=options.ca)
    except OSError as error:  # ssl.SSLError is one
        raise Problem(f"--ca {options.ca} cannot be used: {error.strerror or error}", "It is a PEM file.") from None
    if options.certificate is None:
        return
    try:
        ssl.create_default_context(ssl.Purpose.CLIENT_AUTH).load_cert_chain(options.certificate, options.key)
    except OSError as error:  # ssl.SSLError is one
        reason = error.reason if isinstance(error, ssl.SSLError) else (error.strerror or str(error)).lower()
        raise Problem(
            f"certificate {options.certificate} cannot be used: {reason or error}",
            "It and its key are PEM files; name the key with --key where it is in another file.",
        ) from None


def _bound(options: RegistryOptions) -> socket.socket:
    """It listens when everything is loaded: until then a client that has other addresses goes there."""
    bound = socket.socket(socket.AF_INET6 if ":" in options.host else socket.AF_INET)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind((options.host, options.port))
        return bound
    except OSError as error:
        bound.close()
        reason = reason_of(error)
        raise Problem(
            f"the registry cannot listen on {options.host}:{options.port}: {reason}",
            "Choose another one: --port 0"
            if error.errno == errno.EADDRINUSE
            else "Choose another one: --host or --port",
        ) from None
