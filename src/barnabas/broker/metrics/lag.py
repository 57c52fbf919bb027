"""How far the groups of this node are behind, in records and in seconds.

A group's coordinator knows its committed offsets; where the partitions end, and how old the first record is that was
not consumed, their leaders know. They are asked in the background, by ListOffsets over the connections that brokers
have among themselves, while somebody reads /metrics: at most every REFRESH_SECONDS, and about a limited number of
partitions each time, in turn. A scrape never waits for it, and what is not known is left out.

A record's timestamp never changes, so it is asked for once for each committed offset.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator, Sequence
from concurrent.futures import Executor
from itertools import islice
from typing import NamedTuple

from barnabas.broker import clock
from barnabas.broker.api.list_offsets import AT_OFFSET, LATEST
from barnabas.broker.coordinator.groups import GroupDriver
from barnabas.broker.network.loop_budget import LoopBudget
from barnabas.broker.partition.table import PartitionTable
from barnabas.broker.peers.table import Peers
from barnabas.broker.roles import ClusterView
from barnabas.link.errors import LinkDown
from barnabas.model.errors import KafkaError
from barnabas.model.ids import TopicPartition
from barnabas.model.limits import METRICS_LAG_PARTITIONS_A_ROUND
from barnabas.storage.damage import Damaged
from barnabas.storage.log import Log
from barnabas.storage.time_lookup import timestamp_at
from barnabas.wire.apis import LIST_OFFSETS
from barnabas.wire.errors import ProtocolError

log = logging.getLogger(__name__)

REFRESH_SECONDS = 3.0
_ASKED_AT_ONCE = 1_000  # partitions of one request
_ANSWER_MS = 5_000
_VERSION = 7


class Position(NamedTuple):
    """What a group has committed for a partition."""

    topic: str
    number: int
    offset: int

    @property
    def partition(self) -> TopicPartition:
        return TopicPartition(self.topic, self.number)


class GroupLags:
    def __init__(
        self, cluster: ClusterView, groups: GroupDriver, partitions: PartitionTable, peers: Peers, threads: Executor
    ) -> None:
        self._cluster, self._groups, self._partitions = cluster, groups, partitions
        self._peers, self._threads = peers, threads
        self._ends: dict[TopicPartition, int] = {}
        self._timestamps: dict[Position, int] = {}  # of the first record that was not consumed
        self._task: asyncio.Task[None] | None = None
        self._next = 0.0
        self._turn = 0  # how many positions the rounds before have looked at

    # --- what is known ------------------------------------------------------------------------------------------------

    def lag(self, position: Position) -> int | None:
        end = self._ends.get(position.partition)
        return None if end is None else max(end - position.offset, 0)

    def oldest_seconds(self, positions: Sequence[Position], now_ms: int) -> float | None:
        """The age of the oldest record that is left; None while one is unknown."""
        oldest = now_ms
        for position in positions:
            lag = self.lag(position)
            if lag:
                timestamp = self._timestamps.get(position)
                if timestamp is None:
                    return None
                oldest = min(oldest, timestamp)
            elif lag is None:
                return None
        return max(now_ms - oldest, 0) / 1000

    # --- asking -------------------------------------------------------------------------------------------------------

    def wanted(self) -> None:
        """Somebody reads /metrics."""
        now = clock.source.monotonic()
        if self._task is None and now >= self._next:
            self._next = now + REFRESH_SECONDS
            self._task = asyncio.ensure_future(self._refresh())
            self._task.add_done_callback(self._ended)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        self._task = None
        if not task.cancelled() and (error := task.exception()) is not None:
            log.warning("the lag of groups is not known: %s", error, exc_info=error)

    async def _refresh(self) -> None:
        positions = await self._positions()
        most = METRICS_LAG_PARTITIONS_A_ROUND
        if len(positions) > most:
            first = self._turn % len(positions)
            self._turn += most
            chosen = (positions + positions)[first : first + most]
        else:
            chosen = positions
        known = {position.partition for position in positions}
        self._ends = {partition: end for partition, end in self._ends.items() if partition in known}
        await self._ask_ends({position.partition for position in chosen})
        kept = set(positions)
        self._timestamps = {position: stamp for position, stamp in self._timestamps.items() if position in kept}
        await self._ask_timestamps([each for each in chosen if self.lag(each) and each not in self._timestamps])

    async def _positions(self) -> list[Position]:
        found: dict[Position, None] = {}
        budget = LoopBudget()
        for shard in self._groups.loaded():
            offsets = shard.machine.offsets
            for group in offsets.group_ids():
                for topic, index, committed in offsets.of_group(group):
                    if self._cluster.image.partition(topic, index) is not None:
                        found[Position(topic, index, committed.offset)] = None
                await budget.pause()
        return list(found)

    async def _ask_ends(self, partitions: set[TopicPartition]) -> None:
        elsewhere: dict[int, list[tuple[TopicPartition, int]]] = {}
        budget = LoopBudget()
        for partition in partitions:
            leader = self._leader(partition)
            own = self._partitions.get(*partition)
            if own is not None:
                try:
                    self._ends[partition] = 0 if own.untouched else own.open().high_watermark
                except KafkaError:  # it is being opened, or cannot be
                    self._ends.pop(partition, None)
            elif leader >= 0:
                elsewhere.setdefault(leader, []).append((partition, LATEST))
            await budget.pause()
        for broker, asked in elsewhere.items():
            async for partition, offset, _ in self._ask(broker, asked, replica_id=-1):
                self._ends[partition] = offset

    async def _ask_timestamps(self, positions: list[Position]) -> None:
        local: list[tuple[Position, Log]] = []
        elsewhere: dict[int, list[tuple[TopicPartition, int]]] = {}
        by_partition: dict[tuple[TopicPartition, int], Position] = {}
        for position in positions:
            own = self._partitions.get(*position.partition)
            if own is not None and own.opened is not None:
                start = own.opened.log.log_start_offset
                local.append((position._replace(offset=max(position.offset, start)), own.opened.log))
                by_partition[position.partition, max(position.offset, start)] = position
            elif own is None and (leader := self._leader(position.partition)) >= 0:
                elsewhere.setdefault(leader, []).append((position.partition, AT_OFFSET - position.offset))
        loop = asyncio.get_running_loop()
        for at in range(0, len(local), 64):
            found = await loop.run_in_executor(self._threads, _timestamps, local[at : at + 64])
            for position, stamp in found:
                self._timestamps[by_partition[position.partition, position.offset]] = stamp
        for broker, asked in elsewhere.items():
            wanted = dict(asked)  # two groups at different offsets of a partition: one of them has its turn now
            async for partition, offset, stamp in self._ask(broker, list(wanted.items()), self._cluster.node_id):
                position = Position(*partition, AT_OFFSET - wanted[partition])
                if stamp >= 0 and offset >= position.offset:
                    self._timestamps[position] = stamp

    def _leader(self, partition: TopicPartition) -> int:
        image = self._cluster.image.partition(*partition)
        return -1 if image is None else image.leader

    async def _ask(
        self, broker: int, asked: list[tuple[TopicPartition, int]], replica_id: int
    ) -> AsyncIterator[tuple[TopicPartition, int, int]]:
        """(partition, offset, timestamp) of those that the broker answers."""
        rest: Iterator[tuple[TopicPartition, int]] = iter(asked)
        while part := list(islice(rest, _ASKED_AT_ONCE)):
            topics: dict[str, list[dict[str, int]]] = {}
            for partition, timestamp in part:
                row = {"partition_index": partition.partition, "current_leader_epoch": -1, "timestamp": timestamp}
                topics.setdefault(partition.topic, []).append(row)
            body = {
                "replica_id": replica_id,
                "isolation_level": 0,
                "topics": [{"name": name, "partitions": rows} for name, rows in topics.items()],
            }
            try:
                answer = await self._peers.ask(broker, LIST_OFFSETS, _VERSION, body, _ANSWER_MS)
            except (LinkDown, ProtocolError) as error:
                log.info("broker %d does not say where its partitions end: %s", broker, error)
                return
            for topic in answer.topics:
                for each in topic.partitions:
                    if not each.error_code and each.offset >= 0:
                        yield TopicPartition(topic.name, each.partition_index), each.offset, each.timestamp

    def close(self) -> None:
        if self._task is not None:
            self._task.cancel()


def _timestamps(asked: list[tuple[Position, Log]]) -> list[tuple[Position, int]]:
    """In a thread. What cannot be read is unknown."""
    found = []
    for position, own in asked:
        try:
            stamp = timestamp_at(own, position.offset)
        except (OSError, KafkaError, Damaged, ProtocolError):
            continue
        if stamp is not None and stamp[0] >= 0:
            found.append((position, stamp[0]))
    return found
