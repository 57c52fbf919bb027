"""The rules of a cluster as `barnabas acl` asks for them, by Kafka's own requests (operate/access/rule_messages.py)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from barnabas.cli.common.cluster import Cluster, refused
from barnabas.cli.common.failure import Failure
from barnabas.model.access_rules import Acl, AclFilter
from barnabas.model.errors import ErrorCode
from barnabas.operate.access.decision import SETTINGS
from barnabas.operate.access.rule_messages import creation, deleted, described, filter_body
from barnabas.wire.apis import CREATE_ACLS, DELETE_ACLS, DESCRIBE_ACLS

if TYPE_CHECKING:
    from barnabas.wire.messages import (
        CreateAclsResponse,
        DeleteAclsResponse,
        DescribeAclsResponse,
    )

_NOT_ON = "Start the nodes with authorizer.class.name and super.users: docs/security.md says how."


class Rules:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def find(self, wanted: AclFilter) -> list[Acl]:
        answer: DescribeAclsResponse = self._cluster.ask_any(DESCRIBE_ACLS, filter_body(wanted))
        _check(answer.error_code, "list the rules", answer.error_message)
        return described(answer)

    def add(self, rules: Iterable[Acl]) -> None:
        body = {"creations": [creation(rule) for rule in rules]}
        answer: CreateAclsResponse = self._cluster.ask_any(CREATE_ACLS, body)
        for each in answer.results:
            _check(each.error_code, "add rules", each.error_message)

    def delete(self, filters: Iterable[AclFilter]) -> list[Acl]:
        """Those that were deleted."""
        body = {"filters": [filter_body(each) for each in filters]}
        answer: DeleteAclsResponse = self._cluster.ask_any(DELETE_ACLS, body)
        for each in answer.filter_results:
            _check(each.error_code, "remove rules", each.error_message)
        return deleted(answer)

    def settings(self) -> dict[str, str | None]:
        """Those of access control, of a node; none where we may not see them: then the rules alone decide."""
        return self._cluster.node_settings(SETTINGS)


@contextmanager
def rules_of(bootstrap: str) -> Iterator[Rules]:
    with Cluster(bootstrap) as cluster:
        yield Rules(cluster)


def _check(code: int, doing: str, told: str | None) -> None:
    if code == ErrorCode.SECURITY_DISABLED:
        raise Failure("access control is off in this cluster", _NOT_ON)
    if code:
        raise refused(code, doing, told=told)
