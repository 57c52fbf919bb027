"""One topic as its leaders have it: where it begins and ends, and raw batches from an offset on.

A leader that moves, a node that restarts, a code that passes by itself: looked up again and asked again, for
`patience_s` without an answer. What does not pass (no such topic, not allowed, an API that the node does not know) is
told at once as a BrowseError. Versions are the newest that both sides know; Fetch names the topic by its id where both
do (13 and later), so a topic that was deleted and created anew is noticed.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from barnabas.browse.errors import BrowseError, NoSuchTopic, NotAllowed, NotInTime
from barnabas.link.codes import is_retriable, name_of
from barnabas.link.errors import LinkDown, UnknownApi
from barnabas.model.errors import ErrorCode
from barnabas.wire.apis import FETCH, LIST_OFFSETS
from barnabas.wire.errors import ProtocolError
from barnabas.wire.visible import next_offset

if TYPE_CHECKING:
    from barnabas.link.async_nodes import AsyncNodes
    from barnabas.wire.messages import FetchResponse, ListOffsetsResponse

EARLIEST, LATEST = -2, -1  # the times of ListOffsets that mean where the log begins and ends
PATIENCE_S = 20.0
APPEARS_WITHIN_S = 1.5  # a topic that has just been made may not be known everywhere
RETRY_S = 0.1
ANSWER_S = 10.0  # for an answer that nothing holds up; a node that is paused is given up after it
_FETCH_BY_NAME, _FETCH_NEWEST, _LIST_OFFSETS_NEWEST = 12, 17, 7  # later ones add nothing that is used
_NO_ID = bytes(16)
_UNKNOWN = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})
_REFUSED = frozenset(
    {ErrorCode.TOPIC_AUTHORIZATION_FAILED, ErrorCode.CLUSTER_AUTHORIZATION_FAILED, ErrorCode.GROUP_AUTHORIZATION_FAILED}
)

Result = TypeVar("Result")


@dataclass(frozen=True, slots=True)
class Fetched:
    """Of one partition. `gone`: the log does not hold the offset (any more); everything else is then empty."""

    records: memoryview
    aborted: Sequence[tuple[int, int]] = ()  # producer id and first offset of each aborted transaction
    end: int = 0  # where a reader's log ends: the high watermark, or the last stable offset
    gone: bool = False


@dataclass(frozen=True, slots=True)
class Again:
    """An answer that may be another one when it is asked for again."""

    code: int
    reason: str


Answers = Mapping[int, Result | Again]
Ask = Callable[[int, list[int]], Awaitable[Answers[Result]]]


class TopicLog:
    def __init__(
        self, nodes: "AsyncNodes", topic: str, *, read_committed: bool = False, patience_s: float = PATIENCE_S
    ) -> None:
        self.topic = topic
        self.read_committed = read_committed
        self.nodes = nodes
        self._patience_s = patience_s
        self._topic_id = b""
        self._looking = asyncio.Lock()
        self._looked_at = 0.0
        self._unknown_since: float | None = None

    # --- the topic --------------------------------------------------------------------------------------------------

    async def open(self, only: Iterable[int] | None = None) -> list[int]:
        """Its partitions, or those of them that are named; NoSuchTopic when one is not there."""
        deadline = _now() + APPEARS_WITHIN_S
        while True:
            try:
                await self._look_up()
                break
            except NoSuchTopic:
                if _now() > deadline:
                    raise
            except LinkDown as problem:
                if _now() > deadline:
                    raise BrowseError(f"cannot reach the cluster: {problem}") from None
            await asyncio.sleep(RETRY_S)
        count = self.nodes.view.partition_count(self.topic)
        if only is None:
            return list(range(count))
        named = sorted(set(only))
        unknown = [each for each in named if not 0 <= each < count]
        if unknown:
            raise NoSuchTopic(f"{self.topic} has no partition {unknown[0]}: it has {count}")
        return named

    @property
    def topic_id(self) -> bytes:
        return self._topic_id or _NO_ID

    @property
    def has_id(self) -> bool:
        """Whether the cluster gives topics ids; before Kafka 2.8 they have names only."""
        return self.topic_id != _NO_ID

    def known_partitions(self) -> range:
        """As of the last look-up."""
        return range(self.nodes.view.partition_count(self.topic))

    async def _look_up(self) -> None:
        asked_at = _now()
        async with self._looking:
            if self._looked_at > asked_at:
                return  # somebody else has just done it
            answer = await self.nodes.look_up([self.topic])
            self._looked_at = _now()
        told = next((each for each in answer.topics if each.name == self.topic), None)
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION if told is None else told.error_code
        if code in _UNKNOWN or code == ErrorCode.INVALID_TOPIC_EXCEPTION:
            raise NoSuchTopic(f"there is no topic {self.topic!r}", code)
        if code in _REFUSED:
            raise NotAllowed(f"not allowed to read topic {self.topic!r}", code)
        new_id = self.nodes.view.topic_id(self.topic)
        if self._topic_id and new_id and new_id != self._topic_id:
            raise NoSuchTopic(f"{self.topic!r} was deleted meanwhile, and created anew")
        self._topic_id = self._topic_id or new_id

    # --- offsets ----------------------------------------------------------------------------------------------------

    async def starts(self, partitions: Iterable[int]) -> dict[int, int]:
        """Where each log begins."""
        return await self.offsets_at(EARLIEST, partitions)

    async def ends(self, partitions: Iterable[int]) -> dict[int, int]:
        """Where each log ends for a reader: the next offset to come."""
        return await self.offsets_at(LATEST, partitions)

    async def offsets_at(self, time_ms: int, partitions: Iterable[int]) -> dict[int, int]:
        """The first offset with this timestamp or a later one; -1 where there is none."""

        async def ask(node_id: int, asked: list[int]) -> dict[int, int | Again]:
            named = [{"partition_index": each, "current_leader_epoch": -1, "timestamp": time_ms} for each in asked]
            body = {
                "replica_id": -1,
                "isolation_level": int(self.read_committed),
                "topics": [{"name": self.topic, "partitions": named}],
            }
            answer: ListOffsetsResponse = await self.nodes.ask(
                node_id, LIST_OFFSETS, body, _LIST_OFFSETS_NEWEST, ANSWER_S
            )
            found: dict[int, int | Again] = {}
            for part in answer.topics[0].partitions if answer.topics else ():
                found[part.partition_index] = self.again(part.error_code) or part.offset
            return found

        return await self.ask_leaders(partitions, ask)

    # --- batches ----------------------------------------------------------------------------------------------------

    async def fetch(
        self, offsets: Mapping[int, int], partition_bytes: int, *, max_bytes: int = 0, wait_ms: int = 0
    ) -> dict[int, Fetched]:
        """What each log holds from its offset on. A partition is given at least one batch, except that the answer of a
        node with many partitions ends with `max_bytes`: some are then empty although `end` is further on."""
        return await self.ask_leaders(offsets, self.fetching(offsets, partition_bytes, max_bytes, wait_ms))

    def fetching(
        self, offsets: Mapping[int, int], partition_bytes: int, max_bytes: int = 0, wait_ms: int = 0
    ) -> Ask[Fetched]:
        """The one request behind `fetch`, for `ask_leaders` or for whoever polls each leader by itself."""

        async def ask(node_id: int, asked: list[int]) -> dict[int, Fetched | Again]:
            body = self._fetch_body({each: offsets[each] for each in asked}, partition_bytes, max_bytes, wait_ms)
            newest = _FETCH_NEWEST if self.has_id else _FETCH_BY_NAME
            answer: FetchResponse = await self.nodes.ask(node_id, FETCH, body, newest, ANSWER_S + wait_ms / 1000)
            whole = self.again(answer.error_code)
            if whole is not None:
                return dict.fromkeys(asked, whole)
            found: dict[int, Fetched | Again] = {}
            for part in answer.responses[0].partitions if answer.responses else ():
                if part.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
                    found[part.partition_index] = Fetched(memoryview(b""), gone=True)
                    continue
                again = self.again(part.error_code)
                aborted = [(each.producer_id, each.first_offset) for each in part.aborted_transactions or ()]
                records = part.records if part.records is not None else memoryview(b"")
                end = part.last_stable_offset if self.read_committed else part.high_watermark
                found[part.partition_index] = again or Fetched(records, aborted, end)
            return found

        return ask

    def after(self, fetched: Fetched, partition: int, offset: int) -> int:
        """Where to go on behind an answer; `offset` itself when it holds no whole batch."""
        try:
            return next_offset(fetched.records, offset)
        except ProtocolError as problem:
            raise BrowseError(f"{self.topic}-{partition} is damaged behind offset {offset}: {problem}") from None

    def _fetch_body(
        self, offsets: Mapping[int, int], partition_bytes: int, max_bytes: int, wait_ms: int
    ) -> dict[str, object]:
        partitions = [
            {
                "partition": partition,
                "current_leader_epoch": -1,
                "fetch_offset": offset,
                "last_fetched_epoch": -1,
                "log_start_offset": -1,
                "partition_max_bytes": partition_bytes,
            }
            for partition, offset in offsets.items()
        ]
        return {
            "replica_id": -1,
            "max_wait_ms": wait_ms,
            "min_bytes": 1 if wait_ms else 0,
            "max_bytes": max_bytes or partition_bytes,
            "isolation_level": int(self.read_committed),
            "session_id": 0,
            "session_epoch": -1,
            "topics": [{"topic": self.topic, "topic_id": self.topic_id, "partitions": partitions}],
            "forgotten_topics_data": [],
            "rack_id": "",
        }

    # --- leaders ----------------------------------------------------------------------------------------------------

    async def ask_leaders(self, partitions: Iterable[int], ask: Ask[Result]) -> dict[int, Result]:
        """Asks whoever leads each partition until all have answered; a round of failures is followed by a look-up."""
        waiting = set(partitions)
        done: dict[int, Result] = {}
        begun = _now()
        while True:
            homes, reasons = self.leaders(waiting)
            found = await asyncio.gather(*(self.ask_one(node, asked, ask) for node, asked in homes.items()))
            for each in found:
                for partition, result in each.items():
                    if isinstance(result, Again):
                        reasons[partition] = result
                    else:
                        done[partition] = result
            waiting -= done.keys()
            if not waiting:
                return done
            self.give_up(reasons, _now() - begun)
            await asyncio.sleep(RETRY_S)
            await self.look_up_again()

    def leaders(self, partitions: Iterable[int]) -> tuple[dict[int, list[int]], dict[int, Again]]:
        """The partitions by the node that leads them, and those that nobody leads as far as is known."""
        homes: dict[int, list[int]] = {}
        missing: dict[int, Again] = {}
        for partition in sorted(partitions):
            leader = self.nodes.view.leader(self.topic, partition)
            if leader is None:
                missing[partition] = Again(ErrorCode.LEADER_NOT_AVAILABLE, "nobody leads it")
            else:
                homes.setdefault(leader.node_id, []).append(partition)
        return homes, missing

    async def ask_one(self, node_id: int, asked: list[int], ask: Ask[Result]) -> Answers[Result]:
        """One request to one node; partitions that it does not answer for are to be asked for again."""
        try:
            found = await ask(node_id, asked)
        except LinkDown as problem:
            for partition in asked:
                self.nodes.view.forget_leader(self.topic, partition)
            return dict.fromkeys(asked, Again(ErrorCode.NETWORK_EXCEPTION, f"node {node_id}: {problem}"))
        except UnknownApi as problem:
            raise BrowseError(str(problem), ErrorCode.UNSUPPORTED_VERSION) from None
        silent = Again(ErrorCode.LEADER_NOT_AVAILABLE, f"node {node_id} left it out of its answer")
        return {partition: found.get(partition, silent) for partition in asked}

    async def look_up_again(self) -> None:
        """Who leads what; that nobody can be asked is no reason to give up yet."""
        try:
            await self._look_up()
            self._unknown_since = None
        except LinkDown:
            pass
        except NoSuchTopic:
            since = self._unknown_since = self._unknown_since or _now()
            if _now() - since > APPEARS_WITHIN_S:
                raise

    def give_up(self, reasons: Mapping[int, Again], waited_s: float) -> None:
        """Raises when waiting has no more sense."""
        for partition, again in sorted(reasons.items()):
            unknown = again.code in _UNKNOWN
            if waited_s > (min(APPEARS_WITHIN_S, self._patience_s) if unknown else self._patience_s):
                where = f"{self.topic}-{partition}"
                if unknown:
                    raise NoSuchTopic(f"there is no {where}", again.code)
                raise NotInTime(f"gave up after {waited_s:.0f} s: {where}: {again.reason}", again.code)

    def again(self, code: int, doing: str = "read") -> Again | None:
        """None where the code is no error; raises where it does not pass."""
        if code == ErrorCode.NONE:
            return None
        if code in _REFUSED:
            raise NotAllowed(f"not allowed to {doing} topic {self.topic!r}", code)
        # Kafka's consumer tries an unknown server error again as well; what is damaged stays damaged for a reader.
        passing = is_retriable(code) or code == ErrorCode.UNKNOWN_SERVER_ERROR
        if not passing or code == ErrorCode.CORRUPT_MESSAGE:
            raise BrowseError(f"cannot {doing} {self.topic}: {name_of(code)}", code)
        return Again(code, name_of(code))


def _now() -> float:
    return asyncio.get_running_loop().time()
