"""What the connections of one listener share for their logins: mechanisms, users, limits."""

import asyncio
import base64
import logging
import secrets
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from barnabas.broker.metrics.event_log import LimitedLog
from barnabas.broker.network.login.failed_logins import FailedLogins
from barnabas.broker.network.pending_logins import PendingLogins
from barnabas.core.access.credentials import NO_USER, ScramCredential
from barnabas.core.access.principals import PrincipalRules, Subject, distinguished_name
from barnabas.core.access.sasl.contract import NotReady, SaslServer
from barnabas.core.access.sasl.external import ExternalServer
from barnabas.core.access.sasl.plain import PlainServer
from barnabas.core.access.sasl.scram import SCRAM, ScramMechanism, ScramServer
from barnabas.model.settings.listener_security import EXTERNAL, PLAIN, ListenerSecurity

if TYPE_CHECKING:
    from barnabas.broker.audit.trail import AuditTrail

Credentials = Callable[[], Mapping[tuple[str, int], ScramCredential]]
"""The newest SCRAM credentials of the metadata image, by user and mechanism."""

_NONCE_BYTES = 18


class ListenerLogin:
    """`opened` is set once the node has caught up with the metadata, which has the users of SCRAM."""

    def __init__(
        self,
        security: ListenerSecurity,
        credentials: Credentials,
        failed: FailedLogins,
        opened: asyncio.Event,
        pending: PendingLogins,
        audit: "AuditTrail | None" = None,
    ) -> None:
        self.audit = audit
        self.opened = opened
        self.pending = pending
        self.mechanisms = security.mechanisms
        self.reauth_ms = security.reauth_ms
        self.failed_delay_ms = security.failed_delay_ms
        self.message_max_bytes = security.login_message_max_bytes
        self.failed = failed
        self.troubles = LimitedLog(logging.getLogger("barnabas.events"), asyncio.get_running_loop().time)
        self._nodes_mechanism = security.nodes_mechanism
        self._credentials = credentials
        self._passwords = security.jaas[PLAIN].users if PLAIN in security.jaas else {}
        self._rules = None if security.tls is None else PrincipalRules(security.tls.principal_rules)
        self._own_secret = secrets.token_bytes(32)  # of a cluster that has had no user yet

    def server(self, mechanism: str, certified: Subject | None) -> SaslServer:
        """The machine for one login; `certified`: of the certificate that the client has shown."""
        if mechanism == PLAIN:
            return PlainServer(self._passwords)
        if mechanism == EXTERNAL:
            return ExternalServer(self.certified_name(certified))
        scram = SCRAM[mechanism]
        nonce = base64.b64encode(secrets.token_bytes(_NONCE_BYTES)).decode()
        return ScramServer(scram, lambda user: self._find(user, scram), nonce, self._secret_of_salts)

    def _secret_of_salts(self) -> bytes:
        kept = self._credentials().get(NO_USER)
        return self._own_secret if kept is None else kept.stored_key

    def _find(self, user: str, mechanism: ScramMechanism) -> ScramCredential | None:
        """A node that starts may have old credentials; only nodes that log in by SCRAM cannot wait for newer ones."""
        found = self._credentials().get((user, mechanism.number))
        if not self.opened.is_set() and (found is None or mechanism.name != self._nodes_mechanism):
            raise NotReady
        return found

    def certified_name(self, certified: Subject | None) -> str | None:
        if certified is None or self._rules is None:
            return None
        return self._rules.principal(distinguished_name(certified))
