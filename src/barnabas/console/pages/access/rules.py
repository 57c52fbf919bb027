"""Rules (ACLs): list, add one by one or by a shorthand, remove; and who may do something, by which of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict
from typing import TYPE_CHECKING

import msgspec

from barnabas.console.clusters.settings import BROKER
from barnabas.console.pages.access.asking import check, written_rightly
from barnabas.console.pages.access.users import read_users
from barnabas.console.problems import Problem
from barnabas.console.web.calls import Call, Route
from barnabas.link.errors import LinkDown, UnknownApi
from barnabas.model.access import OPERATIONS, AclOperation, AclResourceType
from barnabas.model.access_rules import EVERY_ACL, Acl, AclFilter, filter_of
from barnabas.model.errors import ErrorCode
from barnabas.operate.access import resources
from barnabas.operate.access.decision import SETTINGS, Asked, Decider, check_rules, checked, number_of, word_of
from barnabas.operate.access.resources import principal_of, resource_of, rules_for, shown
from barnabas.operate.access.rule_messages import creation, described, filter_body, known
from barnabas.wire.apis import CREATE_ACLS, DELETE_ACLS, DESCRIBE_ACLS, DESCRIBE_CONFIGS

if TYPE_CHECKING:
    from barnabas.link.async_nodes import AsyncNodes
    from barnabas.wire.messages import (
        CreateAclsResponse,
        DeleteAclsResponse,
        DescribeAclsResponse,
        DescribeConfigsResponse,
    )

_RULES_MAX = 500  # of one change
_KINDS = (*resources.KINDS, resources.CLUSTER)
_ANYBODY_ELSE = "User:anybody else"  # no user can have a rule of this name by accident: it is told as words


class _Rule(msgspec.Struct):
    resource_type: str
    resource_name: str
    pattern: str
    principal: str
    host: str
    operation: str
    permission: str


class _New(msgspec.Struct):
    """`kind`: rule (operations and resource), producer, consumer (with group), transactional."""

    user: str
    kind: str = "rule"
    operations: list[str] = []
    resource: str = ""
    topic: str = ""
    group: str = ""
    transactional_id: str = ""
    permission: str = "allow"
    host: str = "*"


class _Rules(msgspec.Struct):
    rules: list[_Rule]


async def access(call: Call) -> object:
    """What the page begins with: whether there is access control, and the words of its forms."""
    code = await code_of_rules(call.nodes)
    return {
        "on": code != ErrorCode.SECURITY_DISABLED,
        "sees_rules": not code,
        "user": call.user,
        "operations": {word_of(AclResourceType, kind): _words(kind) for kind in _of_forms()},
    }


def _of_forms() -> list[AclResourceType]:
    return [AclResourceType(number_of(AclResourceType, kind)) for kind in _KINDS]


def _words(kind: AclResourceType) -> list[str]:
    return ["all", *(word_of(AclOperation, each) for each in OPERATIONS[kind])]


async def code_of_rules(nodes: AsyncNodes) -> int:
    body = filter_body(AclFilter(resource_type=resources.CLUSTER))
    try:
        answer: DescribeAclsResponse = await nodes.ask_any(DESCRIBE_ACLS, body)
    except UnknownApi:  # a Kafka without an authorizer may not offer it
        return ErrorCode.SECURITY_DISABLED
    return answer.error_code


async def read_rules(nodes: AsyncNodes) -> list[Acl]:
    answer: DescribeAclsResponse = await nodes.ask_any(DESCRIBE_ACLS, filter_body(EVERY_ACL))
    check(answer.error_code, "the rules are not listed", answer.error_message)
    return described(answer)


async def list_rules(call: Call) -> object:
    return [{**asdict(rule), "resource": shown(rule)} for rule in await read_rules(call.nodes)]


async def add(call: Call) -> object:
    asked = await call.body(_New)
    with written_rightly():
        rules = _wanted(asked)
        bodies = [creation(rule) for rule in rules]
    call.names += [asked.user[:100], *(f"{rule.permission} {rule.operation} {shown(rule)}" for rule in rules)]
    answer: CreateAclsResponse = await call.nodes.ask_any(CREATE_ACLS, {"creations": bodies})
    for each in answer.results:
        check(each.error_code, "the rules were not all added", each.error_message)
    return {"added": len(rules)}


def _wanted(asked: _New) -> list[Acl]:
    pairs: list[tuple[str, str]] = []
    if asked.kind == "rule":
        pairs = [(asked.resource, each) for each in asked.operations]
    elif asked.kind == "producer" and asked.topic:
        pairs = resources.of_producer(asked.topic)
        if asked.transactional_id:
            pairs += resources.of_transactions(asked.transactional_id)
    elif asked.kind == "consumer" and asked.topic:
        if not asked.group:
            raise Problem("a consumer needs a group", "Say which group it reads in.")
        pairs = [*resources.of_consumer(asked.topic), *resources.of_group(asked.group)]
    elif asked.kind == "transactional" and asked.transactional_id:
        pairs = resources.of_transactions(asked.transactional_id)
    if not pairs or len(pairs) > _RULES_MAX:
        raise Problem("nothing to allow or deny", "Name an operation and a resource, or a topic.")
    rules = rules_for(asked.user, pairs, asked.permission, asked.host)
    check_rules(rules)
    return rules


async def remove(call: Call) -> object:
    asked = await call.body(_Rules)
    if not 0 < len(asked.rules) <= _RULES_MAX:
        raise Problem(f"1 to {_RULES_MAX} rules at once")
    rules = [Acl(**msgspec.structs.asdict(each)) for each in asked.rules]
    with written_rightly():
        filters = [filter_body(filter_of(rule)) for rule in rules]
    call.names += [f"{rule.principal} {rule.permission} {rule.operation} {shown(rule)}" for rule in rules]
    answer: DeleteAclsResponse = await call.nodes.ask_any(DELETE_ACLS, {"filters": filters})
    for each in answer.filter_results:
        check(each.error_code, "the rules were not removed", each.error_message)
    return {"removed": sum(len(each.matching_acls) for each in answer.filter_results)}


# --- who may do this? -----------------------------------------------------------------------------------------------


async def who_may(call: Call) -> object:
    operation, host = call.text("operation"), call.text("host", "127.0.0.1")
    with written_rightly():
        kind, name, pattern = resource_of(call.text("resource"))
        if pattern == "prefixed":
            raise Problem(f"{call.text('resource')!r} is many resources", "Ask for one by its whole name.")
        checked(Asked("", host, operation, kind, name))
        rules = await read_rules(call.nodes)
        decider = Decider(known(rules), await _settings(call))
        rows = [
            _decision(decider, principal, Asked(principal, host, operation, kind, name))
            for principal in await _principals(call, rules, decider)
        ]
    return {"on": decider.is_on, "who": rows}


async def _principals(call: Call, rules: Iterable[Acl], decider: Decider) -> list[str]:
    users = {principal_of(name) for name in await read_users(call.nodes)}
    named = {rule.principal for rule in rules if rule.principal != "User:*"}
    return [*sorted(users | named | decider.super_users), _ANYBODY_ELSE]


def _decision(decider: Decider, principal: str, asked: Asked) -> dict[str, object]:
    found = decider.decide(asked)
    return {
        "principal": "anybody else" if principal == _ANYBODY_ELSE else principal,
        "allowed": found.allowed,
        "why": found.told(),
        "rule": None if found.rule is None else {**asdict(found.rule), "resource": shown(found.rule)},
    }


async def _settings(call: Call) -> dict[str, str | None]:
    """Those of access control, of any node that tells them."""
    for node in call.facts.nodes.values():
        wanted = {"resource_type": BROKER, "resource_name": str(node.id), "configuration_keys": list(SETTINGS)}
        try:
            answer: DescribeConfigsResponse = await call.nodes.ask(node.id, DESCRIBE_CONFIGS, {"resources": [wanted]})
        except LinkDown:
            continue
        if not answer.results[0].error_code:
            return {each.name: each.value for each in answer.results[0].configs}
    return {}


ROUTES = [
    Route("GET", "/access", access),
    Route("GET", "/access/rules", list_rules),
    Route("POST", "/access/rules", add, change="add rules"),
    Route("DELETE", "/access/rules", remove, change="remove rules"),
    Route("GET", "/access/who", who_may),
]
