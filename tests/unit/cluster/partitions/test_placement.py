"""Replicas are spread: distinct brokers, as many racks as there can be, leaders in turn."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.core.cluster import BrokerImage
from barnabas.core.cluster.partitions.placement import place
from barnabas.model.errors import ErrorCode, KafkaError


def broker(broker_id: int, rack: str | None = None, fenced: bool = False) -> BrokerImage:
    return BrokerImage(broker_id, bytes(16), 0, (), rack, fenced, False, (), {})


@given(
    racks=st.lists(st.sampled_from([None, "a", "b", "c"]), min_size=1, max_size=9),
    partitions=st.integers(1, 40),
    factor=st.integers(1, 9),
    seed=st.integers(0, 99),
)
def test_any_cluster(racks: list[str | None], partitions: int, factor: int, seed: int) -> None:
    brokers = [broker(i, rack) for i, rack in enumerate(racks)]
    if factor > len(brokers):
        with pytest.raises(KafkaError) as refused:
            place(brokers, partitions, factor, Random(seed))
        assert refused.value.code is ErrorCode.INVALID_REPLICATION_FACTOR
        return
    placed = place(brokers, partitions, factor, Random(seed))
    assert len(placed) == partitions
    leaders = Counter(replicas[0] for replicas in placed)
    assert max(leaders.values()) - min(leaders[b.broker_id] for b in brokers) <= 1
    for replicas in placed:
        assert len(set(replicas)) == factor
        if None not in racks:
            assert len({racks[b] for b in replicas}) == min(factor, len(set(racks)))


def test_a_fenced_broker_is_taken_last_and_never_leads() -> None:
    brokers = [broker(1), broker(2, fenced=True), broker(3)]
    for replicas in place(brokers, 10, 2, Random(0)):
        assert set(replicas) == {1, 3}
    for replicas in place(brokers, 10, 3, Random(0)):
        assert set(replicas) == {1, 2, 3} and replicas[-1] == 2
    with pytest.raises(KafkaError):
        place([broker(1, fenced=True)], 1, 1, Random(0))


def test_pairs_of_brokers_vary_so_that_one_loss_is_shared() -> None:
    placed = place([broker(i) for i in range(5)], 20, 2, Random(0))
    assert len({frozenset(replicas) for replicas in placed}) >= 8
