"""What `barnabas link` asks of clusters (cli/link), as requests of a simulated client."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from barnabas.model.errors import ErrorCode
from barnabas.model.ids import uuid_text
from barnabas.model.linked_topics import epoch_block_above
from barnabas.sim.client import Client, NoAnswer
from barnabas.sim.history import Partition
from barnabas.sim.linked.pair import LINK
from barnabas.sim.world import World
from barnabas.wire.apis import DESCRIBE_CONFIGS, DESCRIBE_LINKS, INCREMENTAL_ALTER_CONFIGS, METADATA

if TYPE_CHECKING:
    from barnabas.wire.messages import (
        DescribeConfigsResponse,
        DescribeLinksResponse,
        IncrementalAlterConfigsResponse,
        MetadataResponse,
        MetadataResponseTopic,
    )

_TOPIC, _LINK = 2, 64
_SET, _DELETE = 0, 1
_DONE = (ErrorCode.NONE, ErrorCode.POLICY_VIOLATION)  # the second: it belongs to the link already

Settings = Mapping[str, str | None]


class Progress(NamedTuple):
    """As all nodes of a cluster tell it."""

    source_ends: dict[Partition, int]
    ends: dict[Partition, int]
    synced_ms: int
    wrong: bool

    @property
    def behind(self) -> bool:
        return any(end > self.ends[partition] or end < 0 for partition, end in self.source_ends.items())


def addresses(world: World) -> str:
    return ",".join(f"{computer.host}:9092" for computer in world.computers)


async def alter(client: Client, kind: int, changes: Mapping[str, Settings]) -> int:
    """The first error code."""
    resources = [
        {
            "resource_type": kind,
            "resource_name": name,
            "configs": [
                {"name": key, "config_operation": _DELETE if value is None else _SET, "value": value}
                for key, value in settings.items()
            ],
        }
        for name, settings in changes.items()
    ]
    body = {"resources": resources, "validate_only": False}
    answer: IncrementalAlterConfigsResponse = await client.ask(INCREMENTAL_ALTER_CONFIGS, 1, body)
    return next((done.error_code for done in answer.responses if done.error_code), 0)


async def create(client: Client, source: World, **settings: str) -> None:
    await _insist(client, _LINK, {LINK: {"bootstrap.servers": addresses(source), **settings}})


async def _insist(client: Client, kind: int, changes: Mapping[str, Settings]) -> None:
    if (code := await alter(client, kind, changes)) not in _DONE:
        client.try_another()
        raise NoAnswer(f"{ErrorCode(code).name} for {sorted(changes)}")


async def progress(client: Client) -> Progress:
    source_ends: dict[Partition, int] = {}
    ends: dict[Partition, int] = {}
    synced_ms, wrong = -1, False
    for computer in client.world.computers:
        answer: DescribeLinksResponse = await client.ask(DESCRIBE_LINKS, 0, {"names": [LINK]}, to=computer.number)
        for link in answer.links:
            wrong = wrong or bool(link.error_message or link.sync_error_message)
            synced_ms = max(synced_ms, link.synced_ms)
            for part in link.partitions:
                partition = (part.topic, part.partition_index)
                source_ends[partition], ends[partition] = part.source_end_offset, part.end_offset
                wrong = wrong or bool(part.error_message)
    return Progress(source_ends, ends, synced_ms, wrong)


async def topics_of(client: Client) -> dict[str, "MetadataResponseTopic"]:
    """All but the internal ones."""
    answer: MetadataResponse = await client.ask(METADATA, 12, {"topics": None, "allow_auto_topic_creation": False})
    return {t.name: t for t in answer.topics if t.name and not t.error_code and not t.is_internal}


async def _settings(client: Client, topics: list[str]) -> dict[str, dict[str, str | None]]:
    asked = [{"resource_type": _TOPIC, "resource_name": topic, "configuration_keys": None} for topic in topics]
    body = {"resources": asked, "include_synonyms": False, "include_documentation": False}
    answer: DescribeConfigsResponse = await client.ask(DESCRIBE_CONFIGS, 4, body)
    return {
        found.resource_name: {config.name: config.value for config in found.configs}
        for found in answer.results
        if not found.error_code
    }


async def filled(client: Client) -> list[str]:
    """The topics that the link fills."""
    settings = await _settings(client, list(await topics_of(client)))
    return sorted(topic for topic, found in settings.items() if found.get("link.name") == LINK)


async def promote(client: Client, topics: list[str]) -> None:
    await _insist(client, _TOPIC, {topic: {"link.name": None} for topic in topics})


async def reverse(here: Client, former: Client, topics: list[str]) -> None:
    """`here` was promoted; the `former` source follows it."""
    own, there = await topics_of(here), await topics_of(former)
    settings: dict[str, Settings] = {}
    for topic in topics:
        epochs = [part.leader_epoch for each in (own[topic], there[topic]) for part in each.partitions]
        settings[topic] = {
            "link.name": LINK,
            "link.topic.id": uuid_text(own[topic].topic_id),
            "link.cluster.id": "target",
            "link.leader.epoch": str(epoch_block_above(max(epochs))),
        }
    definition = {"bootstrap.servers": addresses(here.world), "topics": ",".join(topics)}
    await _insist(former, _LINK, {LINK: definition})
    await _insist(former, _TOPIC, settings)


async def pause(client: Client) -> None:
    await _insist(client, _LINK, {LINK: {"paused": "true"}})


async def delete(client: Client) -> None:
    await _insist(client, _LINK, {LINK: {"bootstrap.servers": None, "topics": None}})
