"""The offsets of a query in its group, committed and read by our own connections.

Not by librdkafka's admin client: when the connection breaks in the middle of a request to a coordinator, librdkafka
(2.16) aborts the process (`rd_kafka_enq_once_del_source_return: Assertion`), and Spark ends the query.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from confluent_kafka import KafkaError, KafkaException

from barnabas.client.common.connection import addresses
from barnabas.client.errors import BarnabasError, translate
from barnabas.link.blocking_driver import BlockingLink, LinkOptions
from barnabas.link.codes import Remedy, is_retriable, name_of, remedy
from barnabas.link.errors import LinkDown, LoginFailed, UnknownApi
from barnabas.link.nodes import Nodes
from barnabas.link.view import GROUP_KEY
from barnabas.pipelines.common.login import credentials, tls
from barnabas.pipelines.source.bounds import Offsets
from barnabas.pipelines.source.group import COMMITTED_BY
from barnabas.wire.apis import OFFSET_COMMIT, OFFSET_FETCH

if TYPE_CHECKING:
    from barnabas.wire.messages import OffsetCommitResponse, OffsetFetchResponse

COMMIT_WITHIN_S = 10.0
RETRY_S = 0.2
_NEWEST = 9  # the last one with topics by name
_NEWEST_OF_ONE_GROUP = 7
_NOBODY = -1  # the generation of whoever commits without joining


class GroupCommits:
    def __init__(self, bootstrap: str, group: str, client_id: str, security: Mapping[str, str]) -> None:
        self._bootstrap, self._group = bootstrap, group
        options = LinkOptions(
            client_id=client_id,
            answer_timeout_s=COMMIT_WITHIN_S,
            tls=tls(security),
            credentials=credentials(security),
        )
        self._nodes = Nodes(addresses(bootstrap), lambda host, port: BlockingLink(host, port, options))

    def close(self) -> None:
        self._nodes.close()

    def commit(self, offsets: Offsets) -> None:
        """BarnabasError where it is refused, or not answered in time."""
        self._patiently(f"commit offsets of group {self._group}", lambda node: self._commit(node, offsets))

    def committed(self) -> Offsets:
        """Nothing for a group that has committed nothing; BarnabasError as above."""
        found: Offsets = {}
        self._patiently(f"look up the offsets of group {self._group}", lambda node: self._fetch(node, found))
        return found

    def _patiently(self, doing: str, ask: Callable[[int], int]) -> None:
        """`ask` is given the coordinator, and gives an error code or 0."""
        deadline = time.monotonic() + COMMIT_WITHIN_S
        while True:
            try:
                code = self._find_coordinator() or ask(self._coordinator())
            except LinkDown as problem:
                self._nodes.view.forget_coordinator(GROUP_KEY, self._group)
                told = f"{doing}: no answer from {self._bootstrap}: {problem}"
            except (LoginFailed, UnknownApi) as problem:
                raise BarnabasError(f"{doing}: {problem}") from None
            else:
                if not code:
                    return
                if not is_retriable(code):
                    raise translate(KafkaException(KafkaError(code)), doing, self._bootstrap)
                if remedy(code) is Remedy.COORDINATOR:
                    self._nodes.view.forget_coordinator(GROUP_KEY, self._group)
                told = f"{doing}: {name_of(code)}"
            if time.monotonic() + RETRY_S > deadline:
                raise BarnabasError(told)
            time.sleep(RETRY_S)

    def _find_coordinator(self) -> int:
        if self._nodes.view.coordinator(GROUP_KEY, self._group) is not None:
            return 0
        return self._nodes.find_coordinators(GROUP_KEY, [self._group]).get(self._group, 0)

    def _coordinator(self) -> int:
        node = self._nodes.view.coordinator(GROUP_KEY, self._group)
        assert node is not None, "a coordinator that was found without an error"
        return node

    def _fetch(self, node: int, found: Offsets) -> int:
        body = {"group_id": self._group, "topics": None, "require_stable": False}
        answer: OffsetFetchResponse = self._nodes.ask(node, OFFSET_FETCH, body, _NEWEST_OF_ONE_GROUP)
        for topic in answer.topics:
            for each in topic.partitions:
                if each.committed_offset >= 0:
                    found[topic.name, each.partition_index] = each.committed_offset
        return answer.error_code

    def _commit(self, node: int, offsets: Offsets) -> int:
        """The first error code of the answer, 0 without one."""
        topics: dict[str, list[dict[str, object]]] = defaultdict(list)
        for (topic, partition), offset in sorted(offsets.items()):
            topics[topic].append(
                {
                    "partition_index": partition,
                    "committed_offset": offset,
                    "committed_leader_epoch": -1,
                    "committed_metadata": COMMITTED_BY,
                }
            )
        body = {
            "group_id": self._group,
            "generation_id_or_member_epoch": _NOBODY,
            "member_id": "",
            "group_instance_id": None,
            "retention_time_ms": -1,
            "topics": [{"name": topic, "partitions": partitions} for topic, partitions in topics.items()],
        }
        answer: OffsetCommitResponse = self._nodes.ask(node, OFFSET_COMMIT, body, _NEWEST)
        codes = (each.error_code for topic in answer.topics for each in topic.partitions)
        return next((code for code in codes if code), 0)
