"""What the connections of one listener share for their logins: mechanisms, users, limits."""

import asyncio
import base64
import logging
import secrets
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Protocol

from barnabas.broker.metrics.event_log import LimitedLog
from barnabas.broker.network.login.failed_logins import FailedLogins
from barnabas.broker.network.login.token_logins import TokenLogins
from barnabas.broker.network.pending_logins import PendingLogins
from barnabas.core.access.credentials import NO_USER, DelegationToken, ScramCredential
from barnabas.core.access.delegation_tokens import TokenCredential
from barnabas.core.access.principals import PrincipalRules, Subject, distinguished_name
from barnabas.core.access.sasl.contract import NotReady, SaslServer
from barnabas.core.access.sasl.external import ExternalServer
from barnabas.core.access.sasl.plain import PlainServer
from barnabas.core.access.sasl.scram import SCRAM, ScramMechanism, ScramServer
from barnabas.model.settings.kerberos import KerberosSettings
from barnabas.model.settings.listener_security import EXTERNAL, GSSAPI, OAUTHBEARER, PLAIN, ListenerSecurity
from barnabas.model.settings.oauth import OAuthSettings

if TYPE_CHECKING:
    from barnabas.broker.audit.trail import AuditTrail
    from barnabas.broker.network.login.kerberos import KerberosLogins
    from barnabas.broker.network.login.verifier import TokenVerifier


class KnownUsers(Protocol):
    """The metadata image, as far as a login needs it."""

    @property
    def scram(self) -> Mapping[tuple[str, int], ScramCredential]: ...
    @property
    def tokens(self) -> Mapping[str, DelegationToken]: ...


Users = Callable[[], KnownUsers]
"""The newest image."""

_NONCE_BYTES = 18


class ListenerLogin:
    """`opened` is set once the node has caught up with the metadata, which has the users of SCRAM; `token_secret` is
    None where there are no delegation tokens."""

    def __init__(
        self,
        security: ListenerSecurity,
        users: Users,
        failed: FailedLogins,
        opened: asyncio.Event,
        pending: PendingLogins,
        audit: "AuditTrail | None" = None,
        token_secret: str | None = None,
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
        self._users = users
        self._passwords = security.jaas[PLAIN].users if PLAIN in security.jaas else {}
        self._rules = None if security.tls is None else PrincipalRules(security.tls.principal_rules)
        self._own_secret = secrets.token_bytes(32)  # of a cluster that has had no user yet
        self._verifier = None if security.oauth is None else _verifier(security.oauth, security.name)
        self._kerberos = None if security.kerberos is None else _kerberos(security.kerberos)
        self._tokens = None if token_secret is None else TokenLogins(token_secret, self._secret_of_salts)

    def server(self, mechanism: str, certified: Subject | None) -> SaslServer:
        """The machine for one login; `certified`: of the certificate that the client has shown."""
        if mechanism == PLAIN:
            return PlainServer(self._passwords)
        if mechanism == EXTERNAL:
            return ExternalServer(self.certified_name(certified))
        if mechanism == OAUTHBEARER:
            assert self._verifier is not None
            return self._verifier.server()
        if mechanism == GSSAPI:
            assert self._kerberos is not None
            return self._kerberos.server()
        scram = SCRAM[mechanism]
        nonce = base64.b64encode(secrets.token_bytes(_NONCE_BYTES)).decode()
        find_token = None if self._tokens is None else lambda token_id: self._find_token(token_id, scram)
        return ScramServer(scram, lambda user: self._find(user, scram), nonce, self._secret_of_salts, find_token)

    def _secret_of_salts(self) -> bytes:
        kept = self._users().scram.get(NO_USER)
        return self._own_secret if kept is None else kept.stored_key

    def _find_token(self, token_id: str, mechanism: ScramMechanism) -> TokenCredential | None:
        assert self._tokens is not None
        if not self.opened.is_set():
            raise NotReady
        return self._tokens.find(self._users().tokens, token_id, mechanism)

    def _find(self, user: str, mechanism: ScramMechanism) -> ScramCredential | None:
        """A node that starts may have old credentials; only nodes that log in by SCRAM cannot wait for newer ones."""
        found = self._users().scram.get((user, mechanism.number))
        if not self.opened.is_set() and (found is None or mechanism.name != self._nodes_mechanism):
            raise NotReady
        return found

    def close(self) -> None:
        if self._verifier is not None:
            self._verifier.close()
        if self._kerberos is not None:
            self._kerberos.close()

    def certified_name(self, certified: Subject | None) -> str | None:
        if certified is None or self._rules is None:
            return None
        return self._rules.principal(distinguished_name(certified))


def _verifier(settings: OAuthSettings, listener: str) -> "TokenVerifier":
    from barnabas.broker.network.login.verifier import TokenVerifier  # with joserfc: only a node that needs it

    return TokenVerifier(settings, listener)


def _kerberos(settings: KerberosSettings) -> "KerberosLogins":
    from barnabas.broker.network.login.kerberos import KerberosLogins  # with gssapi, which is an extra

    return KerberosLogins(settings)
