"""The nodes of a cluster as a writer needs them: who leads a partition, who coordinates a transaction, and patience.

Whatever may pass by itself (a node that restarts, a leader or coordinator that moves) is an `Again`, and `patiently`
comes again until the delivery timeout is over; then it becomes one line for a person. What was looked up is remembered
until something says that it is no longer so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from barnabas.client.common.connection import addresses
from barnabas.model.errors import ErrorCode
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.sink.link import Link, LinkLost, named
from barnabas.pipelines.sink.options import SinkOptions
from barnabas.wire.apis import DESCRIBE_CLUSTER, FIND_COORDINATOR, METADATA

METADATA_NEWEST, FIND_COORDINATOR_NEWEST, DESCRIBE_CLUSTER_NEWEST = 12, 4, 0
TRANSACTION_KEY = 1
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.01, 0.5
MISSING_TOPIC_S = 3.0  # a topic that was made just now is known everywhere after a moment

COME_AGAIN = frozenset(
    {
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.LEADER_NOT_AVAILABLE, ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.REQUEST_TIMED_OUT, ErrorCode.NETWORK_EXCEPTION, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR, ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND, ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.UNKNOWN_LEADER_EPOCH, ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.THROTTLING_QUOTA_EXCEEDED,
    }
)  # fmt: skip

Answer = TypeVar("Answer")


class Again(Exception):
    """Not now; a few words why."""


class Cluster:
    def __init__(self, options: SinkOptions) -> None:
        self.options = options
        self._security = dict(options.security)
        self._links: dict[int, Link] = {}
        self._first: Link | None = None
        self._addresses: dict[int, tuple[str, int]] = {}
        self._leaders: dict[str, list[int]] = {}
        self._coordinators: dict[str, int] = {}

    def close(self) -> None:
        for link in (*self._links.values(), *([self._first] if self._first else [])):
            link.close()
        self._links, self._first = {}, None

    # --- patience ---------------------------------------------------------------------------------------------------

    def patiently(self, doing: str, action: Callable[[], Answer]) -> Answer:
        deadline = time.monotonic() + self.options.delivery_timeout_s
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                return action()
            except (Again, LinkLost) as problem:
                if time.monotonic() + pause_s > deadline:
                    waited = f"{self.options.delivery_timeout_s:.0f} s (kafka.delivery.timeout.ms)"
                    raise PipelineError(f"could not {doing} within {waited}: {problem}") from None
            time.sleep(pause_s)
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)

    # --- nodes ------------------------------------------------------------------------------------------------------

    def any(self) -> Link:
        """A node to ask about the cluster: one we speak to already, else one of the bootstrap addresses."""
        if self._first is None:
            reasons = []
            for host, port in addresses(self.options.bootstrap):
                try:
                    self._first = self._connect(host, port)
                    break
                except LinkLost as problem:
                    reasons.append(str(problem))
            else:
                raise LinkLost("; ".join(dict.fromkeys(reasons)))
        return self._first

    def ask_any(self, api_key: int, body: Mapping[str, Any], newest: int) -> Any:
        try:
            return self.any().ask(api_key, body, newest)
        except LinkLost:
            if self._first is not None:
                self._first.close()
                self._first = None
            raise

    def link(self, node_id: int) -> Link:
        found = self._links.get(node_id)
        if found is None:
            if node_id not in self._addresses:
                self._look_up([])
            if node_id not in self._addresses:
                raise Again(f"node {node_id} is not there")
            found = self._links[node_id] = self._connect(*self._addresses[node_id])
        return found

    def drop(self, node_id: int) -> None:
        """The connection broke, or what it said is not to be trusted."""
        link = self._links.pop(node_id, None)
        if link is not None:
            link.close()

    def node_ids(self) -> list[int]:
        """Those that are up. Metadata would name who has just died for some seconds more."""
        answer = self.ask_any(DESCRIBE_CLUSTER, {}, DESCRIBE_CLUSTER_NEWEST)
        self._addresses = {each.broker_id: (each.host, each.port) for each in answer.brokers}
        return sorted(self._addresses)

    def _connect(self, host: str, port: int) -> Link:
        return Link(host, port, self._security, self.options.request_timeout_s)

    # --- partitions -------------------------------------------------------------------------------------------------

    def partition_count(self, topic: str) -> int:
        if topic not in self._leaders:
            self._find_topic(topic)
        return len(self._leaders[topic])

    def leader(self, topic: str, partition: int) -> int:
        """Raises Again when nobody leads it at the moment."""
        if topic not in self._leaders:
            self._look_up([topic])
        leaders = self._leaders.get(topic, [])
        if partition >= len(leaders) or leaders[partition] < 0:
            self._leaders.pop(topic, None)
            raise Again(f"nobody leads {topic}-{partition}")
        return leaders[partition]

    def topic_exists(self, topic: str) -> bool:
        """Asks, unless it is known; makes none."""
        if topic in self._leaders:
            return True
        return self._look_up([topic], make=False) != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def forget_topic(self, topic: str) -> None:
        self._leaders.pop(topic, None)

    def _find_topic(self, topic: str) -> None:
        started = time.monotonic()

        def find() -> None:
            problem = self._look_up([topic])
            if problem == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and time.monotonic() - started > MISSING_TOPIC_S:
                raise PipelineError(f"there is no topic {topic} at {self.options.bootstrap}")
            if problem and problem not in COME_AGAIN:
                raise PipelineError(f"topic {topic}: {named(problem)}")
            if problem or topic not in self._leaders:
                raise Again(f"topic {topic}: {named(problem)}")

        self.patiently(f"find topic {topic}", find)

    def _look_up(self, topics: Iterable[str], *, make: bool = True) -> int:
        """Refreshes nodes and these topics; the last error code of a topic."""
        wanted = [{"name": name} for name in topics]
        answer = self.ask_any(METADATA, {"topics": wanted, "allow_auto_topic_creation": make}, METADATA_NEWEST)
        self._addresses = {each.node_id: (each.host, each.port) for each in answer.brokers}
        problem = 0
        for topic in answer.topics:
            if topic.error_code:
                problem = topic.error_code
                self._leaders.pop(topic.name, None)
                continue
            leaders = {each.partition_index: each.leader_id for each in topic.partitions}
            self._leaders[topic.name] = [leaders.get(index, -1) for index in range(max(leaders) + 1)]
        return problem

    # --- coordinators -----------------------------------------------------------------------------------------------

    def coordinators(self, transactional_ids: Iterable[str]) -> dict[str, int]:
        """The node that decides about each id."""
        ids = list(transactional_ids)
        unknown = [each for each in ids if each not in self._coordinators]
        if unknown:
            body = {"key_type": TRANSACTION_KEY, "coordinator_keys": unknown}
            answer = self.ask_any(FIND_COORDINATOR, body, FIND_COORDINATOR_NEWEST)
            for found in answer.coordinators:
                if found.error_code:
                    if found.error_code in COME_AGAIN:
                        raise Again(f"the coordinator of {found.key}: {named(found.error_code)}")
                    raise PipelineError(f"no coordinator for {found.key}: {named(found.error_code)}")
                self._coordinators[found.key] = found.node_id
                self._addresses.setdefault(found.node_id, (found.host, found.port))
        return {each: self._coordinators[each] for each in ids}

    def forget_coordinator(self, transactional_id: str) -> None:
        self._coordinators.pop(transactional_id, None)

    def ask_node(self, node_id: int, api_key: int, body: Mapping[str, Any], newest: int) -> Any:
        try:
            return self.link(node_id).ask(api_key, body, newest)
        except LinkLost:
            self.drop(node_id)
            raise
