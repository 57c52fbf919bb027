"""What an administrative request did, read from its answer: one item for each resource, with its error code.

Names of APIs that this release does not serve do no harm here: the table is looked up by name.
"""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import NamedTuple

from barnabas.core.access.bindings import AclBinding, name_of
from barnabas.model.access import AclOperation, AclResourceType
from barnabas.model.errors import ErrorCode
from barnabas.model.ids import uuid_text
from barnabas.model.limits import AUDIT_DETAIL_CHARS, AUDITED_ITEMS_MAX
from barnabas.model.settings import ResourceType
from barnabas.wire.codec import Decoded

_OP = AclOperation
CLUSTER, TOKEN = "cluster", "delegation-token"
_REFUSALS = frozenset(code for code in ErrorCode if code.name.endswith("_AUTHORIZATION_FAILED"))
_RESOURCE_TYPES = {"topic": AclResourceType.TOPIC, "group": AclResourceType.GROUP}


class Done(NamedTuple):
    kind: str  # of the resource: topic, group, user, broker ...
    name: str
    error_code: int
    detail: str = ""

    @property
    def resource(self) -> str:
        return f"{self.kind}:{self.name}" if self.name else self.kind

    @property
    def refused(self) -> bool:
        return self.error_code in _REFUSALS

    @property
    def error(self) -> str:
        return "" if self.error_code == 0 or self.refused else name_of(ErrorCode, self.error_code)

    @property
    def needs_rule(self) -> bool:
        """Delegation tokens are the business of their owners and renewers; few of them need a rule."""
        return self.kind != TOKEN

    @property
    def resource_type(self) -> AclResourceType:
        """What the right is needed on, where it is needed item by item."""
        return _RESOURCE_TYPES.get(self.kind, AclResourceType.CLUSTER)


Items = Callable[[Decoded, Decoded], Iterator[Done]]


class Administration(NamedTuple):
    operation: AclOperation
    items: Items  # of a request and its answer


def _each(kind: str, results: str, name: str, inner: str = "") -> Items:
    """The items of an array of the answer; where each has results of its own, the first error of those."""

    def items(request: Decoded, answer: Decoded) -> Iterator[Done]:
        failed = getattr(answer, "error_code", 0)
        for item in getattr(answer, results):
            code = failed or getattr(item, "error_code", 0)
            if inner and not code:
                code = next((each.error_code for each in getattr(item, inner) if each.error_code), 0)
            yield Done(kind, _name(item, name), code)
        if failed and not getattr(answer, results):
            yield Done(CLUSTER, "", failed)

    return items


def _name(item: Decoded, field: str) -> str:
    found = getattr(item, field)
    return str(found) if found is not None else uuid_text(getattr(item, "topic_id", b""))


def _asked(kind: str, field: str) -> Items:
    """One resource, which the request names."""

    def items(request: Decoded, answer: Decoded) -> Iterator[Done]:
        yield Done(kind, str(getattr(request, field)), answer.error_code)

    return items


def _whole(request: Decoded, answer: Decoded) -> Iterator[Done]:
    yield Done(CLUSTER, "", getattr(answer, "error_code", 0))


def _configs(request: Decoded, answer: Decoded) -> Iterator[Done]:
    """Names of the settings, not their values: some are secret."""
    changed = {
        (each.resource_type, each.resource_name): ", ".join(config.name for config in islice(each.configs, 20))
        for each in islice(request.resources, AUDITED_ITEMS_MAX)
    }
    for item in answer.responses:
        kind = name_of(ResourceType, item.resource_type).lower()
        detail = changed.get((item.resource_type, item.resource_name), "")
        yield Done(kind, item.resource_name, item.error_code, detail)


def _created_rules(request: Decoded, answer: Decoded) -> Iterator[Done]:
    for asked, result in zip(request.creations, answer.results, strict=False):
        yield Done(CLUSTER, "", result.error_code, str(_rule(asked)))


def _rule(asked: Decoded) -> AclBinding:
    return AclBinding(
        asked.resource_type,
        asked.resource_name,
        asked.resource_pattern_type,
        asked.principal,
        asked.host,
        asked.operation,
        asked.permission_type,
    )


def _deleted_rules(request: Decoded, answer: Decoded) -> Iterator[Done]:
    for result in answer.filter_results:
        if result.error_code:
            yield Done(CLUSTER, "", result.error_code)
        for rule in result.matching_acls:
            binding = AclBinding(
                rule.resource_type,
                rule.resource_name,
                rule.pattern_type,
                rule.principal,
                rule.host,
                rule.operation,
                rule.permission_type,
            )
            yield Done(CLUSTER, "", rule.error_code, f"removed: {binding}")


def _features(request: Decoded, answer: Decoded) -> Iterator[Done]:
    for each in request.feature_updates:
        yield Done("feature", each.feature, answer.error_code, f"level {each.max_version_level}")


def _quotas(request: Decoded, answer: Decoded) -> Iterator[Done]:
    for entry in answer.entries:
        entity = ", ".join(f"{part.entity_type} {part.entity_name or '(default)'}" for part in entry.entity)
        yield Done("quota", entity, entry.error_code)


def _reset_offsets(request: Decoded, answer: Decoded) -> Iterator[Done]:
    """Offsets of a group that has no members: what resets them, or a consumer without a group's protocol."""
    codes = (each.error_code for topic in answer.topics for each in topic.partitions)
    topics = ", ".join(topic.name for topic in islice(answer.topics, 20) if topic.name)
    yield Done("group", request.group_id, next(filter(None, codes), 0), f"offsets of {topics}")


def _deleted_offsets(request: Decoded, answer: Decoded) -> Iterator[Done]:
    """As a whole, or with the first error of a partition."""
    codes = (each.error_code for topic in answer.topics for each in topic.partitions)
    topics = ", ".join(topic.name for topic in islice(request.topics, 20))
    yield Done("group", request.group_id, answer.error_code or next(filter(None, codes), 0), f"offsets of {topics}")


def _created_token(request: Decoded, answer: Decoded) -> Iterator[Done]:
    renewers = ", ".join(f"{each.principal_type}:{each.principal_name}" for each in islice(request.renewers, 20))
    owner = f"{answer.principal_type}:{answer.principal_name}"
    yield Done(
        TOKEN, answer.token_id, answer.error_code, f"of {owner}" + (f", renewed by {renewers}" if renewers else "")
    )


def _changed_token(request: Decoded, answer: Decoded) -> Iterator[Done]:
    """The request has nothing but the token's secret."""
    yield Done(TOKEN, "", answer.error_code)


def _given_keys(request: Decoded, answer: Decoded) -> Iterator[Done]:
    """Nothing where none were given: a link asks again and again."""
    users = list(dict.fromkeys(each.user for each in answer.keys))
    if answer.error_code or users:
        detail = f"keys of {len(users)} users: {', '.join(islice(users, 20))}" if users else ""
        yield Done(CLUSTER, "", answer.error_code, detail)


ADMINISTRATION: dict[str, Administration] = {
    "create_topics": Administration(_OP.CREATE, _each("topic", "topics", "name")),
    "delete_topics": Administration(_OP.DELETE, _each("topic", "responses", "name")),
    "create_partitions": Administration(_OP.ALTER, _each("topic", "results", "name")),
    "delete_records": Administration(_OP.DELETE, _each("topic", "topics", "name", "partitions")),
    "alter_partition_reassignments": Administration(_OP.ALTER, _each("topic", "responses", "name", "partitions")),
    "elect_leaders": Administration(_OP.ALTER, _each("topic", "replica_election_results", "topic", "partition_result")),
    "alter_replica_log_dirs": Administration(_OP.ALTER, _each("topic", "results", "topic_name", "partitions")),
    "alter_configs": Administration(_OP.ALTER_CONFIGS, _configs),
    "incremental_alter_configs": Administration(_OP.ALTER_CONFIGS, _configs),
    "create_acls": Administration(_OP.ALTER, _created_rules),
    "delete_acls": Administration(_OP.ALTER, _deleted_rules),
    "alter_user_scram_credentials": Administration(_OP.ALTER, _each("user", "results", "user")),
    "describe_scram_keys": Administration(_OP.CLUSTER_ACTION, _given_keys),
    "alter_client_quotas": Administration(_OP.ALTER_CONFIGS, _quotas),
    "delete_groups": Administration(_OP.DELETE, _each("group", "results", "group_id")),
    "offset_delete": Administration(_OP.DELETE, _deleted_offsets),
    "offset_commit": Administration(_OP.READ, _reset_offsets),
    "update_features": Administration(_OP.ALTER, _features),
    "unregister_broker": Administration(_OP.ALTER, _asked("broker", "broker_id")),
    "add_raft_voter": Administration(_OP.ALTER, _asked("voter", "voter_id")),
    "remove_raft_voter": Administration(_OP.ALTER, _asked("voter", "voter_id")),
    "create_delegation_token": Administration(_OP.CREATE_TOKENS, _created_token),
    "renew_delegation_token": Administration(_OP.ALTER, _changed_token),
    "expire_delegation_token": Administration(_OP.ALTER, _changed_token),
    "list_partition_reassignments": Administration(_OP.DESCRIBE, _whole),
    "describe_quorum": Administration(_OP.DESCRIBE, _whole),
}
"""By the name of the API. The last two only read, and only their refusals are told: the controller decides about them,
and it does not know the client as the node does that the client asked."""

ONLY_REFUSALS = frozenset({"list_partition_reassignments", "describe_quorum"})


def is_audited(api: str, request: Decoded) -> bool:
    """Is the request one that is told by its answer? Members of a group commit offsets all the time."""
    if api == "offset_commit":
        return request.generation_id_or_member_epoch < 0 and not request.member_id
    return api in ADMINISTRATION


def done_by(api: str, request: Decoded, answer: Decoded) -> tuple[list[Done], int]:
    """What was done or refused, and how many items beyond those that are told one by one."""
    items = ADMINISTRATION[api].items(request, answer)
    found = list(islice(items, AUDITED_ITEMS_MAX))
    more = sum(1 for _ in items)
    if api in ONLY_REFUSALS:
        found = [each for each in found if each.refused]
    note = "validated only" if getattr(request, "validate_only", False) else ""
    if note:
        found = [each._replace(detail=f"{note}; {each.detail}".removesuffix("; ")) for each in found]
    return [each._replace(detail=each.detail[:AUDIT_DETAIL_CHARS]) for each in found], more
