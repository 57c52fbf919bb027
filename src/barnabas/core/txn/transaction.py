"""What is known of one transactional id, and how it changes. A `Transaction` is a value: each change makes a new one.

Two pairs of producer id and epoch. `producer_id, producer_epoch` is the pair of the transaction: its data and its
markers carry it. The client usually writes with the same pair; after InitProducerId with keep_prepared_txn (KIP-939)
the transaction keeps its own and the client gets the next pair, so that an earlier incarnation is fenced without the
prepared transaction losing its name. `client_producer` is the pair requests are checked against.

The epoch of a producer id ends at 32767. Epoch 32766 is the last one a client may hold: the one above it is left for
fencing. Then the next id begins at epoch 0. When an ending of KIP-890 runs out of epochs, the new id waits in
`next_producer_id` (with no next epoch) until the markers are written under the old one.

`last_producer_epoch` makes a repeated InitProducerId harmless (KIP-360). Kafka does not write it down, neither do we:
after a reload such a repetition is fenced, which is safe. It is therefore no part of equality.
"""

from dataclasses import dataclass, field, replace

from barnabas.core.txn.states import TxnState
from barnabas.model.ids import TopicPartition

NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
EPOCH_MAX = 32767
LAST_CLIENT_EPOCH = EPOCH_MAX - 1
EPOCH_BUMP_VERSION = 2  # the transaction version from which every ending raises the epoch (KIP-890)
TWO_PHASE_TIMEOUT_MS = 2**31 - 1  # how a transaction that never times out is written down (KIP-939)

Producer = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Transaction:
    transactional_id: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: TxnState = TxnState.EMPTY
    partitions: frozenset[TopicPartition] = frozenset()
    last_update_ms: int = -1
    start_ms: int = -1
    previous_producer_id: int = NO_PRODUCER_ID  # the client's id before the last change
    next_producer_id: int = NO_PRODUCER_ID
    next_producer_epoch: int = NO_PRODUCER_EPOCH
    client_transaction_version: int = 0  # of whoever began or ended the transaction last
    last_producer_epoch: int = field(default=NO_PRODUCER_EPOCH, compare=False)

    @property
    def is_kept(self) -> bool:
        """The client has moved on to the next pair while the transaction stays (KIP-939)."""
        return self.next_producer_epoch != NO_PRODUCER_EPOCH

    @property
    def client_producer(self) -> Producer:
        if self.is_kept:
            return self.next_producer_id, self.next_producer_epoch
        return self.producer_id, self.producer_epoch

    @property
    def never_times_out(self) -> bool:
        return self.timeout_ms == TWO_PHASE_TIMEOUT_MS

    @property
    def epoch_exhausted(self) -> bool:
        return self.client_producer[1] >= LAST_CLIENT_EPOCH

    def initialized(self, producer: Producer, timeout_ms: int, now_ms: int, *, last_epoch: int) -> "Transaction":
        """A producer has (re)started: nothing is open, `producer` is what it writes with."""
        repeated = producer == (self.producer_id, self.producer_epoch)
        return replace(
            self,
            state=TxnState.EMPTY,
            producer_id=producer[0],
            producer_epoch=producer[1],
            # A repetition must be recognised the second time too, so it does not overwrite what it is recognised by.
            previous_producer_id=self.previous_producer_id if repeated else self.producer_id,
            last_producer_epoch=last_epoch,
            timeout_ms=timeout_ms,
            partitions=frozenset(),
            start_ms=-1,
            last_update_ms=now_ms,
        )

    def kept_for(self, producer: Producer, now_ms: int, *, last_epoch: int, two_phase: bool) -> "Transaction":
        """The open transaction stays as it is; the client goes on with `producer`, only to end it.

        With `two_phase` it has no timeout from now on, also when it began with one: who asks for it has prepared it.
        """
        repeated = self.is_kept and producer == self.client_producer
        return replace(
            self,
            next_producer_id=producer[0],
            next_producer_epoch=producer[1],
            previous_producer_id=self.previous_producer_id if repeated else self.client_producer[0],
            last_producer_epoch=last_epoch,
            timeout_ms=TWO_PHASE_TIMEOUT_MS if two_phase else self.timeout_ms,
            last_update_ms=now_ms,
        )

    def with_partitions(self, added: frozenset[TopicPartition], now_ms: int, client_version: int) -> "Transaction":
        return replace(
            self,
            state=TxnState.ONGOING,
            partitions=self.partitions | added,
            start_ms=now_ms if self.state.is_idle else self.start_ms,
            last_update_ms=now_ms,
            previous_producer_id=self.producer_id,
            client_transaction_version=client_version,
        )

    def prepared(self, commit: bool, now_ms: int) -> "Transaction":
        """The outcome, decided the old way: the epoch stays."""
        return replace(
            self,
            state=TxnState.PREPARE_COMMIT if commit else TxnState.PREPARE_ABORT,
            previous_producer_id=self.client_producer[0],
            last_update_ms=now_ms,
            client_transaction_version=0,
        )

    def fenced(self, now_ms: int) -> "Transaction":
        """Aborted by the coordinator, the old way: whoever wrote it holds an epoch that is refused from now on."""
        aborted = self.prepared(False, now_ms)
        return replace(
            aborted, producer_epoch=min(self.producer_epoch + 1, EPOCH_MAX), last_producer_epoch=NO_PRODUCER_EPOCH
        )

    def prepared_with_bump(self, commit: bool, now_ms: int, fresh_producer_id: int) -> "Transaction":
        """The outcome, decided as KIP-890 does: its epoch ends with it. `fresh_producer_id` if epochs are exhausted.

        The markers carry the raised epoch, so a late write of this transaction is refused by the partition. When the
        client is on the next pair, that is raised as well: an EndTxn it sent twice must not end the transaction after.
        """
        client_id, client_epoch = self.client_producer
        next_id, next_epoch = fresh_producer_id, NO_PRODUCER_EPOCH
        if self.is_kept:
            next_id, next_epoch = (fresh_producer_id, 0) if self.epoch_exhausted else (client_id, client_epoch + 1)
        return replace(
            self,
            state=TxnState.PREPARE_COMMIT if commit else TxnState.PREPARE_ABORT,
            producer_epoch=min(self.producer_epoch + 1, EPOCH_MAX),
            last_producer_epoch=client_epoch,
            previous_producer_id=client_id,
            next_producer_id=next_id,
            next_producer_epoch=next_epoch,
            start_ms=now_ms if self.state.is_idle else self.start_ms,
            last_update_ms=now_ms,
            client_transaction_version=EPOCH_BUMP_VERSION,
        )

    def completed(self, now_ms: int) -> "Transaction":
        """All markers are written. The pair that waited is now the only one."""
        producer_id, producer_epoch = self.producer_id, self.producer_epoch
        if self.next_producer_id != NO_PRODUCER_ID:
            producer_id, producer_epoch = self.next_producer_id, max(self.next_producer_epoch, 0)
        committed = self.state is TxnState.PREPARE_COMMIT
        return replace(
            self,
            state=TxnState.COMPLETE_COMMIT if committed else TxnState.COMPLETE_ABORT,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            previous_producer_id=self.previous_producer_id if self.is_kept else self.producer_id,
            next_producer_id=NO_PRODUCER_ID,
            next_producer_epoch=NO_PRODUCER_EPOCH,
            partitions=frozenset(),
            last_update_ms=now_ms,
        )
