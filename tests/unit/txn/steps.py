"""What may happen in a world with transactions, how often, and what clients learn from it."""

from dataclasses import dataclass
from typing import Any

import hypothesis.strategies as st

from barnabas.model.ids import TopicPartition
from tests.unit.txn.model import Instance, Producer

PARTITIONS = [TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)]
TIMEOUT_MS, INTERVAL_MS = 1000, 100

# What may happen next, and how often: most of it is work, so that there is something to break.
STEPS = {
    "a_whole_transaction": 6,
    "the_markers_arrive": 6,
    "add_partitions": 3,
    "end": 3,
    "a_late_reply_arrives": 3,
    "a_marker_arrives": 3,
    "time_passes": 2,
    "the_coordinator_reloads": 2,
    "a_client_starts": 2,
    "a_client_starts_over": 1,
    "add_offsets": 1,
    "a_reply_is_lost": 1,
    "a_marker_is_lost": 1,
    "a_report_comes_again": 1,
    "producer_ids_run_out": 1,
    "epochs_run_out": 1,
}
CHOICES: dict[str, st.SearchStrategy[Any]] = {
    "name": st.sampled_from(["a", "a", "a", "a", "b"]),
    "old": st.booleans(),
    "two_phase": st.booleans(),
    "fresh": st.booleans(),  # what is open is not to be kept
    "committed": st.booleans(),
    "compact": st.booleans(),
    "survives": st.integers(0, 3),
    "which": st.integers(0, 999),  # one of a list whose length is not known beforehand
    "partitions": st.sets(st.sampled_from(PARTITIONS), min_size=1),
    "by_ms": st.sampled_from([150, TIMEOUT_MS, 60_000]),
    "how": st.sampled_from(["answered", "answered", "answered", "late", "not yet safe"]),
}


@dataclass(frozen=True)
class Grant:
    """A producer id and epoch that a client was told, and which client that is."""

    name: str
    producer: Producer
    owner: int


@dataclass(frozen=True)
class Write:
    """A client was told that it may write to these partitions."""

    grant: Grant
    partitions: tuple[TopicPartition, ...]
    instance: Instance


def topics_of(partitions: set[TopicPartition]) -> list[dict[str, Any]]:
    return [{"name": where.topic, "partitions": [where.partition]} for where in sorted(partitions)]


def all_ok(topics: list[dict[str, Any]]) -> bool:
    return all(part["partition_error_code"] == 0 for topic in topics for part in topic["results_by_partition"])
