"""Users that log in by SCRAM, as at the source: new ones and changed passwords come over, none is removed.

What comes over are the keys that the source keeps of a password (DescribeScramKeys), so that the same password counts
here, and nobody learns it. Which users are left alone decides core/cluster/access/linked_users.py. The source gives no
keys while nothing has changed there since it was last asked; what changed here has them asked for again.
"""

import logging
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from barnabas.broker.access import authorizer_of
from barnabas.broker.cluster_links.source import LinkSettings
from barnabas.broker.controller.requests import AskController
from barnabas.broker.roles import ConfiguredBroker
from barnabas.core.cluster.access.linked_users import Known, UserKeys, compare, count_from
from barnabas.core.cluster.links import SOURCE_ID
from barnabas.link.async_nodes import AsyncNodes
from barnabas.link.codes import name_of
from barnabas.link.errors import UnknownApi
from barnabas.model.errors import ErrorCode
from barnabas.model.limits import LINK_USERS_MAX, SCRAM_CHANGES_MAX
from barnabas.model.settings.listener_security import TLS_PROTOCOLS
from barnabas.wire.apis import ALTER_LINKED_USERS, DESCRIBE_SCRAM_KEYS

if TYPE_CHECKING:
    from barnabas.broker.audit.trail import AuditTrail
    from barnabas.wire.messages import AlterLinkedUsersResponse, DescribeScramKeysResponse

log = logging.getLogger(__name__)

_VERSION = 0
_SHOWN = 3
_HEAD = "users of the source do not come over"


class UserSync:
    def __init__(
        self,
        name: str,
        settings: LinkSettings,
        nodes: AsyncNodes,
        broker: ConfiguredBroker,
        ask: AskController,
        audit: "AuditTrail | None" = None,
    ) -> None:
        self._name, self._nodes, self._broker, self._ask, self._audit = name, nodes, broker, ask, audit
        self._is_encrypted = settings.protocol in TLS_PROTOCOLS
        self._source = settings.text(SOURCE_ID)
        self._compared: Known | None = None  # what this cluster had when it was last like the source
        self._digest = b""  # of what the source had then
        self.count = 0  # users here that came from the source
        self.own: list[str] = []  # users of the source that are left alone

    async def sync(self) -> list[str]:
        if not self._is_encrypted:
            return [f"{_HEAD}: security.protocol of the link has no TLS"]
        if not self._source:
            return [f"{_HEAD}: the link does not have its id. Type: barnabas link login {self._name}"]
        known = self._broker.image.scram
        body = {"known_digest": self._digest if known is self._compared else b"", "check_only": False}
        try:
            answer: DescribeScramKeysResponse = await self._nodes.ask_any(DESCRIBE_SCRAM_KEYS, body, _VERSION)
        except UnknownApi:
            return [f"{_HEAD}: it is Apache Kafka, or an older Barnabas, and does not give their keys"]
        if answer.error_code:
            return [f"{_HEAD}: {_refusal(answer.error_code, answer.error_message)}"]
        problems: list[str] = []
        if left_out := answer.users_left_out:
            problems.append(f"{left_out} users of the source do not come over: at most {LINK_USERS_MAX} do")
        if known is not self._compared or answer.digest != self._digest:
            problems += await self._bring_over(known, _keys(answer), bytes(answer.digest))
        return problems

    async def _bring_over(self, known: Known, keys: Sequence[UserKeys], digest: bytes) -> list[str]:
        authorizer = authorizer_of(self._broker.settings)
        super_users = frozenset[str]() if authorizer is None else authorizer.super_users
        found = compare(known, keys, self._source, super_users)
        self.own = found.own
        if not found.due:
            self.count = count_from(known, self._source)
            self._compared, self._digest = known, digest
            return []
        problems: list[str] = []
        for some in _in_parts(found.due):
            body = {"source_cluster_id": self._source, "keys": [each._asdict() for each in some]}
            done: AlterLinkedUsersResponse = await self._ask(ALTER_LINKED_USERS, _VERSION, body)
            if done.error_code:
                return [f"{_HEAD}: {done.error_message or name_of(done.error_code)}"]
            problems += [
                f"user {each.user!r} does not come over: {each.error_message or name_of(each.error_code)}"
                for each in done.results
                if each.error_code
            ]
            self._tell([each.user for each in done.results if not each.error_code])
        self.count = count_from(self._broker.image.scram, self._source)
        return problems[:_SHOWN]

    def _tell(self, users: Sequence[str]) -> None:
        if not users:
            return
        more = f" and {len(users) - _SHOWN} more" if len(users) > _SHOWN else ""
        log.info("link %r: new users, or new passwords: %s%s", self._name, ", ".join(users[:_SHOWN]), more)
        if self._audit is not None:
            self._audit.linked_users(self._name, users)


def _refusal(code: int, message: str | None) -> str:
    if code == ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
        return "the link's user needs CLUSTER_ACTION on the cluster there"
    return message or name_of(code)


def _keys(answer: "DescribeScramKeysResponse") -> list[UserKeys]:
    return [
        UserKeys(
            each.user,
            each.mechanism,
            each.iterations,
            bytes(each.salt),
            bytes(each.stored_key),
            bytes(each.server_key),
        )
        for each in answer.keys
    ]


def _in_parts(keys: Sequence[UserKeys]) -> Iterator[list[UserKeys]]:
    """As many as a request may have, and all of a user in one: the controller decides about it as a whole."""
    part: list[UserKeys] = []
    for at, each in enumerate(keys):
        part.append(each)
        is_last_of_user = at + 1 == len(keys) or keys[at + 1].user != each.user
        if is_last_of_user and len(part) > SCRAM_CHANGES_MAX // 2:
            yield part
            part = []
    if part:
        yield part
