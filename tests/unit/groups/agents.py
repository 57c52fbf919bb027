"""Clients that live on their own: given a turn now and then they do what a real client of their protocol would.

An agent that is given its turns never deserves to be thrown out; one that is, fails the test. `forgiven` marks the one
honest exception: a classic member whose join was not written yet when its coordinator was lost.
"""

from typing import Any

from barnabas.core.groups.embedded import read_assignment, write_assignment
from tests.unit.groups.stage import Bench, ClassicClient, ConsumerClient

NONE, ILLEGAL_GENERATION, UNKNOWN_MEMBER, REBALANCING = 0, 22, 25, 27
NOT_COORDINATOR, MEMBER_ID_REQUIRED, FENCED_INSTANCE = 16, 79, 82
COME_AGAIN = (REBALANCING, ILLEGAL_GENERATION, NOT_COORDINATOR)


class ClassicAgent:
    """Eager: it gives everything up before it joins again."""

    def __init__(self, bench: Bench, topics: tuple[str, ...], instance_id: str | None = None) -> None:
        join: dict[str, Any] = {"topics": topics}
        if instance_id is not None:
            join["group_instance_id"] = instance_id
        self.client = ClassicClient(bench, **join)
        self.bench, self.topics, self.instance_id = bench, topics, instance_id
        self.phase = "out"
        self.token = -1
        self.owned: set[tuple[str, int]] = set()
        self.fenced = False
        self.forgiven = False

    @property
    def member_id(self) -> str:
        return self.client.member_id

    def turn(self) -> None:
        for _ in range(4):
            if self.fenced or not self._move():
                return

    def _join(self) -> None:
        self.owned = set()
        self.client.rejoin()
        self.token, self.phase = self.client.token, "joining"

    def _move(self) -> bool:
        """One step; True when another may follow at once."""
        if self.phase == "out":
            self._join()
            return True
        if self.phase == "in":
            code = self.client.heartbeat()
            if code == NONE:
                return False
            self._told(code)
            return not self.fenced
        answer = self.bench.answers.get(self.token)
        if answer is None:
            return False
        if answer.error_code == MEMBER_ID_REQUIRED:
            self.client.member_id = answer.member_id
            self._join()
        elif answer.error_code != NONE:
            self._told(answer.error_code)
        elif self.phase == "joining":
            self.client.joined()
            self.token, self.phase = self.client.sync(self._lead(answer)), "syncing"
        else:
            named = read_assignment(answer.assignment) or {}
            self.owned = {(topic, number) for topic, numbers in named.items() for number in numbers}
            self.phase = "in"
            return False
        return True

    def _told(self, code: int) -> None:
        if code == FENCED_INSTANCE:
            self.fenced = True
            return
        if code == UNKNOWN_MEMBER:
            assert self.forgiven, f"{self.member_id} is alive and was forgotten"
            self.forgiven = False
            self.client.member_id = ""
        else:
            assert code in COME_AGAIN, code
        self.phase = "out"
        self.owned = set()

    def _lead(self, answer: Any) -> dict[str, bytes] | None:
        """Round robin over the partitions of all topics; what the members subscribe to is the same for all here."""
        if not answer.members:
            return None
        members = sorted(member.member_id for member in answer.members)
        parts: dict[str, dict[str, set[int]]] = {member: {} for member in members}
        place = 0
        for topic in self.topics:
            for number in range(self.bench.topics.partition_count(topic) or 0):
                parts[members[place % len(members)]].setdefault(topic, set()).add(number)
                place += 1
        return {
            member: write_assignment({topic: frozenset(numbers) for topic, numbers in topics.items()})
            for member, topics in parts.items()
        }

    def commit(self, pair: tuple[str, int], offset: int) -> bool:
        return self.client.commit({pair: offset}) == [NONE]

    def leave(self) -> None:
        self.client.leave()
        self.owned = set()


class ConsumerAgent:
    """Slow to give back: what it was told to revoke it holds until its next full heartbeat, which leaves it out."""

    def __init__(self, bench: Bench, name: str, topics: tuple[str, ...], instance_id: str | None = None) -> None:
        more = {} if instance_id is None else {"instance_id": instance_id}
        self.client = ConsumerClient(bench, name, topics=topics, **more)
        self.bench, self.instance_id = bench, instance_id
        self.turns = 0
        self.held: set[tuple[bytes, int]] = set()
        self.fenced = False
        self.forgiven = False

    @property
    def member_id(self) -> str:
        return self.client.member_id

    @property
    def owned(self) -> set[tuple[str, int]]:
        return {(self.bench.topics.topic_name(topic_id) or "?", number) for topic_id, number in self.held}

    def _told(self) -> set[tuple[bytes, int]]:
        return {(topic_id, number) for topic_id, numbers in self.client.owned.items() for number in numbers}

    def turn(self) -> None:
        self.turns += 1
        if self.client.epoch == 0:
            answer = self.client.join()
        elif self.turns % 3 == 0:
            self.held &= self._told()
            answer = self.client.confirm()
        else:
            answer = self.client.beat()
        assert answer.error_code == NONE, (self.member_id, answer)
        self.held |= self._told()

    def commit(self, pair: tuple[str, int], offset: int) -> bool:
        return self.client.commit({pair: offset}) == [NONE]

    def leave(self) -> None:
        assert self.client.leave().error_code == NONE
        self.held = set()


Agent = ClassicAgent | ConsumerAgent
