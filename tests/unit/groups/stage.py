"""A shard on a virtual clock, with clients that speak to it through the real codec.

Every answer is encoded and decoded for the version it was asked in, so a body the wire cannot carry fails here. Tokens
are counted: none may be answered twice, and `unanswered` tells which still wait.
"""

import random
from collections.abc import Iterable, Mapping
from typing import Any

from barnabas.core.groups import Effects, GroupConfig, GroupShard, RequestInfo
from barnabas.core.groups.effects import Job
from barnabas.core.groups.embedded import write_assignment
from barnabas.core.groups.records.primitives import Writer
from barnabas.model.errors import ErrorCode
from barnabas.wire import codec

codec.STRICT = True

KEYS = {
    "offset_commit": 8,
    "offset_fetch": 9,
    "join": 11,
    "heartbeat": 12,
    "leave": 13,
    "sync": 14,
    "describe": 15,
    "list": 16,
    "delete": 42,
    "offset_delete": 47,
    "consumer_heartbeat": 68,
    "consumer_describe": 69,
}
NEWEST = {8: 10, 9: 10, 11: 9, 12: 4, 13: 5, 14: 5, 15: 6, 16: 5, 42: 2, 47: 0, 68: 1, 69: 1}


class FakeTopics:
    def __init__(self, **counts: int) -> None:
        self.version = 0
        self._next = 0
        self.counts: dict[str, int] = {}
        self.ids: dict[str, bytes] = {}
        for name, count in counts.items():
            self.create(name, count)

    def create(self, name: str, count: int) -> None:
        self.version += 1
        self._next += 1
        self.counts[name] = count
        self.ids[name] = self._next.to_bytes(16, "big")

    def grow(self, name: str, count: int) -> None:
        self.version += 1
        self.counts[name] = count

    def delete(self, name: str) -> None:
        self.version += 1
        del self.counts[name], self.ids[name]

    def partition_count(self, topic: str) -> int | None:
        return self.counts.get(topic)

    def topic_id(self, name: str) -> bytes | None:
        return self.ids.get(name)

    def topic_name(self, topic_id: bytes) -> str | None:
        return next((name for name, known in self.ids.items() if known == topic_id), None)

    def names(self) -> Iterable[str]:
        return list(self.counts)


class Bench:
    def __init__(self, topics: FakeTopics | None = None, config: GroupConfig | None = None, seed: int = 1) -> None:
        self.topics = topics or FakeTopics(alpha=4, beta=2)
        self.config = config or GroupConfig()
        self.now_ms = 1_000_000
        self.seed = seed
        self.log: list[tuple[bytes, bytes | None]] = []
        self.asked: dict[int, tuple[int, int]] = {}  # token -> api key, version
        self.answers: dict[int, Any] = {}
        self.holds_jobs = False  # until `compute` is called; else a job is done in no time
        self.jobs: list[Job] = []
        self.shard = self._new_shard()
        self.take(self.shard.loaded(self.now_ms))

    def _new_shard(self) -> GroupShard:
        self.seed += 1  # member ids must not come again after a failover
        return GroupShard(self.config, self.topics, random.Random(self.seed))

    # --- requests ---------------------------------------------------------------------------------------------------

    def send(
        self,
        api: str,
        body: Mapping[str, Any],
        version: int | None = None,
        client_id: str = "app",
        host: str = "10.0.0.7",
    ) -> int:
        """Hand a request in; its token comes back, its answer (if there is one yet) is in `answers`."""
        key = KEYS[api]
        version = NEWEST[key] if version is None else version
        request = codec.decode_request(key, version, bytes(codec.encode_request(key, version, body)))
        number = len(self.asked)
        token: Any = number
        self.asked[number] = (key, version)
        self.take(self.shard.handle(request, RequestInfo(key, version, client_id, host), self.now_ms, token))
        return number

    def call(self, api: str, body: Mapping[str, Any], version: int | None = None, client_id: str = "app") -> Any:
        """The same, for a request that must be answered at once."""
        token = self.send(api, body, version, client_id)
        assert token in self.answers, f"{api} was parked"
        return self.answers[token]

    def take(self, effects: Effects) -> None:
        self.log.extend(effects.records)
        for reply in effects.replies:
            token: object = reply.token
            assert isinstance(token, int)
            assert token not in self.answers, "a token was answered twice"
            key, version = self.asked[token]
            data = bytes(codec.encode_response(key, version, reply.response))
            self.answers[token] = codec.decode_response(key, version, data)
        self.jobs.extend(effects.jobs)
        if not self.holds_jobs:
            self.compute()

    def compute(self) -> None:
        """The threads finish what they were given."""
        while self.jobs:
            job = self.jobs.pop(0)
            self.take(self.shard.finish(job, job.compute(), self.now_ms))

    @property
    def unanswered(self) -> list[int]:
        return [token for token in self.asked if token not in self.answers]

    # --- time, topics, crashes --------------------------------------------------------------------------------------

    def advance(self, ms: int) -> None:
        """Let time pass, firing timers at their own moments."""
        until = self.now_ms + ms
        while (deadline := self.shard.next_deadline_ms()) is not None and deadline <= until:
            self.now_ms = max(self.now_ms, deadline)
            self.take(self.shard.tick(self.now_ms))
        self.now_ms = until

    def topics_changed(self) -> None:
        self.take(self.shard.on_metadata_change(self.now_ms))

    def reload(self, *, compacted: bool = True) -> None:
        """A new coordinator takes over: it knows what the log says and nothing else."""
        self.take(self.shard.abort_waiting(ErrorCode.NOT_COORDINATOR))
        self.shard = self._new_shard()
        self.jobs.clear()
        for key, value in dict(self.log).items() if compacted else self.log:
            assert self.shard.replay(key, value, self.now_ms) is None
        self.take(self.shard.loaded(self.now_ms))


def subscription(*topics: str, owned: dict[str, frozenset[int]] | None = None) -> bytes:
    """Version 3 of the `consumer` protocol, as clients send it."""
    writer = Writer()
    writer.i16(3)
    writer.i32(len(topics))
    for topic in topics:
        writer.string(topic)
    writer.i32(-1)  # no user data
    writer.raw(write_assignment(owned or {})[2:-4])
    writer.i32(-1)  # generation
    writer.string(None)  # rack
    return writer.done()


def join_body(group: str = "g", member: str = "", topics: Iterable[str] = ("alpha",), **more: Any) -> dict[str, Any]:
    body = {
        "group_id": group,
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 60_000,
        "member_id": member,
        "protocol_type": "consumer",
        "protocols": [{"name": "range", "metadata": subscription(*topics)}],
    }
    return body | more


class ClassicClient:
    """A consumer of the classic protocol, step by step."""

    def __init__(self, bench: Bench, group: str = "g", name: str = "app", **join: Any) -> None:
        self.bench, self.group, self.name, self.join_fields = bench, group, name, join
        self.member_id = ""
        self.generation = -1
        self.token = -1

    def start(self, version: int | None = None) -> "ClassicClient":
        """JoinGroup, twice when an id is handed out first."""
        self.rejoin(version)
        answer = self.bench.answers.get(self.token)
        if answer is not None and answer.error_code == 79:
            self.member_id = answer.member_id
            self.rejoin(version)
        return self

    def rejoin(self, version: int | None = None) -> None:
        body = join_body(self.group, self.member_id, **self.join_fields)
        self.token = self.bench.send("join", body, version, self.name)

    def joined(self) -> Any:
        answer = self.bench.answers[self.token]
        if answer.error_code == 0:
            self.member_id, self.generation = answer.member_id, answer.generation_id
        return answer

    def sync(self, assignments: Mapping[str, bytes] | None = None) -> int:
        parts = [{"member_id": key, "assignment": value} for key, value in (assignments or {}).items()]
        body = {"group_id": self.group, "generation_id": self.generation, "member_id": self.member_id}
        body |= {"group_instance_id": self.join_fields.get("group_instance_id"), "assignments": parts}
        body |= {"protocol_type": self.join_fields.get("protocol_type", "consumer")}
        body |= {"protocol_name": getattr(self.bench.answers.get(self.token), "protocol_name", None) or "range"}
        return self.bench.send("sync", body)

    def heartbeat(self) -> int:
        body = {"group_id": self.group, "generation_id": self.generation, "member_id": self.member_id}
        body |= {"group_instance_id": self.join_fields.get("group_instance_id")}
        return int(self.bench.call("heartbeat", body).error_code)

    def leave(self) -> Any:
        who = {"member_id": self.member_id, "group_instance_id": self.join_fields.get("group_instance_id")}
        return self.bench.call("leave", {"group_id": self.group, "members": [who]})

    def commit(self, offsets: Mapping[tuple[str, int], int], version: int = 9, metadata: str = "") -> list[int]:
        return commit(self.bench, self.group, offsets, self.member_id, self.generation, version, metadata)


def commit(
    bench: Bench,
    group: str,
    offsets: Mapping[tuple[str, int], int],
    member: str = "",
    generation: int = -1,
    version: int = 9,
    metadata: str = "",
) -> list[int]:
    topics = [
        {
            "name": topic,
            "topic_id": bench.topics.ids.get(topic, bytes(16)),
            "partitions": [
                {
                    "partition_index": number,
                    "committed_offset": offset,
                    "committed_leader_epoch": 3,
                    "committed_metadata": metadata,
                }
            ],
        }
        for (topic, number), offset in offsets.items()
    ]
    body = {"group_id": group, "generation_id_or_member_epoch": generation, "member_id": member, "topics": topics}
    answer = bench.call("offset_commit", body, version)
    return [partition.error_code for topic in answer.topics for partition in topic.partitions]


def fetch(bench: Bench, group: str, topic: str, number: int) -> Any:
    body = {"groups": [{"group_id": group, "topics": [{"name": topic, "partition_indexes": [number]}]}]}
    (found,) = bench.call("offset_fetch", body, 8).groups
    assert found.error_code == 0
    return found.topics[0].partitions[0]


def stable_group(bench: Bench, *clients: ClassicClient) -> None:
    """Bring clients that have started to a stable generation; the leader gives each an assignment of its name."""
    bench.advance(4_000)
    for client in clients:
        assert client.joined().error_code == 0, client.joined()
    leader = next(client for client in clients if client.joined().leader == client.member_id)
    for client in clients:
        if client is not leader:
            client.sync()
    leader.sync({client.member_id: client.member_id.encode() for client in clients})


class ConsumerClient:
    """A consumer of the KIP-848 protocol: it holds what it was given and says so when asked to give back."""

    def __init__(self, bench: Bench, member: str, group: str = "g", topics: Iterable[str] = ("alpha",), **more: Any):
        self.bench, self.member_id, self.group, self.topics = bench, member, group, tuple(topics)
        self.fields = more
        self.epoch = 0
        self.owned: dict[bytes, frozenset[int]] = {}

    def send(self, **fields: Any) -> Any:
        body = {"group_id": self.group, "member_id": self.member_id, "member_epoch": self.epoch} | fields
        answer = self.bench.call("consumer_heartbeat", body)
        if answer.error_code == 0:
            self.epoch = answer.member_epoch
            if answer.assignment is not None:
                self.owned = {
                    topic.topic_id: frozenset(topic.partitions) for topic in answer.assignment.topic_partitions
                }
        return answer

    def join(self, **fields: Any) -> Any:
        self.epoch, self.owned = 0, {}
        body = {"rebalance_timeout_ms": 30_000, "subscribed_topic_names": list(self.topics), "topic_partitions": []}
        return self.send(**(body | self.fields | fields))

    def beat(self) -> Any:
        """A keep-alive: nothing changed, nothing said."""
        return self.send()

    def confirm(self) -> Any:
        """A heartbeat that lists what the member holds now."""
        return self.send(
            topic_partitions=[
                {"topic_id": topic_id, "partitions": sorted(numbers)} for topic_id, numbers in self.owned.items()
            ]
        )

    def leave(self, epoch: int = -1) -> Any:
        body = {"group_id": self.group, "member_id": self.member_id, "member_epoch": epoch}
        body["instance_id"] = self.fields.get("instance_id")
        return self.bench.call("consumer_heartbeat", body)

    @property
    def names(self) -> set[tuple[str, int]]:
        return {
            (self.bench.topics.topic_name(topic_id) or "?", number)
            for topic_id, numbers in self.owned.items()
            for number in numbers
        }

    def commit(self, offsets: Mapping[tuple[str, int], int], epoch: int | None = None, version: int = 9) -> list[int]:
        epoch = self.epoch if epoch is None else epoch
        return commit(self.bench, self.group, offsets, self.member_id, epoch, version)


def settle(*clients: ConsumerClient, rounds: int = 6) -> None:
    """Heartbeats all round, until everybody has what it should."""
    for _ in range(rounds):
        for client in clients:
            answer = client.confirm()
            assert answer.error_code == 0, answer
