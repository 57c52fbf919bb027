"""The bytes of `__transaction_state`: as Apache Kafka 4.3.1 wrote them, and what is refused."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.core.groups.records.primitives import RecordError
from barnabas.core.txn import Transaction, TxnState
from barnabas.core.txn.records import decode_key, decode_value, encode_key, encode_value, value_version
from barnabas.model.ids import TopicPartition

NO_PARTITIONS: frozenset[TopicPartition] = frozenset()
T0 = frozenset({TopicPartition("t", 0)})

# Taken from the log of a real broker. Where a transaction has several partitions, Kafka's order is that of its hash
# tables, so only transactions with one or none can be equal to the byte.
RECORDED = [
    (
        "000100000000000000000000000003e80000000001a1e19d61afffffffffffffffff0100080000000000000000",
        Transaction("x", 0, 0, 1000, TxnState.EMPTY, NO_PARTITIONS, 1794786550191, -1, 0),
    ),
    (
        "0001000000000000000100020000ea6001020274020000000000000001a1e19d6399000001a1e19d6399020008000000000000000102020002",
        Transaction("x", 1, 2, 60000, TxnState.ONGOING, T0, 1794786550681, 1794786550681, 1, -1, -1, 2),
    ),
    (
        "0001000000000000000100030000ea6003020274020000000000000001a1e19d639f000001a1e19d6399020008000000000000000102020002",
        Transaction("x", 1, 3, 60000, TxnState.PREPARE_ABORT, T0, 1794786550687, 1794786550681, 1, -1, -1, 2),
    ),
    (
        "0001000000000000000300010000ea600401000001a1e19d6501000001a1e19d64e0020008000000000000000302020002",
        Transaction(
            "x", 3, 1, 60000, TxnState.COMPLETE_COMMIT, NO_PARTITIONS, 1794786551041, 1794786551008, 3, -1, -1, 2
        ),
    ),
    (
        "0001000000000000000400000000ea600501000001a1e19d67d7000001a1e19d67d10100080000000000000004",
        Transaction("x", 4, 0, 60000, TxnState.COMPLETE_ABORT, NO_PARTITIONS, 1794786551767, 1794786551761, 4),
    ),
]


@pytest.mark.parametrize(("recorded", "transaction"), RECORDED)
def test_values_are_those_of_apache_kafka(recorded: str, transaction: Transaction) -> None:
    assert decode_value("x", bytes.fromhex(recorded)) == transaction
    assert encode_value(transaction, 1).hex() == recorded


def test_partitions_in_the_order_of_kafkas_hash_tables_are_read_all_the_same() -> None:
    recorded = bytes.fromhex(
        "0001000000000000000300000000ea600103027403000000010000000000135f5f636f6e73756d65725f6f666673657473020000000300"
        "000001a1e19d64e7000001a1e19d64e00100080000000000000003"
    )
    expected = {("t", 0), ("t", 1), ("__consumer_offsets", 3)}
    assert decode_value("x", recorded).partitions == expected


def test_keys_are_those_of_apache_kafka() -> None:
    assert encode_key("probe").hex() == "0000000570726f6265"
    assert decode_key(encode_key("prüfung")) == "prüfung"


_IDS = st.integers(-1, 2**63 - 1)
_EPOCHS = st.integers(-1, 2**15 - 1)
_PARTITIONS = st.frozensets(
    st.builds(TopicPartition, st.text("abc", min_size=1, max_size=3), st.integers(0, 9)), max_size=5
)
_STATES = st.sampled_from([state for state in TxnState if state not in (TxnState.DEAD, TxnState.PREPARE_EPOCH_FENCE)])


@given(
    _IDS, _EPOCHS, _STATES, _PARTITIONS, st.integers(-1, 2**40), _IDS, _IDS, _EPOCHS, st.sampled_from([0, 2])
)  # fmt: skip
def test_a_value_comes_back_as_it_went(
    producer_id: int,
    epoch: int,
    state: TxnState,
    partitions: frozenset[TopicPartition],
    start_ms: int,
    previous_id: int,
    next_id: int,
    next_epoch: int,
    client_version: int,
) -> None:
    if state is TxnState.EMPTY:
        partitions = frozenset()
    transaction = Transaction(
        "x", producer_id, epoch, 7, state, partitions, 99, start_ms, previous_id, next_id, next_epoch, client_version
    )
    assert decode_value("x", encode_value(transaction, 1)) == transaction
    plain = Transaction("x", producer_id, epoch, 7, state, partitions, 99, start_ms)
    assert decode_value("x", encode_value(plain, 0)) == plain


def test_version_0_is_written_only_where_nothing_is_lost() -> None:
    old = Transaction("x", 1, 0, 7)
    ended = old.prepared_with_bump(False, 9, -1)
    assert [value_version(old, level) for level in (0, 1, 2)] == [0, 1, 1]
    assert value_version(ended, 0) == 1


@given(st.binary(max_size=80))
def test_bytes_that_are_no_record_are_refused_and_nothing_else(data: bytes) -> None:
    for read in (decode_key, lambda value: decode_value("x", value)):
        with contextlib.suppress(RecordError):
            read(data)


@pytest.mark.parametrize("recorded", [recorded for recorded, _ in RECORDED])
def test_a_value_that_is_cut_is_refused(recorded: str) -> None:
    whole = bytes.fromhex(recorded)
    for size in range(len(whole)):
        with pytest.raises(RecordError):
            decode_value("x", whole[:size])


@pytest.mark.parametrize("state", [TxnState.DEAD, TxnState.PREPARE_EPOCH_FENCE, 9])
def test_a_state_that_is_never_written_is_refused(state: int) -> None:
    value = bytearray(bytes.fromhex(RECORDED[0][0]))
    value[16] = state
    with pytest.raises(RecordError):
        decode_value("x", bytes(value))
