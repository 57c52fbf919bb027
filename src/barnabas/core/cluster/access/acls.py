"""Rules (ACLs) that are created and deleted: what the controller accepts, in Kafka's words.

A rule that is there already is created again without a record, and says so to nobody, as in Kafka. Deleting is by the
ids of rules: which rules a filter means is found out before (broker/api/delete_acls.py), because it may take long.
"""

from collections.abc import Callable, Collection, Sequence

from barnabas.core.access.bindings import AclBinding
from barnabas.core.cluster.image import MetadataImage, acl_record
from barnabas.core.cluster.records import Record, RemoveAccessControlEntry
from barnabas.model.access import CLUSTER_NAME, AclOperation, AclPermission, AclResourceType, PatternType
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.limits import ACL_TEXT_MAX_CHARS, ACLS_MAX


def create(
    image: MetadataImage, wanted: Sequence[AclBinding], new_id: Callable[[], bytes]
) -> tuple[list[Record], list[KafkaError | None]]:
    """A result for each, in their order: None is success."""
    known, made = image.acls.ids, set[AclBinding]()
    records: list[Record] = []
    results: list[KafkaError | None] = []
    for rule in wanted:
        problem = refusal(rule)
        if problem is None and rule not in known and rule not in made:
            if len(known) + len(made) < ACLS_MAX:
                made.add(rule)
                records.append(acl_record(new_id(), rule))
            else:
                problem = KafkaError(ErrorCode.POLICY_VIOLATION, f"a cluster has at most {ACLS_MAX:,} rules")
        results.append(problem)
    return records, results


def refusal(rule: AclBinding) -> KafkaError | None:
    problem = _problem(rule)
    return None if problem is None else KafkaError(ErrorCode.INVALID_REQUEST, problem)


def _problem(rule: AclBinding) -> str | None:
    if rule.resource_type == AclResourceType.CLUSTER and rule.resource_name != CLUSTER_NAME:
        return f"The only valid name for the CLUSTER resource is {CLUSTER_NAME}"
    if not rule.resource_name:
        return "Invalid empty resource name"
    if rule.resource_type == AclResourceType.ANY:
        return "Invalid resourceType ANY"
    if rule.pattern_type not in (PatternType.LITERAL, PatternType.PREFIXED):
        return f"Invalid patternType {PatternType(rule.pattern_type).name}"
    if rule.operation == AclOperation.ANY:
        return "Invalid operation ANY"
    if rule.permission not in (AclPermission.ALLOW, AclPermission.DENY):
        return f"Invalid permissionType {AclPermission(rule.permission).name}"
    if ":" not in rule.principal:
        return (
            f"Could not parse principal from `{rule.principal}` (no colon is present separating the principal type "
            "from the principal name)"
        )
    if max(len(rule.resource_name), len(rule.principal), len(rule.host)) > ACL_TEXT_MAX_CHARS:
        return f"a resource, principal or host of more than {ACL_TEXT_MAX_CHARS:,} characters"
    return None


def delete(image: MetadataImage, ids: Collection[bytes]) -> tuple[list[Record], list[bytes]]:
    """The rules that are still there; gives the ids of those."""
    there = [rule_id for rule_id in ids if rule_id in image.acls.by_id]
    return [RemoveAccessControlEntry(id=rule_id) for rule_id in there], there
