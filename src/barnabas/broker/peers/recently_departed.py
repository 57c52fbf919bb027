"""Brokers that left a moment ago: for a few seconds Metadata still names where they were, though they lead nothing.

librdkafka forgets a broker that an answer does not name, and with it, now and then, the partition that is just moving
from that broker to its new leader; it then finds the leader only when it looks around again, a second or two later.
Apache Kafka, which notices a death after nine seconds, names the dead for that long.

Java's clients are not told: its Admin keeps to the leader that it has looked up for as long as that broker is named.
Kafka Connect reads the ends of its topics by Admin, and a task that is starting fails for good when that takes 3 s.
"""

import asyncio

from barnabas.broker.network.session import Session
from barnabas.core.cluster.image import MetadataImage

NAMED_SECONDS = 5.0
_JAVA = "apache-kafka-java"  # as its clients name themselves in ApiVersions


class RecentlyDeparted:
    def __init__(self) -> None:
        self.ids: frozenset[int] = frozenset()
        self._timers: dict[int, asyncio.TimerHandle] = {}

    def image_changed(self, old: MetadataImage, new: MetadataImage) -> None:
        if old.brokers is new.brokers:
            return
        for broker in old.live_brokers():
            if not new.is_alive(broker.broker_id):
                self._begin(broker.broker_id)

    def named_to(self, client: Session) -> frozenset[int]:
        return frozenset() if client.software_name == _JAVA else self.ids

    def close(self) -> None:
        for broker_id in list(self._timers):
            self._end(broker_id)

    def _begin(self, broker_id: int) -> None:
        if broker_id in self._timers:
            self._timers[broker_id].cancel()
        self._timers[broker_id] = asyncio.get_running_loop().call_later(NAMED_SECONDS, self._end, broker_id)
        self.ids = frozenset(self._timers)

    def _end(self, broker_id: int) -> None:
        self._timers.pop(broker_id).cancel()
        self.ids = frozenset(self._timers)
