"""Says what `produce` and `consume` wait for when a partition has no leader; ends the wait of a `consume` that ends.

librdkafka waits for a leader in silence. So a command to which nothing has happened for some seconds asks for the
topic's metadata, in a thread of its own, and names on stderr, once, the partitions without a leader and the way out. It
asks again while nothing happens, so that it knows how long they have had none.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Collection
from typing import TYPE_CHECKING

from barnabas.cli.common.failure import Failure, warn

if TYPE_CHECKING:
    from barnabas.client.common.rdkafka import Handle

PATIENCE_S = 2.0  # an ordinary failover is shorter
AGAIN_S = 5.0
_ASK_S = 2.0


class Leaderless:
    def __init__(self, handle: Handle, topic: str, doing: str) -> None:
        """`doing`: what goes on meanwhile, the end of the sentence that is printed."""
        self._handle = handle
        self._topic = topic
        self._doing = doing
        self._since = time.monotonic()
        self._next = 0.0
        self._missing_since: float | None = None
        self._missing = ""  # what was found in the last answer
        self.told = ""  # what was printed

    def progress(self) -> None:
        """Something was delivered or read."""
        self._since = time.monotonic()
        self._missing_since = None

    def look(self, partitions: Collection[int] | None = None) -> None:
        """Called again and again while somebody waits for these partitions (None: any of the topic)."""
        now = time.monotonic()
        if now - self._since >= PATIENCE_S and now >= self._next:
            self._next = now + AGAIN_S
            wanted = None if partitions is None else frozenset(partitions)
            threading.Thread(target=self._ask, args=(wanted,), name="barnabas-leaders", daemon=True).start()

    def give_up(self, after_s: float) -> None:
        """Raises when partitions that were asked about have had no leader for so long."""
        since = self._missing_since
        if since is not None and time.monotonic() - since >= after_s:
            raise Failure(f"gave up after {after_s:.0f} s: {self._missing}")

    def _ask(self, wanted: frozenset[int] | None) -> None:
        from confluent_kafka import KafkaException

        try:
            found = self._handle.list_topics(self._topic, timeout=_ASK_S).topics[self._topic].partitions.values()
        except (KafkaException, RuntimeError):  # out of reach, which librdkafka reports itself; or closed meanwhile
            return
        without = [each for each in found if each.leader < 0 and (wanted is None or each.id in wanted)]
        if not without:
            self._missing_since = None
            return
        self._missing = explain(self._topic, {each.id: list(each.replicas) for each in without})
        if self._missing_since is None:
            self._missing_since = time.monotonic()
        if not self.told:
            self.told = self._missing
            warn(f"{self.told}. {self._doing}")


def explain(topic: str, replicas: dict[int, list[int]]) -> str:
    """Which partitions have no leader, and which nodes could give them one."""
    names = [f"{topic}-{index}" for index in sorted(replicas)]
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    nodes = sorted({node for each in replicas.values() for node in each})
    who = f"node {nodes[0]}" if len(nodes) == 1 else f"one of the nodes {', '.join(map(str, nodes))}"
    way_out = f"start {who} (barnabas cluster status says which are down)" if nodes else "see: barnabas cluster status"
    return f"{shown} {'has' if len(names) == 1 else 'have'} no leader: {way_out}"
