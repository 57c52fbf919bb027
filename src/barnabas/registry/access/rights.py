"""What a user may: subjects are topics, as Confluent's topic authorizer has it.

Subject `orders-value` or `orders-key` belongs to topic `orders`; any other is a topic of its own name; contexts make no
difference. READ lets people read schemas, WRITE register them, DELETE delete them, ALTER_CONFIGS change level and mode.
What concerns all subjects is asked of the cluster. The rules are the cluster's (DescribeAcls), seconds old at most.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

from barnabas.link.async_nodes import AsyncNodes
from barnabas.link.codes import name_of
from barnabas.link.errors import LinkDown, LoginFailed, UnknownApi
from barnabas.model.access_rules import EVERY_ACL
from barnabas.model.errors import ErrorCode
from barnabas.operate.access.decision import SETTINGS, Asked, Decider
from barnabas.operate.access.rule_messages import described, filter_body, known
from barnabas.registry.errors import RegistryError, store_failed
from barnabas.registry.state import names
from barnabas.wire.apis import DESCRIBE_ACLS, DESCRIBE_CONFIGS

if TYPE_CHECKING:
    from barnabas.wire.messages import DescribeAclsResponse, DescribeConfigsResponse

log = logging.getLogger("barnabas.registry")

_FRESH_S = 2.0
_STALE_S = 60.0  # while the cluster cannot be asked; then nobody may do anything
_BROKER = 4  # ConfigResource's number
_SUFFIXES = ("-value", "-key")
_CLUSTER = "kafka-cluster"


def topic_of(subject: str) -> str:
    name = names.split(subject)[1]
    for suffix in _SUFFIXES:
        if name.endswith(suffix) and len(name) > len(suffix):
            return name.removesuffix(suffix)
    return name


class Rights:
    def __init__(self, nodes: AsyncNodes) -> None:
        self._nodes = nodes
        self._decider: Decider | None = None
        self._read_at = 0.0

    async def refresh(self) -> None:
        """Raises where the rules may not be seen, or are too old to be used."""
        now = time.monotonic()
        if self._decider is not None and now - self._read_at < _FRESH_S:
            return
        try:
            self._decider = await self._read()
            self._read_at = now
        except (LinkDown, LoginFailed, UnknownApi) as problem:
            if self._decider is None or now - self._read_at > _STALE_S:
                raise store_failed("the cluster, which has the access rules, cannot be asked") from None
            log.warning("access rules are %d s old: %s", now - self._read_at, problem)

    async def _read(self) -> Decider:
        answer: DescribeAclsResponse = await self._nodes.ask_any(DESCRIBE_ACLS, filter_body(EVERY_ACL))
        if answer.error_code == ErrorCode.SECURITY_DISABLED:
            return Decider((), {"authorizer.class.name": ""})
        if answer.error_code:
            raise store_failed(
                f"the registry's own user may not see the access rules ({name_of(answer.error_code)}): allow it"
                " DESCRIBE and DESCRIBE_CONFIGS of the cluster"
            )
        return Decider(known(described(answer)), await self._settings())

    async def _settings(self) -> dict[str, str | None]:
        for node in await self._nodes.node_ids():
            wanted = {"resource_type": _BROKER, "resource_name": str(node), "configuration_keys": list(SETTINGS)}
            told: DescribeConfigsResponse = await self._nodes.ask(node, DESCRIBE_CONFIGS, {"resources": [wanted]})
            if not told.results[0].error_code:
                return {each.name: each.value for each in told.results[0].configs}
        return {}

    def may(self, principal: str, host: str, operation: str, subject: str | None) -> bool:
        assert self._decider is not None
        kind, name = ("cluster", _CLUSTER) if subject is None else ("topic", topic_of(subject))
        return self._decider.decide(Asked(principal, host, operation, kind, name)).allowed


class Caller:
    """One request's user, as handlers ask about them."""

    def __init__(self, rights: Rights, principal: str, host: str) -> None:
        self._rights = rights
        self.principal = principal
        self._host = host

    def may(self, subject: str | None, *operations: str) -> bool:
        """One of these, of the subject's topic, or of the cluster."""
        return any(self._rights.may(self.principal, self._host, each, subject) for each in operations)


class Anybody:
    """Of a cluster without logins."""

    principal = ""

    def may(self, subject: str | None, *operations: str) -> bool:
        return True


ANYBODY = Anybody()


def forbidden(caller: Caller | Anybody, subject: str | None, *operations: str) -> RegistryError:
    what = "the cluster" if subject is None else f"topic {topic_of(subject)}"
    return RegistryError(40301, f"{caller.principal} needs {' or '.join(operations).upper()} of {what}")
