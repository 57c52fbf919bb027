"""Deleting a group, or what it has committed in one topic; and asking the coordinator of a group."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from barnabas.console.clusters import reading
from barnabas.console.problems import NotFound, Problem, refused
from barnabas.console.web.calls import Call
from barnabas.link.codes import Remedy, remedy
from barnabas.model.errors import ErrorCode
from barnabas.wire.apis import DELETE_GROUPS, OFFSET_DELETE

if TYPE_CHECKING:
    from barnabas.wire.messages import DeleteGroupsResponse, OffsetDeleteResponse

_TRIES = 3
Answer = TypeVar("Answer")


async def ask_coordinator(
    call: Call,
    group: str,
    api_key: int,
    body: Mapping[str, object],
    newest: int | None,
    error: Callable[[Answer], int],
) -> Answer:
    """Looked up now, and again where it has moved; nothing of these requests harms when it is done twice."""
    for _ in range(_TRIES):
        node = await reading.coordinator_of(call.nodes, group)
        if node is None:
            continue
        answer: Answer = await call.nodes.ask(node, api_key, body, newest)
        if remedy(error(answer)) is not Remedy.COORDINATOR:
            return answer
    raise Problem(f"{group} has no coordinator at the moment", "Try again in a moment.", 503)


async def delete_group(call: Call) -> object:
    name = call.text("group")
    call.names.append(name)
    answer: DeleteGroupsResponse = await ask_coordinator(
        call, name, DELETE_GROUPS, {"groups_names": [name]}, None, _delete_error
    )
    code = _delete_error(answer)
    if code == ErrorCode.NON_EMPTY_GROUP:
        raise Problem(f"{name} has members", "Stop the programs that read as this group, then delete it.", 409)
    if code == ErrorCode.GROUP_ID_NOT_FOUND:
        raise NotFound(f"there is no group {name!r}")
    if code:
        raise refused(code, f"delete {name}")
    call.facts.groups.pop(name, None)
    call.facts.committed.pop(name, None)
    return {"deleted": name}


def _delete_error(answer: DeleteGroupsResponse) -> int:
    return next((each.error_code for each in answer.results), 0)


async def delete_offsets(call: Call) -> object:
    name, topic = call.text("group"), call.text("topic")
    call.names += [name, topic]
    committed = [each for each in call.facts.committed.get(name, {}) if each[0] == topic]
    indexes = {index for _, index in committed}
    if topic in call.facts.topics:
        indexes |= {each.index for each in call.facts.topics[topic].partitions}
    if not indexes:
        raise NotFound(f"{name} has committed nothing in {topic}")
    body = {
        "group_id": name,
        "topics": [{"name": topic, "partitions": [{"partition_index": each} for each in sorted(indexes)]}],
    }
    answer: OffsetDeleteResponse = await ask_coordinator(call, name, OFFSET_DELETE, body, None, _offsets_error)
    code = _offsets_error(answer)
    if code == ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC:
        raise Problem(f"{name} has members that read {topic}", "Stop them, then delete the offsets.", 409)
    if code == ErrorCode.NON_EMPTY_GROUP:
        raise Problem(f"{name} has members", "Stop them, then delete the offsets.", 409)
    if code:
        raise refused(code, f"delete the offsets of {name} in {topic}")
    for each in committed:
        call.facts.committed[name].pop(each, None)
    return {"deleted": len(indexes)}


def _offsets_error(answer: OffsetDeleteResponse) -> int:
    codes = (each.error_code for topic in answer.topics for each in topic.partitions if each.error_code)
    return answer.error_code or next(codes, 0)
