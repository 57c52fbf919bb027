"""The links of this cluster on this node.

| part        | what it does                                                                    | module     |
|-------------|---------------------------------------------------------------------------------|------------|
| RunningLink | fills the linked partitions that this node leads from their leaders at the source | running.py |
| LinkSync    | keeps topics, settings, groups, rules and users like the source's; on one node a link | sync.py |

A link is a resource with settings (model/settings/link.py), and the topics that belong to it have its name in their own
(core/cluster/links.py): both are in the metadata, so every node knows what to do, whichever leads.

A promoted topic has no link any more. What its producers at the source had not ended is aborted by its leader: no
coordinator here knows those transactions, and nothing after them would ever be stable.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING
from zlib import crc32

from barnabas.broker.clock import wall_ms
from barnabas.broker.controller.requests import AskController
from barnabas.broker.image_bus import ImageChange
from barnabas.broker.partition.partition import HostedPartition
from barnabas.broker.replication.environment import FetcherHost, ReplicaIO
from barnabas.broker.roles import ConfiguredBroker
from barnabas.core.cluster.image import MetadataImage
from barnabas.model.errors import KafkaError
from barnabas.model.ids import parse_uuid
from barnabas.model.settings import ResourceType

if TYPE_CHECKING:
    from barnabas.broker.audit.trail import AuditTrail
    from barnabas.broker.cluster_links.running import RunningLink
    from barnabas.broker.cluster_links.sync import LinkSync

log = logging.getLogger(__name__)

_RETRY_SECONDS = 0.5


class ClusterLinks:
    def __init__(
        self,
        broker: ConfiguredBroker,
        io: ReplicaIO,
        host: FetcherHost,
        ask: AskController,
        audit: AuditTrail | None = None,
    ) -> None:
        self._broker, self._io, self._host, self._ask_controller, self._audit = broker, io, host, ask, audit
        self.running: dict[str, RunningLink] = {}
        self.syncs: dict[str, LinkSync] = {}
        self.unusable: dict[str, str] = {}  # links whose settings cannot be used, and why
        self._link_of: dict[HostedPartition, str] = {}  # of the linked partitions that this node leads
        self._started = False
        self._closed = False

    def start(self) -> None:
        self._started = True
        self._apply(self._broker.image)

    def stop(self) -> None:
        self._closed = True
        for sync in self.syncs.values():
            sync.close()
        for link in self.running.values():
            link.close()
        self.syncs.clear()
        self.running.clear()

    # --- the image ----------------------------------------------------------------------------------------------------

    def image_changed(self, change: ImageChange) -> None:
        if not self._started or self._closed:
            return
        if change.old.configs is not change.new.configs or change.old.brokers is not change.new.brokers:
            self._apply(change.new, change.old)

    def _apply(self, image: MetadataImage, old: MetadataImage | None = None) -> None:
        stored = {name: configs for (kind, name), configs in image.configs.items() if kind == ResourceType.LINK}
        before = {} if old is None else {n: c for (kind, n), c in old.configs.items() if kind == ResourceType.LINK}
        for name in sorted({*before, *self.running, *self.unusable} - stored.keys()):
            self._end(name)
        for name, configs in stored.items():
            if before.get(name) is not configs or name not in (*self.running, *self.unusable):
                self._end(name)
                self._begin(name, configs)
        for name in stored:
            self._check_sync(image, name)

    def _begin(self, name: str, configs: Mapping[str, str]) -> None:
        from barnabas.broker.cluster_links.running import RunningLink  # few clusters have a link
        from barnabas.broker.cluster_links.source import LinkSettings

        settings = LinkSettings(configs)
        try:
            paused = settings.bool("paused")
            link = None if paused else RunningLink(name, settings, self._io, self._host)
        except KafkaError as error:
            log.error("%s", error.message)
            self.unusable[name] = error.message
            return
        if link is None:
            self.unusable[name] = "paused"
            return
        self.running[name] = link
        for partition, owner in self._link_of.items():
            if owner == name:
                self._fill(link, partition)

    def _end(self, name: str) -> None:
        self.unusable.pop(name, None)
        link, sync = self.running.pop(name, None), self.syncs.pop(name, None)
        if sync is not None:
            sync.close()
        if link is not None:
            link.close()

    def _check_sync(self, image: MetadataImage, name: str) -> None:
        wanted = name in self.running and responsible(image, name) == self._broker.node_id
        sync = self.syncs.get(name)
        if wanted and sync is None:
            from barnabas.broker.cluster_links.sync import LinkSync

            link = self.running[name]
            self.syncs[name] = LinkSync(name, link.settings, self._broker, self._io, self._ask_controller, self._audit)
        elif not wanted and sync is not None:
            self.syncs.pop(name).close()

    # --- partitions ---------------------------------------------------------------------------------------------------

    def leadership_changed(self, partition: HostedPartition) -> None:
        """It has another leader or leader epoch, or is deleted. Whatever gives it to a link, or promotes it, begins a
        new leader epoch as well."""
        owner = self._link_of.pop(partition, None)
        if owner is not None and owner in self.running:
            self.running[owner].remove(partition)
        config = partition.config
        if not partition.is_leader or partition.deleted or self._closed:
            return
        if config.link:
            self._link_of[partition] = config.link
            if config.link in self.running:
                self._fill(self.running[config.link], partition)
        elif config.link_epoch:
            self._end_foreign_transactions(partition)

    def _fill(self, link: RunningLink, partition: HostedPartition) -> None:
        topic = self._broker.image.topics.get(partition.id.topic)
        text = "" if topic is None else topic.configs.get("link.topic.id", "")
        try:
            link.add(partition, parse_uuid(text))
        except ValueError:
            log.error("%s: link.topic.id=%r is no id; the link does not fill it", partition.id, text)

    def _end_foreign_transactions(self, partition: HostedPartition) -> None:
        """Of a promoted partition, by whoever leads it: what the source's producers left open is aborted."""
        if partition.deleted or not partition.is_leader or partition.config.link or self._closed:
            return
        try:
            if partition.untouched or self._host.open_soon(
                partition, lambda: self._end_foreign_transactions(partition)
            ):
                return
            opened = partition.open()
            own = opened.log.epochs.first_offset_from(partition.config.link_epoch)
            for marker in opened.producers.aborts_before(opened.log.log_end_offset if own is None else own):
                log.info(
                    "%s: aborts the transaction of producer %d, which the source had open",
                    partition.id,
                    marker.producer_id,
                )
                opened.appends.append_marker(marker, wall_ms())
        except KafkaError as error:
            log.debug("%s: transactions of the source are aborted later: %s", partition.id, error.message)
            asyncio.get_running_loop().call_later(_RETRY_SECONDS, self._end_foreign_transactions, partition)


def responsible(image: MetadataImage, name: str) -> int:
    """The broker that keeps topics and groups like those of the source; -1: none is up."""
    brokers = [broker.broker_id for broker in image.brokers.values() if broker.eligible]
    return min(brokers, key=lambda broker: crc32(f"{name}:{broker}".encode()), default=-1)
