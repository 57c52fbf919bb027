"""Answering every parked request at once: the shard has lost its partition, or its log."""

from barnabas.core.groups.classic.answers import join_refusal, sync_refusal
from barnabas.core.groups.classic.group import ClassicGroup
from barnabas.core.groups.shard_state import ShardState
from barnabas.model.errors import ErrorCode


def abort_waiting(world: ShardState, code: ErrorCode) -> None:
    for group in world.groups.values():
        if not isinstance(group, ClassicGroup):
            continue  # a consumer group parks nothing
        for member in group.members.values():
            if member.join_token is not None:
                world.reply(member.join_token, join_refusal(code, member.member_id), after_commit=False)
                member.join_token = None
            if member.sync_token is not None:
                world.reply(member.sync_token, sync_refusal(code), after_commit=False)
                member.sync_token = None
