"""How this node proves to others who it is: by its TLS certificate, by a login, or not at all.

Kafka's settings say it: `inter.broker.listener.name` and `controller.listener.names` name the listeners, their protocol
is looked up, `sasl.mechanism.inter.broker.protocol` and `sasl.mechanism.controller.protocol` name the login, and the
JAAS line of that listener and mechanism has the user and the password. EXTERNAL logs in by certificate.
"""

from __future__ import annotations

import logging
import ssl
from typing import TYPE_CHECKING, NamedTuple

from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.settings import Settings

if TYPE_CHECKING:
    from barnabas.link.sasl import Credentials
    from barnabas.tls.contexts import RenewedContext

log = logging.getLogger(__name__)


class PeerSecurity(NamedTuple):
    tls: RenewedContext | None = None
    credentials: Credentials | None = None

    def context(self) -> ssl.SSLContext | None:
        """For the next connection; files that have changed are read, which takes a few milliseconds."""
        if self.tls is None:
            return None
        try:
            self.tls.renew_if_changed()
        except KafkaError as error:
            log.error("new certificates are not used towards other nodes, the old ones stay: %s", error.message)
        return self.tls.context


PLAINTEXT = PeerSecurity()


def brokers_security(settings: Settings) -> PeerSecurity:
    """Among brokers."""
    listener = settings.inter_broker_listener()
    if listener is None:
        return PLAINTEXT
    return _security(settings, listener.name, listener.protocol, "sasl.mechanism.inter.broker.protocol")


def quorum_security(settings: Settings) -> PeerSecurity:
    """To controllers: on their own listener, or on that of the brokers."""
    listener = settings.quorum_listener()
    if listener is None:
        return brokers_security(settings)
    return _security(settings, *listener, "sasl.mechanism.controller.protocol")


def _security(settings: Settings, name: str, protocol: str, mechanism_setting: str) -> PeerSecurity:
    if protocol == "PLAINTEXT":
        return PLAINTEXT
    # Imported here: a node of an open cluster does not need any of it.
    from barnabas.model.settings.listener_security import SASL_PROTOCOLS, TLS_PROTOCOLS, tls_settings
    from barnabas.tls.contexts import RenewedContext, client_context

    tls = RenewedContext(tls_settings(settings, name), client_context) if protocol in TLS_PROTOCOLS else None
    return PeerSecurity(tls, _credentials(settings, name, mechanism_setting) if protocol in SASL_PROTOCOLS else None)


def _credentials(settings: Settings, listener: str, mechanism_setting: str) -> Credentials:
    from barnabas.link.sasl import EXTERNAL, MECHANISMS, Credentials
    from barnabas.model.settings.listener_security import login_entry

    mechanism = str(settings.listener_value(listener, mechanism_setting)).upper()
    if mechanism not in MECHANISMS:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"{mechanism_setting}={mechanism}: nodes log in among themselves by one of {', '.join(MECHANISMS)}",
        )
    if mechanism == EXTERNAL:
        return Credentials(EXTERNAL, "", "")
    options = login_entry(settings, listener, mechanism).options
    return Credentials(mechanism, options["username"], options["password"])
