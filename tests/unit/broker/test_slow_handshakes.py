"""Connections to other nodes over TLS: one that is gone is given up soon, one that is busy is waited for."""

import asyncio
import socket
import ssl
from pathlib import Path

import pytest

from barnabas.broker import platform
from barnabas.broker.peers import table
from barnabas.broker.peers.security import PeerSecurity
from barnabas.broker.peers.table import PeerConnector
from barnabas.broker.platform import REAL_PLATFORM
from barnabas.link.errors import Silent, Unreachable
from barnabas.model.settings import Settings
from barnabas.model.settings.listener_security import tls_settings
from barnabas.tls.contexts import RenewedContext, client_context
from tests.support.certificates import Authority

_SOON = 0.2


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (platform, table):
        monkeypatch.setattr(module, "CONNECT_TIMEOUT_SECONDS", _SOON)


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path)


def _connector(authority: Authority) -> PeerConnector:
    trusted = Settings({"ssl.truststore.location": str(authority.file), "ssl.truststore.type": "PEM"})
    tls = RenewedContext(tls_settings(trusted, "L"), client_context)
    return PeerConnector(1, REAL_PLATFORM.connect, PeerSecurity(tls))


def test_a_handshake_may_take_longer_than_to_be_accepted(authority: Authority) -> None:
    served = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    served.load_cert_chain(authority.issue("node").pem)

    async def story() -> None:
        loop = asyncio.get_running_loop()
        with socket.create_server(("127.0.0.1", 0)) as listening:
            listening.setblocking(False)
            port = listening.getsockname()[1]
            connecting = asyncio.ensure_future(_connector(authority).connect("127.0.0.1", port))
            accepted, _ = await loop.sock_accept(listening)
            await asyncio.sleep(_SOON * 2)
            assert not connecting.done()
            transport, _ = await loop.connect_accepted_socket(asyncio.Protocol, accepted, ssl=served)
            link = await connecting
            assert not link.closed
            link.close()
            transport.abort()
            await asyncio.sleep(0)

    asyncio.run(story())


def test_a_machine_that_is_not_heard_of_is_given_up_soon(authority: Authority) -> None:
    async def story() -> None:
        with socket.socket() as listening:
            listening.bind(("127.0.0.1", 0))
            listening.listen(0)  # one connection fills the queue: the next one is not answered
            address = listening.getsockname()
            with socket.create_connection(address), pytest.raises(Silent):
                await _connector(authority).connect(*address)

    asyncio.run(story())


def test_a_port_that_refuses_is_unreachable_at_once(authority: Authority) -> None:
    async def story() -> None:
        with socket.socket() as bound:
            bound.bind(("127.0.0.1", 0))
            with pytest.raises(Unreachable):
                await _connector(authority).connect(*bound.getsockname())

    asyncio.run(story())
