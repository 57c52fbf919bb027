"""Members of consumer groups, classic and of KIP-848, who own partitions and commit offsets for them.

A member reads nothing: it pretends to have read on and commits. What it was given, by which generation, and every
offset that was accepted go into the history.
"""

from typing import TYPE_CHECKING

from barnabas.model.errors import ErrorCode
from barnabas.sim.client import NoAnswer
from barnabas.sim.history import Committed, Partition
from barnabas.sim.requests import METADATA, OFFSET_COMMIT, committed_offset, offsets_body
from barnabas.sim.workloads.base import Workload
from barnabas.wire.codec import Decoded, decode_struct, encode_struct

if TYPE_CHECKING:
    from barnabas.wire.messages import (
        ConsumerGroupHeartbeatResponse,
        HeartbeatResponse,
        JoinGroupResponse,
        MetadataResponse,
        OffsetCommitResponse,
        SyncGroupResponse,
    )

_HEARTBEAT, _LEAVE, _JOIN, _SYNC, _CONSUMER_HEARTBEAT = 12, 13, 11, 14, 68
_SESSION_MS = 6_000
_AWAY = (
    ErrorCode.UNKNOWN_MEMBER_ID,
    ErrorCode.ILLEGAL_GENERATION,
    ErrorCode.REBALANCE_IN_PROGRESS,
    ErrorCode.FENCED_MEMBER_EPOCH,
    ErrorCode.STALE_MEMBER_EPOCH,
)


class Member(Workload):
    """What both kinds share."""

    pause_seconds = 0.7
    group = ""
    topic = ""
    partition_count = 1
    member_id = ""
    generation = -1
    owned: frozenset[Partition] = frozenset()

    async def prepare(self) -> None:
        if code := await self.client.find_coordinator(self.group, transaction=False):
            raise NoAnswer(str(code))

    async def _ask(self, api_key: int, version: int, body: dict[str, object]) -> Decoded:
        answer = await self.client.ask_coordinator(self.group, api_key, version, body)
        self.client.heard_coordinator(self.group, answer.error_code)
        return answer

    async def commit_one(self) -> None:
        if not self.owned:
            return
        partition = self.random.choice(sorted(self.owned))
        era = self.era
        code, offset = await committed_offset(self.client, self.group, partition, stable=False)
        if code or era != self.era:
            return
        self.history.fetched_offsets.append(Committed(self.group, partition, offset, self.world.loop.now, self.era))
        offset = max(offset, 0) + self.random.randint(1, 3)
        body = {
            "group_id": self.group,
            "generation_id_or_member_epoch": self.generation,
            "member_id": self.member_id,
            "group_instance_id": None,
            "topics": offsets_body(partition, offset),
        }
        commit = Committed(self.group, partition, offset, self.world.loop.now, self.era)
        try:
            answer: OffsetCommitResponse = await self.client.ask_coordinator(self.group, OFFSET_COMMIT, 9, body)
        except NoAnswer:
            self.history.unanswered_commits.append(commit)
            raise
        code = answer.topics[0].partitions[0].error_code
        self.client.heard_coordinator(self.group, code)
        if code == ErrorCode.NONE:
            commit.at = self.world.loop.now
            self.history.committed.append(commit)
            self.progressed()
        elif code in _AWAY:
            self.owned = frozenset()

    def owns(self, partitions: frozenset[Partition]) -> None:
        self.owned = partitions
        self.history.owners.append((self.world.loop.now, self.group, self.generation, self.member_id, partitions))


class ClassicMember(Member):
    kind = "classic member"

    async def step(self) -> None:
        if self.generation < 0:
            await self._join()
            return
        who = {"group_id": self.group, "generation_id": self.generation, "member_id": self.member_id}
        answer: HeartbeatResponse = await self._ask(_HEARTBEAT, 4, who | {"group_instance_id": None})
        if answer.error_code == ErrorCode.NONE:
            await self.commit_one()
        elif answer.error_code in _AWAY:
            if answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID:
                self.member_id = ""
            self.generation, self.owned = -1, frozenset()

    async def _join(self) -> None:
        subscription = b"\x00\x00" + encode_struct("consumer_protocol_subscription", 0, {"topics": [self.topic]})
        body = {
            "group_id": self.group,
            "session_timeout_ms": _SESSION_MS,
            "rebalance_timeout_ms": _SESSION_MS,
            "member_id": self.member_id,
            "group_instance_id": None,
            "protocol_type": "consumer",
            "protocols": [{"name": "range", "metadata": subscription}],
            "reason": "",
        }
        joined: JoinGroupResponse = await self._ask(_JOIN, 9, body)
        if joined.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            self.member_id = joined.member_id
            return
        if joined.error_code:
            if joined.error_code == ErrorCode.UNKNOWN_MEMBER_ID:
                self.member_id = ""
            return
        self.member_id = joined.member_id
        plan = self._plan([member.member_id for member in joined.members]) if joined.leader == self.member_id else []
        body = {
            "group_id": self.group,
            "generation_id": joined.generation_id,
            "member_id": self.member_id,
            "group_instance_id": None,
            "protocol_type": "consumer",
            "protocol_name": joined.protocol_name,
            "assignments": plan,
        }
        synced: SyncGroupResponse = await self._ask(_SYNC, 5, body)
        if synced.error_code:
            return
        self.generation = joined.generation_id
        assigned = decode_struct("consumer_protocol_assignment", 0, synced.assignment, 2) if synced.assignment else None
        parts = assigned.assigned_partitions if assigned is not None else []
        self.owns(frozenset((item.topic, index) for item in parts for index in item.partitions))

    def _plan(self, members: list[str]) -> list[dict[str, object]]:
        shares: dict[str, list[int]] = {member: [] for member in sorted(members)}
        for index in range(self.partition_count):
            shares[sorted(members)[index % len(members)]].append(index)
        return [
            {
                "member_id": member,
                "assignment": b"\x00\x00"
                + encode_struct(
                    "consumer_protocol_assignment",
                    0,
                    {"assigned_partitions": [{"topic": self.topic, "partitions": share}], "user_data": None},
                ),
            }
            for member, share in shares.items()
        ]

    async def finish(self) -> None:
        try:
            member = {"member_id": self.member_id, "group_instance_id": None, "reason": ""}
            await self._ask(_LEAVE, 5, {"group_id": self.group, "members": [member]})
        except NoAnswer:
            pass


class ConsumerMember(Member):
    kind = "KIP-848 member"

    async def prepare(self) -> None:
        await super().prepare()
        answer: MetadataResponse = await self.client.ask(
            METADATA, 12, {"topics": None, "allow_auto_topic_creation": False}
        )
        self.topic_ids = {topic.topic_id: topic.name or "" for topic in answer.topics}
        if self.topic not in self.topic_ids.values():
            raise NoAnswer("that node has not heard of the topic yet")
        self.member_id = self.member_id or f"member-{self.name}-{self.random.getrandbits(32):x}"
        self.epoch = 0

    async def step(self) -> None:
        ids = {name: topic_id for topic_id, name in self.topic_ids.items()}
        owned = sorted(index for _, index in self.owned)
        body: dict[str, object] = {
            "group_id": self.group,
            "member_id": self.member_id,
            "member_epoch": self.epoch,
            "rebalance_timeout_ms": _SESSION_MS,
            "subscribed_topic_names": [self.topic],
            "server_assignor": None,
            "topic_partitions": [{"topic_id": ids[self.topic], "partitions": owned}] if owned else [],
        }
        answer: ConsumerGroupHeartbeatResponse = await self._ask(_CONSUMER_HEARTBEAT, 1, body)
        if answer.error_code:
            if answer.error_code in _AWAY:
                self.epoch, self.owned = 0, frozenset()
            return
        self.epoch = self.generation = answer.member_epoch
        if answer.assignment is not None:
            given = answer.assignment.topic_partitions
            self.owns(frozenset((self.topic_ids[item.topic_id], index) for item in given for index in item.partitions))
        await self.commit_one()

    async def finish(self) -> None:
        try:
            body = {"group_id": self.group, "member_id": self.member_id, "member_epoch": -1}
            await self._ask(_CONSUMER_HEARTBEAT, 1, body | {"topic_partitions": []})
        except NoAnswer:
            pass
