"""The nodes of a cluster as a writer needs them: who leads a partition, who coordinates a transaction, and patience.

Connections and what is known of the cluster are link/'s. Whatever may pass by itself (a node that restarts, a leader or
coordinator that moves) is an `Again` or a LinkDown, and `patiently` comes again until the delivery timeout is over;
then it becomes one line for a person. What was looked up is remembered until something says that it is no longer so.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeVar

from barnabas.client.common.connection import addresses
from barnabas.link.blocking_driver import BlockingLink, LinkOptions
from barnabas.link.codes import is_retriable, name_of
from barnabas.link.errors import LinkDown, LoginFailed, NotKafka, UnknownApi
from barnabas.link.login_settings import UnusableLogin, is_by_token, token_credentials
from barnabas.link.nodes import Nodes
from barnabas.link.view import TRANSACTION_KEY
from barnabas.model.errors import ErrorCode
from barnabas.pipelines.common.login import credentials, tls
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.sink.options import SinkOptions
from barnabas.wire.codec import Decoded

CONNECT_TIMEOUT_S = 5.0
FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.01, 0.5
MISSING_TOPIC_S = 3.0  # a topic that was made just now is known everywhere after a moment

Answer = TypeVar("Answer")


class Again(Exception):
    """Not now; a few words why."""


class NoTopic(Again):
    """The cluster does not know the topic, or not yet."""


class Cluster:
    def __init__(self, options: SinkOptions) -> None:
        self.options = options
        security = dict(options.security)
        self._link_options = LinkOptions(
            client_id=options.client_id,
            connect_timeout_s=min(CONNECT_TIMEOUT_S, options.request_timeout_s),
            answer_timeout_s=options.request_timeout_s,
            tls=tls(security),
            credentials=None if is_by_token(security) else credentials(security),
        )
        self._token_settings = security if is_by_token(security) else None
        self._nodes = Nodes(addresses(options.bootstrap), self._connect)

    def close(self) -> None:
        self._nodes.close()

    def _connect(self, host: str, port: int) -> BlockingLink:
        options = self._link_options
        try:
            if self._token_settings is not None:  # a new one for each connection: they last for minutes
                options = replace(options, credentials=token_credentials(self._token_settings))
            return BlockingLink(host, port, options)
        except NotKafka as problem:
            raise PipelineError(
                f"what answers at {host}:{port} does not speak Kafka's protocol: {problem.reason}"
            ) from None
        except LoginFailed as problem:
            raise PipelineError(str(problem)) from None
        except UnusableLogin as problem:
            raise PipelineError(f"kafka.{problem}") from None

    # --- patience ---------------------------------------------------------------------------------------------------

    def patiently(self, doing: str, action: Callable[[], Answer]) -> Answer:
        deadline = time.monotonic() + self.options.delivery_timeout_s
        pause_s = FIRST_PAUSE_S
        while True:
            try:
                return action()
            except UnknownApi as problem:
                raise PipelineError(f"could not {doing}: {problem}: it is too old for this sink") from None
            except (Again, LinkDown) as problem:
                if time.monotonic() + pause_s > deadline:
                    raise PipelineError(f"could not {doing} within {self.options.patience}: {problem}") from None
            time.sleep(pause_s)
            pause_s = min(pause_s * 2, LONGEST_PAUSE_S)

    # --- nodes ------------------------------------------------------------------------------------------------------

    def ask_any(self, api_key: int, body: Mapping[str, object], newest: int) -> Decoded:
        return self._nodes.ask_any(api_key, body, newest)

    def ask_node(self, node_id: int, api_key: int, body: Mapping[str, object], newest: int) -> Decoded:
        return self._nodes.ask(node_id, api_key, body, newest)

    def link(self, node_id: int) -> BlockingLink:
        return self._nodes.link(node_id)

    def drop(self, node_id: int) -> None:
        """The connection broke, or what it said is not to be trusted."""
        self._nodes.drop(node_id)

    def node_ids(self) -> list[int]:
        """Those that are up."""
        return self._nodes.node_ids()

    # --- partitions -------------------------------------------------------------------------------------------------

    def partition_count(self, topic: str) -> int:
        if not self._nodes.view.knows_topic(topic):
            self._find_topic(topic)
        return self._nodes.view.partition_count(topic)

    def leader(self, topic: str, partition: int, *, create: bool = True) -> int:
        """Raises Again when nobody leads it at the moment. `create`: a topic that is missing may be made by asking,
        where the cluster does that; whoever only reads has no reason to."""
        if not self._nodes.view.knows_topic(topic):
            problem = self._look_up(topic, create=create)
            if problem == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                raise NoTopic(f"topic {topic}: {name_of(problem)}")
        found = self._nodes.view.leader(topic, partition)
        if found is None:
            self.forget_topic(topic)
            raise Again(f"nobody leads {topic}-{partition}")
        return found.node_id

    def topic_exists(self, topic: str) -> bool:
        """Asks, unless it is known; makes none."""
        if self._nodes.view.knows_topic(topic):
            return True
        return self._look_up(topic, create=False) != ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def forget_topic(self, topic: str) -> None:
        self._nodes.view.forget_topic(topic)

    def _find_topic(self, topic: str) -> None:
        started = time.monotonic()

        def find() -> None:
            problem = self._look_up(topic)
            if problem == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION and time.monotonic() - started > MISSING_TOPIC_S:
                raise PipelineError(f"there is no topic {topic} at {self.options.bootstrap}")
            if problem and not is_retriable(problem):
                raise PipelineError(f"topic {topic}: {name_of(problem)}")
            if problem or not self._nodes.view.knows_topic(topic):
                raise Again(f"topic {topic}: {name_of(problem)}")

        self.patiently(f"find topic {topic}", find)

    def _look_up(self, topic: str, *, create: bool = True) -> int:
        """Refreshes the nodes and this topic; gives the topic's error code."""
        try:
            answer = self._nodes.look_up([topic], create=create)
        except UnknownApi as problem:
            raise PipelineError(f"{problem}: it is too old for this sink") from None
        return next((each.error_code for each in answer.topics if each.name == topic), ErrorCode.NONE)

    # --- coordinators -----------------------------------------------------------------------------------------------

    def coordinators(self, transactional_ids: Iterable[str]) -> dict[str, int]:
        """The node that decides about each id."""
        known = {each: self._nodes.view.coordinator(TRANSACTION_KEY, each) for each in transactional_ids}
        unknown = [each for each, node_id in known.items() if node_id is None]
        if unknown:
            for key, code in self._nodes.find_coordinators(TRANSACTION_KEY, unknown).items():
                if is_retriable(code):
                    raise Again(f"the coordinator of {key}: {name_of(code)}")
                raise PipelineError(f"no coordinator for {key}: {name_of(code)}")
        found = {each: self._nodes.view.coordinator(TRANSACTION_KEY, each) for each in known}
        missing = [each for each, node_id in found.items() if node_id is None]
        if missing:
            raise Again(f"nobody was said to be the coordinator of {missing[0]}")
        return {each: node_id for each, node_id in found.items() if node_id is not None}

    def forget_coordinator(self, transactional_id: str) -> None:
        self._nodes.view.forget_coordinator(TRANSACTION_KEY, transactional_id)
