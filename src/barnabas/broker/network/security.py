"""What happens on a listener with TLS or SASL before the first request.

With TLS the handshake is done when a connection is made (tls_acceptor.py). On a listener without SASL the principal is
that of the client's certificate (`ssl.client.auth`); with SASL it is that of the login.
"""

import asyncio
import logging
from collections.abc import Iterable
from typing import TYPE_CHECKING

from barnabas.broker.network.login.conversation import Login
from barnabas.broker.network.login.failed_logins import FailedLogins
from barnabas.broker.network.login.listener_login import ListenerLogin, Users
from barnabas.broker.network.pending_logins import PendingLogins
from barnabas.broker.network.session import Principal
from barnabas.core.access.principals import BadRule
from barnabas.core.cluster.access.delegation_tokens import secret_key
from barnabas.core.cluster.records import Endpoint
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.settings import Settings
from barnabas.model.settings.listener_security import SASL_PROTOCOLS, ListenerSecurity, listener_security
from barnabas.tls.contexts import RenewedContext, server_context
from barnabas.wire.errors import ProtocolError

if TYPE_CHECKING:
    from barnabas.broker.audit.trail import AuditTrail
    from barnabas.broker.network.connection import Connection, Reply
    from barnabas.broker.network.dispatch import Dispatcher


events = logging.getLogger("barnabas.events")


class PortSecurity:
    def __init__(
        self,
        security: ListenerSecurity,
        dispatcher: "Dispatcher",
        users: Users,
        failed: FailedLogins,
        opened: asyncio.Event,
        pending: PendingLogins,
        audit: "AuditTrail | None",
        token_secret: str | None,
    ) -> None:
        self.name = security.name
        self._asks_login = security.protocol in SASL_PROTOCOLS
        self.tls: RenewedContext | None = None
        self._renewing: asyncio.Future[bool] | None = None
        if security.tls is not None:
            self.tls = RenewedContext(security.tls, server_context)
        self._dispatcher = dispatcher
        try:
            self._login = ListenerLogin(security, users, failed, opened, pending, audit, token_secret)
        except BadRule as error:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"ssl.principal.mapping.rules: {error}") from None

    @property
    def failed_logins(self) -> int:
        return self._login.failed.total

    def close(self) -> None:
        self._login.close()

    def renew_certificates(self) -> None:
        """Where their files have changed; in a thread, which reads them."""
        if self.tls is not None and self._renewing is None:
            self._renewing = asyncio.get_running_loop().run_in_executor(None, self.tls.renew_if_changed)
            self._renewing.add_done_callback(self._renewed)

    def _renewed(self, done: "asyncio.Future[bool]") -> None:
        self._renewing = None
        if done.cancelled():
            return
        if error := done.exception():
            events.error("new certificates of listener %s are not used, the old ones stay: %s", self.name, error)
        elif done.result():
            events.info("listener %s has new certificates; connections that live go on", self.name)

    def refuse(self, connection: "Connection", frame: memoryview) -> "Reply":
        """In the dispatcher's place while a client is not known."""
        raise ProtocolError("a request before the client is known")

    def begin(self, connection: "Connection", transport: asyncio.Transport) -> None:
        """Of a new connection: who it is, or that it has to log in."""
        connection.session.is_encrypted = self.tls is not None
        certificate = transport.get_extra_info("peercert") if self.tls is not None else None
        certified = certificate["subject"] if certificate else None
        if self._asks_login:
            connection.ask_login(Login(self._login, connection, self._dispatcher.handle, certified))
            return
        if certified is not None:
            name = self._login.certified_name(certified)
            if name is None:
                connection.refuse("no rule of ssl.principal.mapping.rules matches its certificate")
                return
            connection.session.principal = Principal("User", name)
            if self._login.audit is not None:
                self._login.audit.login(connection.session, "TLS certificate", name)
        connection.login_ended()


def secure_ports(
    settings: Settings,
    bound: Iterable[Endpoint],
    dispatcher: "Dispatcher",
    users: Users,
    opened: asyncio.Event,
    pending: PendingLogins,
    audit: "AuditTrail | None" = None,
) -> dict[int, PortSecurity]:
    """For each listener that is not PLAINTEXT. KafkaError(INVALID_CONFIG) with one line for a person."""
    bound = list(bound)
    ports = [endpoint.port for endpoint in bound]
    if len(set(ports)) < len(ports):  # what a connection has to do is looked up by its port
        raise KafkaError(
            ErrorCode.INVALID_CONFIG, "listeners: two listeners with the same port, and not all of them PLAINTEXT"
        )
    failed = FailedLogins(lambda: asyncio.get_running_loop().time() * 1000)
    return {
        endpoint.port: PortSecurity(
            listener_security(settings, endpoint.name, endpoint.protocol),
            dispatcher,
            users,
            failed,
            opened,
            pending,
            audit,
            secret_key(settings),
        )
        for endpoint in bound
        if endpoint.protocol != "PLAINTEXT"
    }
