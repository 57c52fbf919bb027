"""Rules about topics and groups, as at the source: those that are missing here are added, none is removed."""

from typing import TYPE_CHECKING

from barnabas.broker.cluster_links.source import LinkSettings
from barnabas.broker.controller.requests import AskController
from barnabas.broker.roles import ConfiguredBroker
from barnabas.core.access.bindings import AclBinding
from barnabas.core.cluster.name_patterns import NamePatterns
from barnabas.link.async_nodes import AsyncNodes
from barnabas.link.codes import name_of
from barnabas.model.access import AclResourceType
from barnabas.model.limits import ACLS_PER_REQUEST_MAX
from barnabas.wire.apis import CREATE_ACLS, DESCRIBE_ACLS

if TYPE_CHECKING:
    from barnabas.wire.messages import CreateAclsResponse, DescribeAclsResponse

_ANY = 1  # of every kind of filter
_LITERAL = 3
_NEWEST = 3
_SHOWN = 3


class AclSync:
    def __init__(self, settings: LinkSettings, nodes: AsyncNodes, broker: ConfiguredBroker, ask: AskController) -> None:
        self._nodes, self._broker, self._ask = nodes, broker, ask
        self._patterns = {
            int(AclResourceType.TOPIC): NamePatterns.of(settings.list("topics"), "topics"),
            int(AclResourceType.GROUP): NamePatterns.of(settings.list("groups"), "groups"),
        }

    async def sync(self) -> list[str]:
        body = {
            "resource_type_filter": _ANY,
            "resource_name_filter": None,
            "pattern_type_filter": _ANY,
            "principal_filter": None,
            "host_filter": None,
            "operation": _ANY,
            "permission_type": _ANY,
        }
        answer: DescribeAclsResponse = await self._nodes.ask_any(DESCRIBE_ACLS, body, _NEWEST)
        if answer.error_code:
            return [f"rules of the source: {answer.error_message or name_of(answer.error_code)}"]
        known = set(self._broker.image.acls.by_id.values())
        missing = [rule for rule in self._wanted(answer) if rule not in known]
        problems: list[str] = []
        for at in range(0, len(missing), ACLS_PER_REQUEST_MAX):
            some = missing[at : at + ACLS_PER_REQUEST_MAX]
            done: CreateAclsResponse = await self._ask(CREATE_ACLS, _NEWEST, {"creations": [_body(r) for r in some]})
            failed = [result for result in done.results if result.error_code]
            problems += [f"a rule was not added: {r.error_message or name_of(r.error_code)}" for r in failed[:_SHOWN]]
        return problems[:_SHOWN]

    def _wanted(self, answer: "DescribeAclsResponse") -> list[AclBinding]:
        return [
            AclBinding(
                resource.resource_type,
                resource.resource_name,
                resource.pattern_type,
                rule.principal,
                rule.host,
                rule.operation,
                rule.permission_type,
            )
            for resource in answer.resources
            if (patterns := self._patterns.get(resource.resource_type)) is not None
            and (resource.pattern_type != _LITERAL or patterns.match(resource.resource_name))
            for rule in resource.acls
        ]


def _body(rule: AclBinding) -> dict[str, object]:
    return {
        "resource_type": rule.resource_type,
        "resource_name": rule.resource_name,
        "resource_pattern_type": rule.pattern_type,
        "principal": rule.principal,
        "host": rule.host,
        "operation": rule.operation,
        "permission_type": rule.permission,
    }
