"""One librdkafka admin client, and the three ways we ask it: one answer, one of many, all of them.

librdkafka answers with futures, one for each topic, group or partition. Here they are waited for with a bound, and what
they raise is translated, so that nothing above sees a future or a KafkaException.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import time
from collections.abc import Callable, Collection, Mapping
from concurrent.futures import Future
from typing import TypeVar, cast

from confluent_kafka import KafkaException, TopicPartition

from barnabas.client.admin.rdkafka import AdminClient, OffsetSpec, TopicMetadata
from barnabas.client.common.connection import Troubles, ensure_reachable, librdkafka_settings, open_handle
from barnabas.client.common.exit_hooks import ForkedHandle, never_free
from barnabas.client.common.setting_names import check_given
from barnabas.client.errors import BadSetting, Closed, TimedOut, translate

A = TypeVar("A")
K = TypeVar("K")

VISIBLE_WAIT_S = 5.0
GRACE_S = 2.0  # librdkafka keeps the time itself; our own bound only guards against a future that never comes


class AdminConnection:
    def __init__(
        self,
        bootstrap: str,
        timeout: float,
        connect_timeout: float | None,
        config: Mapping[str, object] | None,
        extra: Mapping[str, object],
    ) -> None:
        check_given("admin", config, extra)
        troubles = Troubles()
        self.bootstrap = bootstrap
        self.timeout = timeout
        self.settings = librdkafka_settings(bootstrap, {}, config, extra)
        client: AdminClient = open_handle(AdminClient, {**self.settings, "error_cb": troubles}, "admin")
        if connect_timeout is not None:
            ensure_reachable(client, bootstrap, connect_timeout, troubles, self.settings)
        self._client: AdminClient | None = client

    @property
    def client(self) -> AdminClient:
        if self._client is None:
            raise Closed("this Admin is closed")
        return self._client

    def close(self) -> None:
        self._client = None

    def after_fork(self, forked: ForkedHandle) -> None:
        if self._client is not None:
            never_free(self._client)
            self._client = cast(AdminClient, forked)

    def call(self, ask: Callable[..., Future[A]], doing: str, *arguments: object, **options: object) -> A:
        """For a method of `client` that gives one future."""
        return self._wait(self._ask(ask, doing, arguments, options), doing)

    def call_one(
        self, ask: Callable[..., Mapping[K, Future[A]]], doing: str, *arguments: object, **options: object
    ) -> A:
        """For a method that gives a future for each item, asked about one item."""
        return self._wait(next(iter(self._ask(ask, doing, arguments, options).values())), doing)

    def ask_one(
        self, ask: Callable[..., Mapping[K, Future[A]]], doing: str, *arguments: object, **options: object
    ) -> Callable[[], A]:
        """The same without waiting: what it gives waits."""
        future = next(iter(self._ask(ask, doing, arguments, options).values()))
        return lambda: self._wait(future, doing)

    def call_all(
        self, ask: Callable[..., Mapping[K, Future[A]]], doing: str, *arguments: object, **options: object
    ) -> dict[K, A]:
        """For a method that gives a future for each item; the first that failed is raised."""
        return {key: self._wait(future, doing) for key, future in self._ask(ask, doing, arguments, options).items()}

    def topic_names(self) -> list[str]:
        return sorted(self._topics())

    def partitions(self, topics: Collection[str]) -> set[tuple[str, int]]:
        """Every partition of these topics, as far as they exist."""
        if not topics:
            return set()
        known = self._topics()
        return {(name, index) for name in topics if name in known for index in known[name].partitions}

    def _topics(self) -> Mapping[str, TopicMetadata]:
        try:
            return self.client.list_topics(timeout=self.timeout).topics
        except KafkaException as error:
            raise translate(error, "list topics", self.bootstrap) from None

    def await_topic(self, name: str, at_least: int = 1) -> None:
        """A controller says yes before its brokers know. Who makes a topic or lets it grow wants to use it: wait."""
        deadline = time.monotonic() + VISIBLE_WAIT_S
        while time.monotonic() < deadline:
            with contextlib.suppress(KafkaException):
                partitions = self.client.list_topics(name, timeout=self.timeout).topics[name].partitions
                if len(partitions) >= at_least and all(each.leader >= 0 for each in partitions.values()):
                    return
            time.sleep(0.01)

    def offsets(self, wanted: Mapping[tuple[str, int], OffsetSpec]) -> dict[tuple[str, int], int]:
        """The offset each spec asks for; partitions that cannot answer (no leader, no such) are left out."""
        if not wanted:
            return {}
        request = {TopicPartition(topic, partition): spec for (topic, partition), spec in wanted.items()}
        found = {}
        for key, future in self._ask(self.client.list_offsets, "look up offsets", (request,), {}).items():
            try:
                offset = future.result(self.timeout + GRACE_S).offset
            except (KafkaException, concurrent.futures.TimeoutError):
                continue
            if offset >= -1:  # below stands librdkafka's "not known" after a broken connection
                found[key.topic, key.partition] = offset
        return found

    def all_offsets(self, wanted: Mapping[tuple[str, int], OffsetSpec], doing: str) -> dict[tuple[str, int], int]:
        """The same, or TimedOut. For what deletes or skips records: a partition that does not answer must not pass for
        one whose records are all older."""
        found = self.offsets(wanted)
        if silent := sorted(wanted.keys() - found.keys()):
            raise TimedOut(f"{doing}: partition {silent[0][1]} does not tell its offsets. Nothing was done; try again")
        return found

    def _ask(
        self, ask: Callable[..., A], doing: str, arguments: tuple[object, ...], options: Mapping[str, object]
    ) -> A:
        try:
            return ask(*arguments, request_timeout=self.timeout, **options)
        except KafkaException as error:
            raise translate(error, doing, self.bootstrap) from None
        except (TypeError, ValueError) as error:
            raise BadSetting(f"{doing}: {error}") from None

    def _wait(self, future: Future[A], doing: str) -> A:
        try:
            return future.result(self.timeout + GRACE_S)
        except KafkaException as error:
            raise translate(error, doing, self.bootstrap) from None
        except concurrent.futures.TimeoutError:
            raise TimedOut(f"{doing}: no answer in time (asked {self.bootstrap})") from None
