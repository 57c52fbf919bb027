"""One link on one node: the partitions that it fills and this node leads, and a fetcher for each broker they come from.

Who leads a partition at the source is asked when it is not known, when the broker that was asked says that it does not
lead it, and when that broker is gone. A topic that has another id at the source is another topic: it is not fetched
until it was made anew here (topics.py).
"""

import asyncio
import logging

from barnabas.broker.clock import wall_ms
from barnabas.broker.cluster_links.fetcher import LinkFetcher
from barnabas.broker.cluster_links.linked import UNKNOWN, Linked
from barnabas.broker.cluster_links.source import LinkSettings, source_nodes
from barnabas.broker.partition.partition import HostedPartition
from barnabas.broker.replication.environment import FetcherHost, ReplicaIO
from barnabas.broker.replication.throttle import ByteRate
from barnabas.link.errors import LinkDown, LoginFailed, UnknownApi

log = logging.getLogger(__name__)

_BACKOFF_S, _BACKOFF_MAX_S = 0.05, 5.0
_TOPICS_AT_ONCE = 500


class RunningLink:
    def __init__(self, name: str, settings: LinkSettings, io: ReplicaIO, host: FetcherHost) -> None:
        """KafkaError where the settings cannot be used."""
        self.name, self.settings = name, settings
        self.nodes = source_nodes(name, settings, io.threads)
        self.rate = ByteRate(settings.int("max.bytes.per.second"))
        self.error = ""  # of the source as a whole; empty: it was reached
        self.unreached_ms = UNKNOWN  # since when it was not
        self.linked: dict[HostedPartition, Linked] = {}
        self._io, self._host = io, host
        self._fetchers: dict[int, LinkFetcher] = {}
        self._unplaced: dict[Linked, None] = {}
        self._wanted = asyncio.Event()
        self._looking = asyncio.ensure_future(self._look_for_leaders())

    def add(self, partition: HostedPartition, source_topic_id: bytes) -> None:
        linked = self.linked[partition] = Linked(partition, source_topic_id)
        self._unplaced[linked] = None
        self._wanted.set()

    def remove(self, partition: HostedPartition) -> None:
        linked = self.linked.pop(partition, None)
        if linked is not None:
            self._unplaced.pop(linked, None)
            self._unfollow(linked)

    def close(self) -> None:
        self._looking.cancel()
        for fetcher in self._fetchers.values():
            fetcher.close()
        self.nodes.close()

    # --- for the fetchers ---------------------------------------------------------------------------------------------

    def leader_unknown(self, linked: Linked) -> None:
        topic, index = linked.partition.id
        self.nodes.view.forget_leader(topic, index)
        self._unplaced[linked] = None
        self._wanted.set()

    def look_again(self, broker_id: int) -> None:
        self._unplaced |= dict.fromkeys(each for each in self.linked.values() if each.source_broker == broker_id)
        self._wanted.set()

    def source_failed(self, why: str) -> None:
        if why != self.error:
            log.warning("link %r: %s", self.name, why)
        self.unreached_ms = self.unreached_ms if self.error else wall_ms()
        self.error = why

    def source_reached(self) -> None:
        self.error, self.unreached_ms = "", UNKNOWN

    # --- leaders at the source ----------------------------------------------------------------------------------------

    async def _look_for_leaders(self) -> None:
        backoff = 0.0
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            if backoff:
                await asyncio.sleep(backoff)
            try:
                topics = sorted({linked.partition.id.topic for linked in self._unplaced})
                for at in range(0, len(topics), _TOPICS_AT_ONCE):
                    await self.nodes.look_up(topics[at : at + _TOPICS_AT_ONCE])
                self.source_reached()
            except (LinkDown, LoginFailed, UnknownApi) as error:
                self.source_failed(str(error))
            for linked in list(self._unplaced):
                self._place(linked)
            backoff = min(max(backoff * 2, _BACKOFF_S), _BACKOFF_MAX_S) if self._unplaced else 0.0
            if self._unplaced:
                self._wanted.set()

    def _place(self, linked: Linked) -> None:
        topic, index = linked.partition.id
        view = self.nodes.view
        known, leader = view.topic_id(topic), view.leader(topic, index)
        if leader is None:
            linked.error = linked.error or "the source names no leader"
            if not known:
                linked.error = "there is no such topic at the source"
            return
        if known != linked.source_topic_id:
            linked.error = "the topic was deleted at the source and made anew"
            return
        del self._unplaced[linked]
        if (linked.source_broker, linked.source_epoch) == leader:
            return  # it is fetched from there; what goes wrong there has it looked up again
        self._unfollow(linked)
        linked.source_broker, linked.source_epoch = leader
        fetcher = self._fetchers.get(leader.node_id)
        if fetcher is None:
            fetcher = LinkFetcher(leader.node_id, self.name, self, self._io, self._host)
            self._fetchers[leader.node_id] = fetcher
        fetcher.follow(linked, leader.epoch)

    def _unfollow(self, linked: Linked) -> None:
        if linked.source_broker == UNKNOWN:
            return
        fetcher = self._fetchers.get(linked.source_broker)
        linked.source_broker = UNKNOWN
        if fetcher is not None:
            fetcher.unfollow(linked)
            if not fetcher:
                fetcher.close()
                self._fetchers = {broker: each for broker, each in self._fetchers.items() if each is not fetcher}
