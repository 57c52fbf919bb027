"""The bodies of the classic protocol's answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.core.groups.classic.group import ClassicGroup
from barnabas.core.groups.classic.member import ClassicMember
from barnabas.model.errors import ErrorCode

if TYPE_CHECKING:
    from barnabas.wire.messages import JoinGroupResponseBody, JoinGroupResponseMemberBody, SyncGroupResponseBody


def join_refusal(code: ErrorCode, member_id: str, version: int = 9) -> JoinGroupResponseBody:
    # The protocol name became nullable in version 7; before it, "none" was the empty string.
    return {"error_code": int(code), "member_id": member_id, "protocol_name": None if version >= 7 else ""}


def join_answer(group: ClassicGroup, member: ClassicMember) -> JoinGroupResponseBody:
    """What a member learns of its generation; only the leader is told who the others are."""
    return {
        "error_code": 0,
        "generation_id": group.generation,
        "protocol_type": group.protocol_type,
        "protocol_name": group.protocol_name,
        "leader": group.leader_id or "",
        "skip_assignment": False,
        "member_id": member.member_id,
        "members": joined_members(group) if member.member_id == group.leader_id else [],
    }


def joined_members(group: ClassicGroup) -> list[JoinGroupResponseMemberBody]:
    return [
        {
            "member_id": member.member_id,
            "group_instance_id": member.instance_id,
            "metadata": member.metadata_for(group.protocol_name),
        }
        for member in group.members.values()
    ]


def sync_refusal(code: ErrorCode) -> SyncGroupResponseBody:
    return {"error_code": int(code), "assignment": b""}


def sync_answer(group: ClassicGroup, member: ClassicMember) -> SyncGroupResponseBody:
    return {
        "error_code": 0,
        "protocol_type": group.protocol_type,
        "protocol_name": group.protocol_name,
        "assignment": member.assignment,
    }
