"""The topics of a link: made here as they are at the source, grown, configured, deleted and made anew with them.

What the source says of many topics is long, and seldom new: a round whose answers have the same bytes as those of the
last one, in which nothing was to be done, is over when they have come, unless topics have changed here.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.cluster_links.source import LinkSettings
from barnabas.broker.controller.requests import AskController
from barnabas.broker.roles import ConfiguredBroker
from barnabas.core.cluster.image import TopicImage
from barnabas.core.cluster.links import CLUSTER_ID, LINK_EPOCH, LINK_NAME
from barnabas.core.cluster.name_patterns import NamePatterns
from barnabas.link.async_nodes import AsyncNodes, Unread
from barnabas.link.codes import name_of
from barnabas.model.ids import INTERNAL_TOPICS, uuid_text
from barnabas.model.linked_topics import epoch_block_above
from barnabas.model.settings import TOPIC_SETTINGS, ConfigSource, ResourceType
from barnabas.wire.apis import (
    CREATE_PARTITIONS,
    CREATE_TOPICS,
    DELETE_TOPICS,
    DESCRIBE_CONFIGS,
    INCREMENTAL_ALTER_CONFIGS,
)

if TYPE_CHECKING:
    from barnabas.wire.messages import (
        CreatePartitionsResponse,
        CreateTopicsResponse,
        DeleteTopicsResponse,
        DescribeConfigsResponse,
        IncrementalAlterConfigsResponse,
        MetadataResponse,
        MetadataResponseTopic,
    )

_AT_ONCE = 100
_TIMEOUT_MS = 30_000
_DESCRIBE_CONFIGS = 4  # the newest version that is used
_PROBLEMS_SHOWN = 5
_MISSING_ROUNDS = 2  # a topic is deleted when the source did not name it so often: one answer may be a moment old
_SET, _DELETE = 0, 1
TOPIC_ID = "link.topic.id"
# Of this cluster's own replicas and zones, or of the link itself: never the source's.
_OWN = (
    "link.",
    "leader.replication.throttled",
    "follower.replication.throttled",
    "leader.preferred.racks",
    "min.insync.zones",
)


class TopicSync:
    def __init__(
        self, name: str, settings: LinkSettings, nodes: AsyncNodes, broker: ConfiguredBroker, ask: AskController
    ) -> None:
        self._name, self._settings = name, settings
        self._nodes, self._broker, self._ask = nodes, broker, ask
        self._patterns = NamePatterns.of(settings.list("topics"), "topics")
        self._missing: dict[str, int] = {}
        self._compared: _Compared | None = None
        self._is_busy = False  # there was something to do in this round
        self.problems: list[str] = []
        self.partitions = 0  # how many the source has of the link's topics

    async def sync(self) -> None:
        here, metadata = self._broker.image.topics, await self._nodes.look_up_unread()
        if await self._is_as_compared(here, metadata):
            return
        self._compared, self._is_busy = None, False
        self.problems = []
        answer = await self._nodes.learn(metadata)
        there = {topic.name: topic for topic in answer.topics if topic.name and self._is_wanted(topic)}
        self.partitions = sum(len(topic.partitions) for topic in there.values())
        await self._delete(there, answer)
        configs: list[tuple[dict[str, object], bytes]] = []
        for at in range(0, len(there), _AT_ONCE):
            some = list(there.values())[at : at + _AT_ONCE]
            body = _configs_body(some)
            unread = await self._nodes.ask_any_unread(DESCRIBE_CONFIGS, body, _DESCRIBE_CONFIGS)
            configs.append((body, unread.digest))
            await self._update(some, _configs_of(await self._nodes.read(unread)), answer.cluster_id or "")
        if not self._is_busy:
            self._compared = _Compared(here, metadata.digest, configs)

    async def _is_as_compared(self, here: Mapping[str, TopicImage], metadata: Unread) -> bool:
        known = self._compared
        if known is None or known.here is not here or known.metadata != metadata.digest:
            return False
        for body, digest in known.configs:
            if (await self._nodes.ask_any_unread(DESCRIBE_CONFIGS, body, _DESCRIBE_CONFIGS)).digest != digest:
                return False
        return True

    def _is_wanted(self, topic: "MetadataResponseTopic") -> bool:
        name = topic.name or ""
        own = topic.is_internal or name in INTERNAL_TOPICS or name.startswith("__")
        return not own and not topic.error_code and self._patterns.match(name)

    def _is_ours(self, topic: TopicImage | None) -> bool:
        return topic is not None and topic.configs.get(LINK_NAME) == self._name

    def _problem(self, text: str) -> None:
        if len(self.problems) < _PROBLEMS_SHOWN:
            self.problems.append(text)

    # --- new and changed topics ---------------------------------------------------------------------------------------

    async def _update(
        self, topics: Sequence["MetadataResponseTopic"], configs: Mapping[str, dict[str, str]], cluster_id: str
    ) -> None:
        new, grown, changes = [], [], []
        for topic in topics:
            name = topic.name or ""
            here, wanted = self._broker.image.topics.get(name), configs.get(name)
            if here is None:
                new.append(self._new_topic(topic, wanted or {}, cluster_id))
            elif self._is_ours(here):
                if len(topic.partitions) > len(here.partitions):
                    grown.append({"name": name, "count": len(topic.partitions), "assignments": None})
                if wanted is not None and (change := _config_changes(here, wanted)):
                    changes.append({"resource_type": int(ResourceType.TOPIC), "resource_name": name, "configs": change})
            elif here.configs.get(CLUSTER_ID) != cluster_id:  # else it was promoted: it is an ordinary topic now
                self._problem(f"topic {name!r} is there already and does not belong to the link")
        await self._carry_out(new, grown, changes)

    async def _carry_out(self, new: Sequence[object], grown: Sequence[object], changes: Sequence[object]) -> None:
        self._is_busy = self._is_busy or bool(new or grown or changes)
        if new:
            body = {"topics": new, "timeout_ms": _TIMEOUT_MS, "validate_only": False}
            made: CreateTopicsResponse = await self._ask(CREATE_TOPICS, 7, body)
            for topic in made.topics:
                self._check(f"topic {topic.name!r} was not made", topic.error_code, topic.error_message)
        if grown:
            body = {"topics": grown, "timeout_ms": _TIMEOUT_MS, "validate_only": False}
            more: CreatePartitionsResponse = await self._ask(CREATE_PARTITIONS, 3, body)
            for result in more.results:
                self._check(f"topic {result.name!r} did not grow", result.error_code, result.error_message)
        if changes:
            body = {"resources": changes, "validate_only": False}
            done: IncrementalAlterConfigsResponse = await self._ask(INCREMENTAL_ALTER_CONFIGS, 1, body)
            for each in done.responses:
                self._check(f"settings of {each.resource_name!r}", each.error_code, each.error_message)

    def _check(self, what: str, code: int, message: str | None) -> None:
        if code:
            self._problem(f"{what}: {message or name_of(code)}")

    def _new_topic(self, topic: "MetadataResponseTopic", configs: dict[str, str], cluster_id: str) -> object:
        brokers = len(self._broker.image.brokers)  # one that is down now takes its replica when it is back
        factor = min(max((len(each.replica_nodes) for each in topic.partitions), default=1), brokers)
        newest = max((each.leader_epoch for each in topic.partitions), default=0)
        own = {
            LINK_NAME: self._name,
            LINK_EPOCH: str(epoch_block_above(max(newest, 0))),
            TOPIC_ID: uuid_text(topic.topic_id),
            CLUSTER_ID: cluster_id,
        }
        return {
            "name": topic.name,
            "num_partitions": len(topic.partitions),
            "replication_factor": factor,
            "assignments": [],
            "configs": [{"name": name, "value": value} for name, value in (configs | own).items()],
        }

    # --- deleted topics -----------------------------------------------------------------------------------------------

    async def _delete(self, there: Mapping[str, "MetadataResponseTopic"], answer: "MetadataResponse") -> None:
        """Those that are gone at the source, or were made anew there: the next round makes them here."""
        named = {topic.name for topic in answer.topics}
        gone: list[str] = []
        for name, here in self._broker.image.topics.items():
            if not self._is_ours(here):
                continue
            topic = there.get(name)
            if topic is not None and uuid_text(topic.topic_id) != here.configs.get(TOPIC_ID):
                gone.append(name)
            elif name not in named:
                self._is_busy = True
                self._missing[name] = self._missing.get(name, 0) + 1
                if self._missing[name] >= _MISSING_ROUNDS:
                    gone.append(name)
            else:
                self._missing.pop(name, None)
        if not gone:
            return
        self._is_busy = True
        if not self._settings.bool("sync.deletes"):
            self._problem(f"deleted at the source and kept here (sync.deletes=false): {', '.join(gone[:5])}")
            return
        body = {"topics": [{"name": name, "topic_id": bytes(16)} for name in gone], "timeout_ms": _TIMEOUT_MS}
        done: DeleteTopicsResponse = await self._ask(DELETE_TOPICS, 6, body)
        for result in done.responses:
            self._check(f"topic {result.name!r} was not deleted", result.error_code, result.error_message)
            self._missing.pop(result.name or "", None)


class _Compared(NamedTuple):
    """What was found in a round in which there was nothing to do."""

    here: Mapping[str, TopicImage]
    metadata: bytes  # digests of answers
    configs: list[tuple[dict[str, object], bytes]]  # what was asked for, and the answer to it


def _configs_body(topics: Sequence["MetadataResponseTopic"]) -> dict[str, object]:
    resources = [
        {"resource_type": int(ResourceType.TOPIC), "resource_name": topic.name, "configuration_keys": None}
        for topic in topics
    ]
    return {"resources": resources, "include_synonyms": False, "include_documentation": False}


def _configs_of(answer: "DescribeConfigsResponse") -> dict[str, dict[str, str]]:
    """What was set for each; without a topic that the source does not describe."""
    return {
        result.resource_name: {
            config.name: config.value
            for config in result.configs
            if config.config_source == ConfigSource.TOPIC
            and config.value is not None
            and config.name in TOPIC_SETTINGS
            and not config.name.startswith(_OWN)
        }
        for result in answer.results
        if not result.error_code
    }


def _config_changes(here: TopicImage, wanted: Mapping[str, str]) -> list[dict[str, object]]:
    own = {name: value for name, value in here.configs.items() if not name.startswith(_OWN)}
    changed: list[dict[str, object]] = [
        {"name": name, "config_operation": _SET, "value": value}
        for name, value in wanted.items()
        if own.get(name) != value
    ]
    return changed + [{"name": name, "config_operation": _DELETE, "value": None} for name in own if name not in wanted]
