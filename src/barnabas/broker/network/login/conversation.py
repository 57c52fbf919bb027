"""One connection's login: what it may send before, the messages of the mechanism, and what follows from them.

    before the login    ApiVersions and SaslHandshake only; anything else closes the connection
    after SaslHandshake SaslAuthenticate only (handshake version 0: bare messages, each behind its length)
    after the login     everything; SaslHandshake begins a re-authentication (KIP-368), as the same principal
    after its lifetime  as before the login, and the connection closes at the first other request

A failed login is answered late (failed_logins.py), and then the connection is closed.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Protocol

from barnabas.broker.network.login.failed_logins import NAME_CHARS
from barnabas.broker.network.login.listener_login import ListenerLogin
from barnabas.broker.network.session import Principal, Session
from barnabas.core.access.principals import Subject
from barnabas.core.access.sasl.contract import Identity, LoginRefused, NotReady, RefusedByReply, SaslServer
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.limits import LOGIN_LIFETIME_MAX_MS, LOGIN_SECONDS
from barnabas.model.settings.listener_security import EXTERNAL
from barnabas.wire.apis import API_VERSIONS, SASL_AUTHENTICATE, SASL_HANDSHAKE, SERVED
from barnabas.wire.errors import ProtocolError
from barnabas.wire.headers import encode_response_frame, read_request_header, skim_request_header

if TYPE_CHECKING:
    from barnabas.broker.network.connection import Connection, Reply

_LENGTH_BYTES = 4
Step = tuple[bytes, int]


class LoginConnection(Protocol):
    """What a login does with its connection."""

    session: Session

    def login_ended(self) -> None:
        """It has succeeded: every request is served from now on."""

    def login_expired(self) -> None:
        """Only a new login is served from now on."""

    def close_when_sent(self) -> None:
        """After the answer that is on its way."""

    def close(self) -> None:
        """It took too long."""

    def abort(self) -> None:
        """Too many others wait to log in."""


class Login:
    """`serve` is the dispatcher; `certified` the subject of the certificate that the client has shown."""

    def __init__(
        self,
        listener: ListenerLogin,
        connection: LoginConnection,
        serve: "Callable[[Connection, memoryview], Reply | Awaitable[Reply]]",
        certified: Subject | None,
    ) -> None:
        self._listener = listener
        self._serve = serve
        self._connection = connection
        self._certified = certified
        self._mechanism = ""
        self._server: SaslServer | None = None
        self._bare = False  # messages without a request around them: SaslHandshake 0
        loop = asyncio.get_running_loop()
        self._deadline = loop.call_later(LOGIN_SECONDS, connection.close)
        self._expiry: asyncio.TimerHandle | None = None
        listener.pending.began(self, connection.abort)
        self.principal: Principal | None = None  # None: not logged in yet

    @property
    def mechanisms(self) -> tuple[str, ...]:
        return self._listener.mechanisms

    @property
    def message_max_bytes(self) -> int:
        return self._listener.message_max_bytes

    def dispatch(self, connection: "Connection", frame: memoryview) -> "Reply | Awaitable[Reply]":
        """In the dispatcher's place until the login has succeeded. Raises ProtocolError for what is not served yet."""
        if self._server is not None and self._bare:
            return self._answer_bare(bytes(frame))
        api_key = skim_request_header(frame)[0]
        allowed = (SASL_AUTHENTICATE,) if self._server is not None else (API_VERSIONS, SASL_HANDSHAKE)
        if self._server is not None and api_key in (API_VERSIONS, SASL_HANDSHAKE):
            return self._out_of_turn(bytes(frame))
        if api_key not in allowed:
            raise ProtocolError(f"a request with api key {api_key} before the client has logged in")
        return self._serve(connection, frame)

    async def _out_of_turn(self, frame: bytes) -> bytes:
        """A request that is served before a login, in the middle of one: answered as by Kafka, and closed behind it."""
        api_key, version, correlation_id, _, _ = read_request_header(memoryview(frame))
        api = SERVED[api_key]
        if not api.min_version <= version <= api.max_version:
            raise ProtocolError(f"{api.name} version {version} during a login")
        await self._failed(LoginRefused(f"{api.name} during a login"))
        return encode_response_frame(
            api_key, version, correlation_id, {"error_code": int(ErrorCode.ILLEGAL_SASL_STATE)}
        )

    # --- the login --------------------------------------------------------------------------------------------------

    def begin(self, mechanism: str, *, bare: bool) -> None:
        """SaslHandshake. KafkaError where the mechanism is not offered, or a login is under way."""
        if self._server is not None:
            raise KafkaError(ErrorCode.ILLEGAL_SASL_STATE, "a login is under way")
        if mechanism not in self._listener.mechanisms or (self.principal is not None and mechanism != self._mechanism):
            self._connection.close_when_sent()
            self._tell(mechanism, "", f"{mechanism} is not offered here")
            raise KafkaError(ErrorCode.UNSUPPORTED_SASL_MECHANISM, f"{mechanism} is not offered here")
        self._mechanism, self._bare = mechanism, bare
        self._server = self._listener.server(mechanism, self._certified)

    def step(self, message: bytes, now_ms: int) -> Step | Awaitable[Step]:
        """SaslAuthenticate: the answer, and for how long the login counts (0: it does not end). At once where there is
        nothing to wait for: a task would cost a tenth of the login."""
        if self._server is None:
            raise KafkaError(ErrorCode.ILLEGAL_SASL_STATE, "SaslAuthenticate without SaslHandshake")
        try:
            return self._stepped(self._server.step(message), now_ms)
        except NotReady as pending:
            return self._step_later(message, pending, now_ms)
        except RefusedByReply as refused:
            return self._refused_by_reply(refused)
        except LoginRefused as refused:
            return self._refused(refused)

    def _stepped(self, answered: tuple[bytes, Identity | None], now_ms: int) -> Step:
        reply, identity = answered
        if identity is None:
            return reply, 0
        lifetime_ms = self._lifetime_ms(identity, now_ms)
        self._succeeded(identity, lifetime_ms)
        return reply, lifetime_ms

    async def _step_later(self, message: bytes, pending: NotReady, now_ms: int) -> Step:
        """A user that a starting node does not know yet waits for the metadata, and a token for the key that it
        names."""
        assert self._server is not None
        await (self._listener.opened.wait() if pending.ready is None else pending.ready())
        try:
            return self._stepped(self._server.step(message), now_ms)
        except NotReady:
            why = "Authentication failed: the node cannot verify it now, try again later"
            return await self._refused(LoginRefused(why))
        except RefusedByReply as refused:
            return await self._refused_by_reply(refused)
        except LoginRefused as refused:
            return await self._refused(refused)

    async def _refused_by_reply(self, refused: RefusedByReply) -> Step:
        await asyncio.sleep(self._note_failure(str(refused), None))
        return refused.reply, 0

    async def _refused(self, refused: LoginRefused) -> Step:
        starting = not self._listener.opened.is_set()  # a password may have changed while the node was down
        await self._failed(refused)
        if starting:
            raise ProtocolError("a login failed while the node starts; it may succeed later") from None
        raise KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED, str(refused)) from None

    async def _answer_bare(self, message: bytes) -> bytes:
        # Before SaslAuthenticate there was no place for a refusal: the connection is closed, after the delay.
        try:
            result = self.step(message, 0)
            reply, _ = await result if isinstance(result, Awaitable) else result
        except KafkaError as refused:
            raise ProtocolError(refused.message) from None
        return len(reply).to_bytes(_LENGTH_BYTES, "big") + reply

    def _lifetime_ms(self, identity: Identity, now_ms: int) -> int:
        # Nodes log in by EXTERNAL and do not do so again; a certificate is checked when a connection is made.
        has_end = self._listener.reauth_ms > 0 and self._mechanism != EXTERNAL
        bounds = [self._listener.reauth_ms] if has_end else []
        if identity.expires_ms is not None:
            bounds.append(min(max(1, identity.expires_ms - now_ms), LOGIN_LIFETIME_MAX_MS))
        return min(bounds, default=0)

    def _succeeded(self, identity: Identity, lifetime_ms: int) -> None:
        principal = Principal("User", identity.user, identity.by_token)
        if self.principal is not None and principal != self.principal:
            raise LoginRefused(
                f"Cannot change principals during re-authentication from {self.principal} to {principal}"
            )
        self.principal = principal
        self._deadline.cancel()
        self._listener.pending.ended(self)
        self._server, self._bare = None, False
        session = self._connection.session
        self._listener.failed.succeeded(session.client_host, identity.user)
        session.principal = principal
        if self._expiry is not None:
            self._expiry.cancel()
            self._expiry = None
        if lifetime_ms:
            self._expiry = asyncio.get_running_loop().call_later(lifetime_ms / 1000, self._connection.login_expired)
        self._connection.login_ended()
        self._tell(self._mechanism, identity.user)

    def _tell(self, mechanism: str, user: str, why: str = "") -> None:
        if self._listener.audit is not None:
            self._listener.audit.login(self._connection.session, mechanism[:NAME_CHARS], user[:NAME_CHARS], why)

    async def _failed(self, refused: LoginRefused) -> None:
        self._server = None
        delay_s = 0.0 if refused.counted else self._note_failure(str(refused.reason or refused), refused.user)
        self._connection.close_when_sent()
        await asyncio.sleep(delay_s)

    def _note_failure(self, why: str, user: str | None) -> float:
        """Counts, logs and audits it; gives for how many seconds the answer is held back."""
        session = self._connection.session
        delay_ms = self._listener.failed.failed(session.client_host, user, self._listener.failed_delay_ms)
        name = "somebody" if user is None else repr(user[:NAME_CHARS])
        self._listener.troubles.warning(
            f"login {session.client_host}",
            f"login of {name} from {session.client_host} on listener {session.listener} failed: {why}",
        )
        self._tell(self._mechanism, user or "", why)
        return delay_ms / 1000

    def close(self) -> None:
        self._deadline.cancel()
        self._listener.pending.ended(self)
        if self._expiry is not None:
            self._expiry.cancel()
