"""DescribeConfigs (32), versions 1-4: every setting of a topic, broker, group, metrics subscription or logger, with
its value, where it comes from and what stands behind it. v3 adds the type and, when asked, what the setting is for.

An empty list of names means all (as in Kafka), and a name nobody knows is left out. A resource that is named again with
the same list is answered once, and many are described in turns with other requests. A broker answers for itself only;
the empty name stands for the settings of all brokers and lists just those that were set.

Versions: 2 throttling by the client (KIP-219), 3 types and documentation (KIP-569), 4 flexible.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from barnabas.broker.api.permissions import DESCRIBE_CONFIGS, config_refusal
from barnabas.broker.network.context import Answered, RequestContext
from barnabas.broker.network.large_requests import encode
from barnabas.broker.network.loop_budget import in_turns
from barnabas.broker.settings.loggers import logger_levels
from barnabas.core.cluster.partitions.assignments import FACTOR, default_factor
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import topic_name_problem
from barnabas.model.settings import (
    ConfigEntry,
    ConfigSource,
    ResourceType,
    Synonym,
    cluster_entries,
    group_entries,
    link_entries,
    metrics_entries,
    node_entries,
    topic_entries,
)

if TYPE_CHECKING:
    from barnabas.broker.api.roles import DescribeConfigsNode
    from barnabas.wire.messages import (
        DescribeConfigsRequest,
        DescribeConfigsResource,
        DescribeConfigsResourceResultBody,
        DescribeConfigsResponseBody,
        DescribeConfigsResultBody,
    )

    Body = DescribeConfigsResponseBody | bytes

_AT_ONCE = 32  # resources described without a pause: 0.3 ms each
_ALIKE = (ResourceType.TOPIC, ResourceType.GROUP)  # resources that differ by nothing but what was set for them
_KNOWN_MAX = 1_000  # sets of settings remembered within one answer


def handle(node: DescribeConfigsNode, request: DescribeConfigsRequest, context: RequestContext) -> Answered[Body]:
    wanted = {(r.resource_type, r.resource_name, tuple(r.configuration_keys or ())): r for r in request.resources}
    described = _Described(node, context, request.include_synonyms, request.include_documentation)
    if len(wanted) <= _AT_ONCE:
        return {"results": [described.result(resource) for resource in wanted.values()]}
    return _in_turns(node, list(wanted.values()), described, context)


async def _in_turns(
    node: DescribeConfigsNode, wanted: list[DescribeConfigsResource], described: _Described, context: RequestContext
) -> Body:
    results = await in_turns(wanted, described.result)
    body: DescribeConfigsResponseBody = {"results": results}
    return await encode(node.read_threads, body, context)


class _Described:
    """The settings of resources as one answer has them. Most topics have no settings of their own, so what was
    described for one is the same for the next."""

    def __init__(self, node: DescribeConfigsNode, context: RequestContext, synonyms: bool, docs: bool) -> None:
        self._node = node
        self._context = context
        self._synonyms = synonyms
        self._docs = docs
        self._known: dict[
            tuple[int, frozenset[str], tuple[tuple[str, str], ...]], list[DescribeConfigsResourceResultBody]
        ] = {}

    def result(self, resource: DescribeConfigsResource) -> DescribeConfigsResultBody:
        result: DescribeConfigsResultBody = {
            "resource_type": resource.resource_type,
            "resource_name": resource.resource_name,
        }
        try:
            error = config_refusal(
                self._node, self._context, DESCRIBE_CONFIGS, resource.resource_type, resource.resource_name
            )
            if error is not None:
                raise error
            entries = _entries(self._node, resource.resource_type, resource.resource_name)
        except KafkaError as error:
            return {**result, "error_code": int(error.code), "error_message": error.message, "configs": []}
        return {**result, "error_code": 0, "error_message": "", "configs": self._configs(resource, entries)}

    def _configs(
        self, resource: DescribeConfigsResource, entries: Iterable[ConfigEntry]
    ) -> list[DescribeConfigsResourceResultBody]:
        names = frozenset(resource.configuration_keys or ())
        stored = self._node.image.config(resource.resource_type, resource.resource_name)
        alike = resource.resource_type in _ALIKE
        key = (resource.resource_type, names, tuple(sorted(stored.items())))
        configs = self._known.get(key) if alike else None
        if configs is None:
            chosen = (entry for entry in entries if not names or entry.name in names)
            configs = [_item(entry, self._synonyms, self._docs) for entry in chosen]
            if alike and len(self._known) < _KNOWN_MAX:
                self._known[key] = configs
        return configs


def _item(entry: ConfigEntry, synonyms: bool, docs: bool) -> DescribeConfigsResourceResultBody:
    return {
        "name": entry.name,
        "value": entry.value,
        "read_only": entry.read_only,
        "config_source": int(entry.source),
        "is_sensitive": entry.sensitive,
        "synonyms": [{"name": s.name, "value": s.value, "source": int(s.source)} for s in entry.synonyms]
        if synonyms
        else [],
        "config_type": entry.type,
        "documentation": entry.doc if docs or entry.source is ConfigSource.LOGGER else None,
    }


def _entries(node: DescribeConfigsNode, resource_type: int, name: str) -> Iterable[ConfigEntry]:
    stored = node.image.config(resource_type, name)
    match resource_type:
        case ResourceType.TOPIC:
            problem = topic_name_problem(name)
            if problem:
                raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"topic name {name!r}: {problem}")
            if name not in node.image.topics:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"no topic {name!r}")
            return topic_entries(node.settings, stored)
        case ResourceType.BROKER:
            if not name:
                return cluster_entries(stored)
            _check_broker(node, name)
            entries = node_entries(node.settings, {**node.image.config(ResourceType.BROKER, ""), **stored})
            return (_with_used_factor(node, entry) if entry.name == FACTOR else entry for entry in entries)
        case ResourceType.BROKER_LOGGER:
            _check_broker(node, name)
            return [
                ConfigEntry(logger, level, False, ConfigSource.LOGGER, False, [], 0, "")
                for logger, level in logger_levels().items()
            ]
        case ResourceType.GROUP:
            if not name:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "the name of the group is empty")
            return group_entries(node.settings, stored)
        case ResourceType.CLIENT_METRICS:
            if not name:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "the name of the subscription is empty")
            return metrics_entries(stored)
        case ResourceType.LINK:
            if not stored:
                raise KafkaError(ErrorCode.RESOURCE_NOT_FOUND, f"no link {name!r}")
            return link_entries(stored)
        case _:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"unknown resource type {resource_type}")


def _with_used_factor(node: DescribeConfigsNode, entry: ConfigEntry) -> ConfigEntry:
    """Nobody set it: what topics get is told, which depends on the number of brokers (partitions/assignments.py)."""
    if entry.source is not ConfigSource.DEFAULT:
        return entry
    value = str(default_factor(node.image, node.settings))
    return entry._replace(value=value, synonyms=[Synonym(FACTOR, value, ConfigSource.DEFAULT)])


def _check_broker(node: DescribeConfigsNode, name: str) -> None:
    if name != str(node.node_id):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"this is broker {node.node_id}, and it cannot answer for {name!r}")
