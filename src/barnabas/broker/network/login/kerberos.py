"""SASL/GSSAPI (RFC 4752): a client proves by a Kerberos ticket who it is. Needs MIT's library and `barnabas[kerberos]`.

| the client sends      | the node answers                                                            |
|-----------------------|-----------------------------------------------------------------------------|
| tokens of its ticket  | tokens, until both know each other                                          |
| nothing               | that it offers no security layer: TLS is for that                           |
| that it wants none    | nothing more: it is logged in, as the user behind its principal             |

The library looks into the keytab and into its replay cache, which are files: every step runs in a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING

from barnabas.core.access.kerberos_names import KerberosNames
from barnabas.core.access.principals import BadRule
from barnabas.core.access.sasl.contract import Identity, LoginRefused, NotReady
from barnabas.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    import gssapi

    from barnabas.model.settings.kerberos import KerberosSettings

_NO_LAYER = 1  # a bit of the first byte; the next three are the largest message, of which there are none
_OFFER = bytes([_NO_LAYER, 0, 0, 0])
_THREADS = 2
_REFUSED = "Authentication failed during authentication due to invalid credentials with SASL mechanism GSSAPI"

Step = Callable[[], tuple[bytes, Identity | None]]


class KerberosLogins:
    """The node's own key and the rules for names. KafkaError(INVALID_CONFIG) where they cannot be used."""

    def __init__(self, settings: KerberosSettings) -> None:
        try:
            import gssapi
        except ImportError:
            raise _unusable(
                "sasl.enabled.mechanisms: GSSAPI needs Kerberos' library: apt-get install libkrb5-dev, "
                "then pip install 'barnabas[kerberos]'"
            ) from None
        try:
            name = gssapi.Name(settings.principal, gssapi.NameType.kerberos_principal)
            self._credentials = gssapi.Credentials(name=name, usage="accept", store={"keytab": settings.keytab})
            realm = str(self._credentials.name).rpartition("@")[2]
        except gssapi.exceptions.GSSError as error:
            raise _unusable(
                f"{settings.setting}: {settings.principal} cannot be used with the keytab {settings.keytab}: "
                f"{_reason(error)}. See what it holds: klist -k {settings.keytab}"
            ) from None
        try:
            self._names = KerberosNames(settings.rules, realm)
        except BadRule as error:
            raise _unusable(f"sasl.kerberos.principal.to.local.rules: {error}") from None
        self._threads = ThreadPoolExecutor(_THREADS, "kerberos")

    def server(self) -> KerberosServer:
        import gssapi

        context = gssapi.SecurityContext(creds=self._credentials, usage="accept")
        return KerberosServer(context, self._names, self._threads)

    def close(self) -> None:
        self._threads.shutdown(wait=False)


class KerberosServer:
    def __init__(self, context: gssapi.SecurityContext, names: KerberosNames, threads: ThreadPoolExecutor) -> None:
        self._context = context
        self._names = names
        self._threads = threads
        self._next = self._negotiate
        self._step: asyncio.Future[tuple[bytes, Identity | None]] | None = None

    def step(self, message: bytes) -> tuple[bytes, Identity | None]:
        """NotReady the first time: a thread takes the step; the second time gives what came out."""
        if self._step is None:
            work = partial(self._guarded, message)
            self._step = asyncio.get_running_loop().run_in_executor(self._threads, work)
            self._step.add_done_callback(lambda step: step.cancelled() or step.exception())  # the client may have left
            raise NotReady(self._wait(self._step))
        done, self._step = self._step, None
        return done.result()

    @staticmethod
    def _wait(step: asyncio.Future[tuple[bytes, Identity | None]]) -> Callable[[], Awaitable[None]]:
        async def wait() -> None:
            await asyncio.wait([step])

        return wait

    def _guarded(self, message: bytes) -> tuple[bytes, Identity | None]:
        import gssapi

        try:
            return self._next(message)
        except gssapi.exceptions.GSSError as error:
            raise LoginRefused(_REFUSED, reason=_reason(error)) from None

    def _negotiate(self, message: bytes) -> tuple[bytes, Identity | None]:
        token: bytes = self._context.step(message) or b""
        if not self._context.complete:
            return token, None
        self._next = self._offer
        return (token, None) if token else self._offer(b"")

    def _offer(self, message: bytes) -> tuple[bytes, Identity | None]:
        if message:
            raise LoginRefused(_REFUSED, reason="a message where the client has nothing to say")
        self._next = self._choice
        return bytes(self._context.wrap(_OFFER, False).message), None

    def _choice(self, message: bytes) -> tuple[bytes, Identity | None]:
        chosen = bytes(self._context.unwrap(message).message)
        principal = str(self._context.initiator_name)
        if len(chosen) < len(_OFFER) or chosen[0] != _NO_LAYER:
            raise LoginRefused(_REFUSED, principal, "the client asks for a security layer; TLS is for that")
        user = self._names.user(principal)
        if user is None:
            raise LoginRefused(_REFUSED, principal, f"no rule gives {principal} a name")
        return b"", Identity(user)  # whom the client asks to be does not matter: kafka-python names the service there


def _reason(error: Exception) -> str:
    """The library's words in one line."""
    return " ".join(str(error).split())


def _unusable(line: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_CONFIG, line)
