"""The states of a transactional id, with the bytes and names Kafka gives them, and the moves between them.

    state         InitProducerId (22)  AddPartitions, AddOffsets  EndTxn 0-4        EndTxn 5+ (KIP-890)       time
    ------------  -------------------  -------------------------  ----------------  ------------------------  -----
    Empty         Empty, epoch + 1     Ongoing                    48                commit 48                 forgotten
                                                                                    abort -> PrepareAbort
    Ongoing       PrepareAbort and 51  Ongoing                    PrepareCommit,    PrepareCommit,            abort
                  kept: Ongoing                                   PrepareAbort      PrepareAbort
    PrepareX      51                   51                         51                51                        -
    CompleteX     Empty, epoch + 1     Ongoing                    X again: ok       X again, old epoch: ok    forgotten
                                                                  other: 48         other, old epoch: 48
                                                                                    commit, this epoch: 48
                                                                                    abort -> PrepareAbort

48 is INVALID_TXN_STATE, 51 CONCURRENT_TRANSACTIONS (come again). PrepareX becomes CompleteX when every partition of the
transaction has its marker; a PrepareX without partitions does so in the same step. "Old epoch" is the epoch before the
one this ending gave out: the same EndTxn, sent again. "Kept" is InitProducerId 6 with keep_prepared_txn (KIP-939).
Time: an open transaction past its timeout is aborted, an id that was long unused is forgotten.

Dead and PrepareEpochFence are names Kafka uses between a decision and its record. Here memory moves when the record is
decided on, so no transaction is ever found in them; their numbers are taken, and a filter may ask for them.
"""

from enum import IntEnum


class TxnState(IntEnum):
    EMPTY = 0
    ONGOING = 1
    PREPARE_COMMIT = 2
    PREPARE_ABORT = 3
    COMPLETE_COMMIT = 4
    COMPLETE_ABORT = 5
    DEAD = 6
    PREPARE_EPOCH_FENCE = 7

    @property
    def title(self) -> str:
        """The name as Kafka's answers and tools spell it."""
        return _TITLES[self]

    @property
    def is_prepared(self) -> bool:
        """The outcome is decided and markers are on their way."""
        return self in (TxnState.PREPARE_COMMIT, TxnState.PREPARE_ABORT)

    @property
    def is_idle(self) -> bool:
        """Nothing is open: the id may start a transaction, change its producer, or be forgotten."""
        return self in (TxnState.EMPTY, TxnState.COMPLETE_COMMIT, TxnState.COMPLETE_ABORT)


_TITLES = {state: state.name.title().replace("_", "") for state in TxnState}
BY_TITLE = {title: state for state, title in _TITLES.items()}

_FROM_IDLE = frozenset({TxnState.EMPTY, TxnState.ONGOING, TxnState.PREPARE_ABORT})
MOVES: dict[TxnState, frozenset[TxnState]] = {
    TxnState.EMPTY: _FROM_IDLE,
    TxnState.ONGOING: frozenset({TxnState.ONGOING, TxnState.PREPARE_COMMIT, TxnState.PREPARE_ABORT}),
    TxnState.PREPARE_COMMIT: frozenset({TxnState.COMPLETE_COMMIT}),
    TxnState.PREPARE_ABORT: frozenset({TxnState.COMPLETE_ABORT}),
    TxnState.COMPLETE_COMMIT: _FROM_IDLE,
    TxnState.COMPLETE_ABORT: _FROM_IDLE,
}
