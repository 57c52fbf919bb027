"""What all parts of one shard share: settings, the clock of this step, the transactions, and what goes out.

`save` is the only way a transaction changes: it checks the move against the table, writes the record and sets the
timers, so memory, log and timers cannot disagree. `end` decides an outcome and asks for its markers; `complete` closes
it. Nothing in this room reads a clock: `now_ms` (steady, for deadlines) and `wall` (for what is written into records)
are set once per step.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import partial

from barnabas.core.coordinator.contract import B, Reply, Token
from barnabas.core.txn.config import TxnConfig
from barnabas.core.txn.effects import Effects, SendMarkers
from barnabas.core.txn.records import encode_key, encode_value, value_version
from barnabas.core.txn.states import MOVES, TxnState
from barnabas.core.txn.sweep import Sweep
from barnabas.core.txn.transaction import EPOCH_BUMP_VERSION, NO_PRODUCER_ID, Producer, Transaction
from barnabas.core.wall_time import WallTime
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import TopicPartition
from barnabas.model.limits import TRANSACTION_STATE_MAX_BYTES

_BACKOFF_DOUBLINGS_MAX = 4  # a partition that takes no marker for long is tried every 1.6 s


@dataclass(slots=True)
class Ending:
    """The markers of one decided transaction: which are still out, and which have to be sent again."""

    sent: SendMarkers
    open: set[TopicPartition]
    began_ms: int
    failed: set[TopicPartition] = field(default_factory=set)
    resends: int = 0


class ShardState:
    def __init__(
        self,
        config: TxnConfig,
        coordinator_epoch: int,
        new_producer_id: Callable[[], int | None],
        offsets_partition: Callable[[str], int],
        wall: WallTime,
    ) -> None:
        self.wall = wall
        self.config = config
        self.coordinator_epoch = coordinator_epoch
        self.offsets_partition = offsets_partition
        self.now_ms = 0
        self.expiry_clock_ms = 0  # wall time as it is believed when ids expire
        self.transactions: dict[str, Transaction] = {}
        self.endings: dict[str, Ending] = {}
        self.timeouts = Sweep(config.transaction_abort_timed_out_transaction_cleanup_interval_ms)
        self.expiries = Sweep(config.transaction_remove_expired_transaction_cleanup_interval_ms)
        self.resends = Sweep(0)
        self._new_producer_id = new_producer_id
        self._records: list[tuple[bytes, bytes | None]] = []
        self._replies: list[Reply] = []
        self._markers: list[SendMarkers] = []
        self._endings_so_far = 0

    # --- out --------------------------------------------------------------------------------------------------------

    def reply(self, token: Token[B], response: B) -> None:
        # Always after the commit: even a refusal may rest on a record that is not safe yet.
        self._replies.append(Reply(token, response))

    def take_effects(self) -> Effects:
        effects = Effects(self._records, self._replies, markers=self._markers)
        self._records, self._replies, self._markers = [], [], []
        return effects

    # --- in ---------------------------------------------------------------------------------------------------------

    def fresh_producer_id(self) -> int:
        producer_id = self._new_producer_id()
        if producer_id is None:
            # The block of ids is used up and the next one is on its way.
            raise KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, "no producer id at hand")
        return producer_id

    def next_producer(self, transaction: Transaction) -> Producer:
        """The pair that follows the client's: the next epoch, or a new id when epochs are exhausted."""
        if transaction.epoch_exhausted:
            return self.fresh_producer_id(), 0
        producer_id, epoch = transaction.client_producer
        return producer_id, epoch + 1

    # --- changes ----------------------------------------------------------------------------------------------------

    def save(self, transaction: Transaction) -> None:
        name = transaction.transactional_id
        before = self.transactions.get(name)
        assert transaction.state in (MOVES[before.state] if before else (TxnState.EMPTY,)), (before, transaction)
        value = encode_value(transaction, value_version(transaction, self.config.transaction_version))
        # Only growth is refused: a transaction that fits must always be able to end.
        growing = transaction.state is TxnState.ONGOING and not transaction.is_kept
        if growing and len(value) > TRANSACTION_STATE_MAX_BYTES:
            raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{name!r} has more partitions than one record can hold")
        self._records.append((encode_key(name), value))
        self.transactions[name] = transaction
        self.set_timers(transaction)

    def end(self, transaction: Transaction) -> None:
        """Write a decided outcome down; its markers go out when that is safe."""
        self.save(transaction)
        self.send_markers(transaction)

    def send_markers(self, transaction: Transaction) -> None:
        name, partitions = transaction.transactional_id, transaction.partitions
        if not partitions:
            self.save(transaction.completed(self.wall.stamp_ms))
            return
        self._endings_so_far += 1
        sent = SendMarkers(
            transactional_id=name,
            producer_id=transaction.producer_id,
            producer_epoch=transaction.producer_epoch,
            coordinator_epoch=self.coordinator_epoch,
            commit=transaction.state is TxnState.PREPARE_COMMIT,
            partitions=partitions,
            transaction_version=transaction.client_transaction_version,
            number=self._endings_so_far,
        )
        self.endings[name] = Ending(sent, set(partitions), self.now_ms)
        self._markers.append(sent)

    def markers_written(self, sent: SendMarkers, partitions: Iterable[TopicPartition]) -> None:
        ending = self._ending(sent)
        if ending is None:
            return
        ending.open.difference_update(partitions)
        ending.failed &= ending.open
        if not ending.open:
            del self.endings[sent.transactional_id]
            self.resends.cancel(sent.transactional_id)
            self.save(self.transactions[sent.transactional_id].completed(self.wall.stamp_ms))

    def markers_failed(self, sent: SendMarkers, partitions: Iterable[TopicPartition]) -> None:
        ending = self._ending(sent)
        if ending is None or not (failed := ending.open.intersection(partitions)):
            return
        if not ending.failed:
            due_ms = self.now_ms + (self.config.marker_retry_backoff_ms << min(ending.resends, _BACKOFF_DOUBLINGS_MAX))
            self.resends.set(sent.transactional_id, due_ms, partial(self._resend, ending))
        ending.failed |= failed

    def _resend(self, ending: Ending) -> None:
        self._markers.append(replace(ending.sent, partitions=frozenset(ending.failed)))
        ending.failed = set()
        ending.resends += 1

    def _ending(self, sent: SendMarkers) -> Ending | None:
        """What a report is about; None when that is over (a report that comes twice, or late)."""
        ending = self.endings.get(sent.transactional_id)
        return ending if ending is not None and ending.sent.number == sent.number else None

    def abort(self, transaction: Transaction) -> None:
        """Abort an open transaction without its producer, who is fenced by it."""
        if self.config.transaction_version < EPOCH_BUMP_VERSION and not transaction.is_kept:
            self.end(transaction.fenced(self.wall.stamp_ms))
        else:
            self.end_with_bump(transaction, commit=False)

    def end_with_bump(self, transaction: Transaction, *, commit: bool) -> None:
        fresh = self.fresh_producer_id() if transaction.epoch_exhausted else NO_PRODUCER_ID
        self.end(transaction.prepared_with_bump(commit, self.wall.stamp_ms, fresh))

    # --- time -------------------------------------------------------------------------------------------------------

    def set_timers(self, transaction: Transaction) -> None:
        name, config = transaction.transactional_id, self.config
        if transaction.state is TxnState.ONGOING and not transaction.never_times_out:
            # Set once, when it begins or is loaded: a clock that is set meanwhile does not move the deadline.
            if not self.timeouts.is_set(name):
                passed_ms = self.wall.elapsed_ms(transaction.start_ms, transaction.timeout_ms)
                due_ms = self.now_ms + transaction.timeout_ms - passed_ms
                self.timeouts.set(name, due_ms, partial(self._timed_out, name))
        else:
            self.timeouts.cancel(name)
        if transaction.state.is_idle:
            passed_ms = self.wall.elapsed_ms(transaction.last_update_ms, config.transactional_id_expiration_ms)
            due_ms = self.now_ms + config.transactional_id_expiration_ms - passed_ms
            self.expiries.set(name, due_ms, partial(self._expired, name))
        else:
            self.expiries.cancel(name)

    def _timed_out(self, name: str) -> None:
        transaction = self.transactions[name]
        try:
            self.abort(transaction)
        except KafkaError:
            # No producer id at hand to follow the exhausted one: the next run finds the transaction as it is.
            again_ms = self.now_ms + max(1, self.timeouts.interval_ms)
            self.timeouts.set(name, again_ms, partial(self._timed_out, name))

    def _expired(self, name: str) -> None:
        transaction = self.transactions[name]
        expiration_ms = self.config.transactional_id_expiration_ms
        left_ms = transaction.last_update_ms + expiration_ms - self.expiry_clock_ms
        if left_ms > 0:  # the setting has grown since, or the clock was wrong
            self.expiries.set(name, self.now_ms + min(left_ms, expiration_ms), partial(self._expired, name))
            return
        del self.transactions[name]
        self._records.append((encode_key(name), None))
