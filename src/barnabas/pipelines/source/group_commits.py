"""Commits the offsets of a query to its group, by our own connections.

Not by librdkafka's admin client: when the connection breaks in the middle of a request to a coordinator, librdkafka
(2.16) aborts the process (`rd_kafka_enq_once_del_source_return: Assertion`), and Spark ends the query.
"""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Mapping
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
from barnabas.wire.apis import OFFSET_COMMIT

if TYPE_CHECKING:
    from barnabas.wire.messages import OffsetCommitResponse

COMMIT_WITHIN_S = 10.0
RETRY_S = 0.2
_NEWEST = 9  # the last one with topics by name
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
        doing = f"commit offsets of group {self._group}"
        deadline = time.monotonic() + COMMIT_WITHIN_S
        while True:
            try:
                code = self._ask(offsets)
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

    def _ask(self, offsets: Offsets) -> int:
        """The first error code of the answer, 0 without one."""
        node = self._nodes.view.coordinator(GROUP_KEY, self._group)
        if node is None:
            failed = self._nodes.find_coordinators(GROUP_KEY, [self._group])
            if self._group in failed:
                return failed[self._group]
            node = self._nodes.view.coordinator(GROUP_KEY, self._group)
            assert node is not None, "a coordinator that was found without an error"
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
