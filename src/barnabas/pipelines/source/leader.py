"""Fetching from whoever leads a partition, with the patience of a client: a leader moves, a node restarts.

What can pass by itself (the leader moved, the node is starting, the connection broke) is tried again for `PATIENCE_S`
seconds without any progress. What cannot (no such topic any more, not allowed, the offset is gone) is told at once:
`OffsetGone` for the caller to judge by failOnDataLoss, PipelineError for the rest.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

from barnabas.client.common.connection import addresses
from barnabas.link.blocking_driver import BlockingLink, LinkOptions
from barnabas.link.codes import is_retriable, name_of
from barnabas.link.errors import LinkDown, LoginFailed
from barnabas.link.exchange import ReusedMemory
from barnabas.link.view import Address, ClientMetadata
from barnabas.model.errors import ErrorCode
from barnabas.model.limits import SPARK_ANSWER_MAX_BYTES
from barnabas.pipelines.common.login import credentials, tls
from barnabas.pipelines.errors import PipelineError
from barnabas.wire.apis import FETCH, LIST_OFFSETS, METADATA

if TYPE_CHECKING:
    from barnabas.wire.messages import FetchResponse, ListOffsetsResponse, MetadataResponse

PATIENCE_S = 60.0
APPEARS_WITHIN_S = 3.0  # a topic that has just been made may not be known everywhere
RETRY_S = 0.1
FETCH_BYTES = 4 << 20  # larger ones do not fit into a processor's cache while they are worked on
FETCH_WAIT_MS = 500
FETCH_VERSION, METADATA_VERSION, LIST_OFFSETS_VERSION = 12, 9, 6  # the newest with topics by name; Kafka 2.7 and later
CLIENT_ID = "barnabas-spark"
_EARLIEST = -2
Answer = TypeVar("Answer")

# Kafka's consumer tries these again as well, though no client is told to; what is damaged stays damaged for a reader.
_ALSO_PASSING = frozenset({ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.BROKER_NOT_AVAILABLE})
_NOT_PASSING = frozenset({ErrorCode.CORRUPT_MESSAGE})


class OffsetGone(Exception):
    """The log does not hold this offset (any more)."""


@dataclass
class Fetched:
    records: memoryview
    aborted: Sequence[tuple[int, int]]  # producer id and first offset of each aborted transaction
    high_watermark: int
    last_stable_offset: int


class PartitionLeader:
    def __init__(
        self, bootstrap: str, topic: str, partition: int, read_committed: bool, security: Mapping[str, str]
    ) -> None:
        self.bootstrap = bootstrap
        self._options = LinkOptions(
            client_id=CLIENT_ID,
            answer_max_bytes=SPARK_ANSWER_MAX_BYTES,
            tls=tls(security),
            credentials=credentials(security),
            ask_versions=False,
        )
        self._memory = ReusedMemory()  # an answer is worked off before the next is received
        self.topic = topic
        self.partition = partition
        self._isolation = int(read_committed)
        self._link: BlockingLink | None = None
        self._asked: int | None = None  # the offset of a fetch that is on its way

    def close(self) -> None:
        if self._link is not None:
            self._link.close()
            self._link = None
        self._asked = None

    def ask_ahead(self, offset: int) -> None:
        """Send the next fetch while the last one is worked on; a broken connection shows when it is collected."""
        if self._link is None:
            return
        try:
            self._send(self._link, offset)
        except LinkDown:
            self.close()

    def fetch(self, offset: int) -> Fetched:
        """What the log holds from `offset` on, at least one batch unless there is nothing."""
        return self._patiently(lambda link: self._fetch(link, offset))

    def earliest(self) -> int:
        """Where the log begins now."""
        return self._patiently(self._earliest)

    def _patiently(self, ask: Callable[[BlockingLink], Answer]) -> Answer:
        begun = time.monotonic()
        while True:
            try:
                return ask(self._link or self._connect())
            except LoginFailed as refused:
                self.close()
                raise PipelineError(f"cannot read {self.topic}-{self.partition}: {refused}") from None
            except (LinkDown, _Passing) as problem:
                self.close()
                patience_s = APPEARS_WITHIN_S if isinstance(problem, _Unknown) else PATIENCE_S
                if time.monotonic() - begun > patience_s:
                    raise PipelineError(f"cannot read {self.topic}-{self.partition}: {problem}") from None
                time.sleep(RETRY_S)

    def _fetch(self, link: BlockingLink, offset: int) -> Fetched:
        if self._asked != offset:
            self._forget_asked(link)
            self._send(link, offset)
        self._asked = None
        answer: FetchResponse = link.receive()
        self._judge(answer.error_code, offset)
        part = answer.responses[0].partitions[0]
        self._judge(part.error_code, offset)
        aborted = [(each.producer_id, each.first_offset) for each in part.aborted_transactions or ()]
        records = part.records if part.records is not None else memoryview(b"")
        return Fetched(records, aborted, part.high_watermark, part.last_stable_offset)

    def _earliest(self, link: BlockingLink) -> int:
        self._forget_asked(link)
        partition = {"partition_index": self.partition, "current_leader_epoch": -1, "timestamp": _EARLIEST}
        body = {
            "replica_id": -1,
            "isolation_level": self._isolation,
            "topics": [{"name": self.topic, "partitions": [partition]}],
        }
        answer: ListOffsetsResponse = link.call(LIST_OFFSETS, LIST_OFFSETS_VERSION, body)
        found = answer.topics[0].partitions[0]
        self._judge(found.error_code, 0)
        return found.offset

    def _forget_asked(self, link: BlockingLink) -> None:
        """An answer that nobody wants any more stands before the next one."""
        if self._asked is not None:
            self._asked = None
            link.receive()

    def _send(self, link: BlockingLink, offset: int) -> None:
        partition = {
            "partition": self.partition,
            "current_leader_epoch": -1,
            "fetch_offset": offset,
            "last_fetched_epoch": -1,
            "log_start_offset": -1,
            "partition_max_bytes": FETCH_BYTES,
        }
        body = {
            "replica_id": -1,
            "max_wait_ms": FETCH_WAIT_MS,
            "min_bytes": 1,
            "max_bytes": FETCH_BYTES,
            "isolation_level": self._isolation,
            "session_id": 0,
            "session_epoch": -1,
            "topics": [{"topic": self.topic, "partitions": [partition]}],
            "forgotten_topics_data": [],
            "rack_id": "",
        }
        link.send(FETCH, FETCH_VERSION, body)
        self._asked = offset

    def _connect(self) -> BlockingLink:
        """A connection to the leader, found by asking any node of the bootstrap."""
        self.close()
        problem: Exception | None = None
        for host, port in addresses(self.bootstrap):
            try:
                first = self._open((host, port))
            except LinkDown as error:
                problem = error
                continue
            try:
                leader = self._leader_address(first)
            except BaseException:
                first.close()
                raise
            if leader == (host, port):
                self._link = first
            else:
                first.close()
                self._link = self._open(leader)
            return self._link
        raise problem or LinkDown("no address")

    def _open(self, address: Address) -> BlockingLink:
        return BlockingLink(*address, self._options, self._memory)

    def _leader_address(self, link: BlockingLink) -> Address:
        body = {"topics": [{"name": self.topic}], "allow_auto_topic_creation": False}
        answer: MetadataResponse = link.call(METADATA, METADATA_VERSION, body)
        topic = answer.topics[0]
        self._judge(topic.error_code, 0)
        part = next((each for each in topic.partitions if each.partition_index == self.partition), None)
        if part is None:
            raise _Unknown("there is no such partition")
        self._judge(part.error_code, 0)
        view = (
            ClientMetadata()
        )  # a new one: this version of Metadata has no topic ids to tell a topic that was made again
        view.learn_metadata(answer)
        leader = view.leader(self.topic, self.partition)
        if leader is None or leader.node_id not in view.addresses:
            raise _Passing("nobody leads it")
        return view.addresses[leader.node_id]

    def _judge(self, code: int, offset: int) -> None:
        if code == ErrorCode.NONE:
            return
        name = name_of(code)
        if code == ErrorCode.OFFSET_OUT_OF_RANGE:
            raise OffsetGone(f"{self.topic}-{self.partition} does not hold offset {offset}")
        if code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            raise _Unknown(name)
        if (is_retriable(code) or code in _ALSO_PASSING) and code not in _NOT_PASSING:
            raise _Passing(name)
        raise PipelineError(f"cannot read {self.topic}-{self.partition}: {name}")


class _Passing(Exception):
    """An error that goes away by itself."""


class _Unknown(_Passing):
    """One that goes away soon, or never."""
