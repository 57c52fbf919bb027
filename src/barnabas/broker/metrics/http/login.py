"""HTTP basic authentication against the cluster's SCRAM users, for metrics.authentication=basic.

Checking a password takes about ten milliseconds of CPU: in a thread, one at a time. What was right is remembered for a
minute, by a keyed hash. A failed login is answered late, and later each time (login/failed_logins.py). An unknown user
costs as much as a known one.
"""

import asyncio
import base64
import binascii
import hmac
import secrets
from collections import OrderedDict
from concurrent.futures import Executor
from typing import TYPE_CHECKING, Protocol

from barnabas.broker import clock
from barnabas.broker.metrics.http.request import Refused
from barnabas.broker.network.login.failed_logins import NAME_CHARS, FailedLogins
from barnabas.broker.network.session import Principal, Session
from barnabas.core.access.credentials import NO_USER, ScramCredential
from barnabas.core.access.sasl.scram import BY_NUMBER, ITERATIONS_DEFAULT, SHA_256, credential, salt_of, salted_password
from barnabas.core.cluster.image import MetadataImage
from barnabas.model.access import CLUSTER_NAME, AclOperation, AclResourceType
from barnabas.model.limits import METRICS_LOGIN_SECONDS, METRICS_LOGINS_REMEMBERED
from barnabas.wire.apis import DESCRIBE_CLUSTER

if TYPE_CHECKING:
    from barnabas.broker.access import Access
    from barnabas.broker.audit.trail import AuditTrail

_DELAY_MS = 100  # of the first failures
_WRONG = "user or password is wrong"
LISTENER = "METRICS"


class LoginNode(Protocol):
    @property
    def image(self) -> MetadataImage: ...
    @property
    def access(self) -> "Access | None": ...
    @property
    def audit(self) -> "AuditTrail | None": ...


class BasicLogin:
    def __init__(self, node: LoginNode, thread: Executor) -> None:
        self._node = node
        self._thread = thread
        self._key = secrets.token_bytes(32)
        self._known: OrderedDict[bytes, tuple[float, ScramCredential, Session]] = OrderedDict()
        self.failed = FailedLogins(lambda: clock.source.monotonic() * 1000)

    async def check(self, header: str, host: str) -> None:
        """Raises Refused(401) for who is not known, (403) for who may not describe the cluster."""
        user, password = _user_and_password(header)
        place = hmac.digest(self._key, f"{len(user)} {user} {password}".encode(errors="replace"), "sha256")
        session = self._remembered(place, user)
        if session is None:
            found = await self._verified(user, password)
            session = Session(host, listener=LISTENER, principal=Principal("User", user))
            if found is None:
                self._tell(session, user, _WRONG)
                await asyncio.sleep(self.failed.failed(host, user or None, _DELAY_MS) / 1000)
                raise Refused(401, _WRONG)
            self.failed.succeeded(host, user)
            self._tell(session, user, "")
            self._known[place] = (clock.source.monotonic() + METRICS_LOGIN_SECONDS, found, session)
            while len(self._known) > METRICS_LOGINS_REMEMBERED:
                self._known.popitem(last=False)
        self._check_rights(session)

    def _check_rights(self, session: Session) -> None:
        access = self._node.access
        if access is not None and not access.requires(
            session, DESCRIBE_CLUSTER, AclOperation.DESCRIBE, AclResourceType.CLUSTER, CLUSTER_NAME
        ):
            raise Refused(403, f"{session.principal} may not describe the cluster: it needs Describe on Cluster")

    def _remembered(self, place: bytes, user: str) -> Session | None:
        until, found, session = self._known.get(place, (0.0, None, None))
        if found is None:
            return None
        if clock.source.monotonic() < until and found in self._credentials(user).values():
            return session
        del self._known[place]
        return None

    def _credentials(self, user: str) -> dict[int, ScramCredential]:
        kept = self._node.image.scram
        return {number: kept[user, number] for number in BY_NUMBER if user and (user, number) in kept}

    async def _verified(self, user: str, password: str) -> ScramCredential | None:
        candidates = self._credentials(user)
        if not candidates:  # of a salt and a key that nobody has
            secret = self._node.image.scram.get(NO_USER)
            salt = salt_of(self._key if secret is None else secret.stored_key, SHA_256, user)
            candidates = {SHA_256.number: ScramCredential(salt, b"", b"", ITERATIONS_DEFAULT)}
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, _matching, candidates, password)

    def _tell(self, session: Session, user: str, why: str) -> None:
        if self._node.audit is not None:
            self._node.audit.login(session, "HTTP basic", user[:NAME_CHARS], why)


def _matching(candidates: dict[int, ScramCredential], password: str) -> ScramCredential | None:
    """In a thread: of which of these this is the password."""
    found = None
    for number, kept in candidates.items():
        mechanism = BY_NUMBER[number]
        salted = salted_password(mechanism, password, kept.salt, kept.iterations)
        made = credential(mechanism, kept.salt, salted, kept.iterations)
        if hmac.compare_digest(made.stored_key, kept.stored_key):
            found = kept
    return found


def _user_and_password(header: str) -> tuple[str, str]:
    kind, _, text = header.partition(" ")
    if kind.lower() != "basic":
        raise Refused(401, "log in with a user of the cluster (HTTP basic authentication)")
    try:
        user, colon, password = base64.b64decode(text.strip(), validate=True).decode().partition(":")
    except (binascii.Error, UnicodeDecodeError):
        raise Refused(401, "the Authorization header cannot be read") from None
    if not colon:
        raise Refused(401, "the Authorization header cannot be read")
    return user, password
