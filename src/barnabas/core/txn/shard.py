"""The coordinator of one `__transaction_state` partition: one entrance, effects out.

    effects = shard.handle(request, info, now_ms, token)         a request of a client, or of a partition's leader
    effects = shard.markers_written(sent, partitions, now_ms)    markers are in these partitions and safe there
    effects = shard.markers_failed(sent, partitions, now_ms)     they are not: they will be sent again, after a while
    effects = shard.tick(now_ms)                                 when `next_deadline_ms()` has come
    shard.replay(key, value); effects = shard.loaded(now_ms)     before all of it, from the partition's log

Every token given to `handle` is answered exactly once, in the effects of that call: nothing is parked here. State moves
when a record is decided on; replies and markers wait until it is committed. `now_ms` is a steady clock, for
deadlines; what is written into records and compared after a restart is wall time (core/wall_time.py).

When records cannot be written, memory is ahead of the log: answer held replies with NOT_COORDINATOR, do not send held
markers, throw the shard away and replay a new one. A transaction found in PrepareX is completed then: `loaded` asks for
its markers again, in all its partitions, and writing one twice does no harm.

A partition that is gone for good (its topic deleted), or that is at a later epoch of the producer, counts as written.
One whose leader has heard of a newer coordinator counts as failed: either this shard is about to be thrown away, or the
marker is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING

from barnabas.core.coordinator.contract import B, RequestInfo, Token
from barnabas.core.groups.records.primitives import RecordError
from barnabas.core.txn.config import TxnConfig
from barnabas.core.txn.effects import Effects, SendMarkers
from barnabas.core.txn.records import decode_key, decode_value
from barnabas.core.txn.refusals import refusal
from barnabas.core.txn.requests import HANDLERS
from barnabas.core.txn.shard_state import ShardState
from barnabas.core.txn.transaction import Transaction
from barnabas.core.wall_time import WallTime
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import TopicPartition

if TYPE_CHECKING:
    from barnabas.wire.messages import Request


class TxnShard:
    def __init__(
        self,
        config: TxnConfig,
        coordinator_epoch: int,
        new_producer_id: Callable[[], int | None],
        offsets_partition: Callable[[str], int],
        wall_of: Callable[[int], int] | None = None,
    ) -> None:
        """`new_producer_id` gives an id nobody else has, or None when a new block is still on its way: the client is
        then told to come again. `offsets_partition` says where a group keeps its offsets; it may raise KafkaError.
        `wall_of` says what the wall clock shows at a `now_ms`, which is steady; without it they are the same."""
        wall = WallTime(wall_of) if wall_of is not None else WallTime()
        self._world = ShardState(config, coordinator_epoch, new_producer_id, offsets_partition, wall)

    def handle(self, request: Request[B], info: RequestInfo, now_ms: int, token: Token[B]) -> Effects:
        world = self._begin(now_ms)
        try:
            world.reply(token, HANDLERS[info.api_key](world, request, info))
        except KafkaError as error:
            world.reply(token, refusal(info.api_key, request, info.api_version, error.code))
        return world.take_effects()

    def markers_written(self, sent: SendMarkers, partitions: Iterable[TopicPartition], now_ms: int) -> Effects:
        world = self._begin(now_ms)
        world.markers_written(sent, partitions)
        return world.take_effects()

    def markers_failed(self, sent: SendMarkers, partitions: Iterable[TopicPartition], now_ms: int) -> Effects:
        world = self._begin(now_ms)
        world.markers_failed(sent, partitions)
        return world.take_effects()

    def tick(self, now_ms: int) -> Effects:
        world = self._begin(now_ms)
        if world.expiries.is_due(world.now_ms):
            world.expiry_clock_ms = world.wall.believed_ms()
        for sweep in (world.resends, world.timeouts, world.expiries):
            sweep.run(world.now_ms)
        return world.take_effects()

    def next_deadline_ms(self) -> int | None:
        world = self._world
        deadlines = (sweep.next_deadline_ms() for sweep in (world.resends, world.timeouts, world.expiries))
        return min((deadline for deadline in deadlines if deadline is not None), default=None)

    def replay(self, key: bytes, value: bytes | None) -> str | None:
        """Apply a record of the log. A text comes back when the record was skipped (for the node's log)."""
        try:
            name = decode_key(key)
            if value is None:
                self._world.transactions.pop(name, None)
            else:
                transaction = self._world.transactions[name] = decode_value(name, value)
                self._world.wall.read(transaction.last_update_ms)
        except RecordError as error:
            return str(error)
        return None

    def loaded(self, now_ms: int) -> Effects:
        world = self._begin(now_ms)
        world.wall.believed_ms()
        for transaction in list(world.transactions.values()):
            if transaction.state.is_prepared:
                world.send_markers(transaction)
            else:
                world.set_timers(transaction)
        return world.take_effects()

    def abort_waiting(self, code: ErrorCode) -> Effects:
        """This shard is no coordinator any more. Nobody waits inside it; replies held by the driver are its own."""
        return Effects()

    def completing_since(self, transactional_id: str) -> int | None:
        """Since when the markers of its last transaction are on their way (`now_ms` of that step); None: they are not.

        Until they are written the next transaction gets CONCURRENT_TRANSACTIONS.
        """
        ending = self._world.endings.get(transactional_id)
        return ending.began_ms if ending is not None else None

    def update_config(self, config: TxnConfig) -> None:
        """Take changed settings; a transaction that is open keeps the deadline it was given."""
        world = self._world
        world.config = config
        world.timeouts.interval_ms = config.transaction_abort_timed_out_transaction_cleanup_interval_ms
        world.expiries.interval_ms = config.transaction_remove_expired_transaction_cleanup_interval_ms

    @property
    def transactions(self) -> Mapping[str, Transaction]:
        """For metrics and tests: by transactional id."""
        return MappingProxyType(self._world.transactions)

    def _begin(self, now_ms: int) -> ShardState:
        # The clock of a step never runs backwards, whatever the driver's does.
        self._world.now_ms = max(self._world.now_ms, now_ms)
        self._world.wall.begin(self._world.now_ms)
        return self._world
