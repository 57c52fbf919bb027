"""A link's topics: what the source says again in the same bytes is not read again, and nothing is missed by that."""

import asyncio
from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

from barnabas.broker.cluster_links.source import LinkSettings
from barnabas.broker.cluster_links.topics import TopicSync
from barnabas.link.async_nodes import AsyncNodes, AsyncOptions, Unread
from barnabas.model.ids import uuid_text
from barnabas.model.settings import ConfigSource
from barnabas.wire.apis import CREATE_TOPICS, DELETE_TOPICS, INCREMENTAL_ALTER_CONFIGS, METADATA
from barnabas.wire.codec import encode_response, response_of

ID, OTHER = b"i" * 16, b"o" * 16


class Source:
    """Topics by name: id, partitions, settings."""

    def __init__(self) -> None:
        self.topics: dict[str, tuple[bytes, int, dict[str, str]]] = {}
        self.asked: list[int] = []
        self.nodes = AsyncNodes([("nowhere", 1)], AsyncOptions("test"))
        self.nodes.ask_any_unread = self._answer  # type: ignore[method-assign]
        self.reads = 0
        read = self.nodes.read

        async def counted(answer: Unread) -> Any:
            self.reads += 1
            return await read(answer)

        self.nodes.read = counted  # type: ignore[method-assign]

    async def _answer(self, api_key: int, body: Mapping[str, Any], newest: int) -> Unread:
        self.asked.append(api_key)
        told = self._metadata() if api_key == METADATA else self._configs(body)
        return Unread(api_key, newest, encode_response(api_key, newest, told))

    def _metadata(self) -> dict[str, object]:
        return {
            "cluster_id": "east",
            "topics": [
                {
                    "name": name,
                    "topic_id": topic_id,
                    "partitions": [
                        {"partition_index": n, "leader_id": 1, "replica_nodes": [1, 2, 3]} for n in range(count)
                    ],
                }
                for name, (topic_id, count, _) in self.topics.items()
            ],
        }

    def _configs(self, body: Mapping[str, Any]) -> dict[str, object]:
        return {
            "results": [
                {
                    "resource_type": 2,
                    "resource_name": each["resource_name"],
                    "configs": [
                        {"name": name, "value": value, "config_source": int(ConfigSource.TOPIC)}
                        for name, value in self.topics[each["resource_name"]][2].items()
                    ],
                }
                for each in body["resources"]
            ]
        }


class Target:
    """The cluster that follows: what its controller is asked for happens."""

    def __init__(self) -> None:
        self.image: Any = SimpleNamespace(topics={}, brokers={1: SimpleNamespace(eligible=True)})
        self.asked: list[int] = []
        self.factors: list[int] = []

    async def ask(self, api_key: int, version: int, body: Any, timeout_ms: int | None = None) -> Any:
        self.asked.append(api_key)
        topics = dict(self.image.topics)
        answer: dict[str, Any] = {"topics": [], "responses": []}
        if api_key == CREATE_TOPICS:
            for each in body["topics"]:
                configs = {one["name"]: one["value"] for one in each["configs"]}
                self.factors.append(each["replication_factor"])
                topics[each["name"]] = SimpleNamespace(partitions=range(each["num_partitions"]), configs=configs)
            answer.pop("responses")
        elif api_key == DELETE_TOPICS:
            for each in body["topics"]:
                del topics[each["name"]]
            answer.pop("topics")
        elif api_key == INCREMENTAL_ALTER_CONFIGS:
            for each in body["resources"]:
                for one in each["configs"]:
                    topics[each["resource_name"]].configs[one["name"]] = one["value"]
            answer.pop("topics")
        self.image.topics = topics
        return response_of(api_key, answer)


def test_the_same_answers_are_not_read_again_and_what_changes_is() -> None:
    async def story() -> None:
        source, target = Source(), Target()
        source.topics["orders"] = (ID, 2, {"retention.ms": "5"})
        broker: Any = target
        sync = TopicSync("link", LinkSettings({}), source.nodes, broker, target.ask)

        async def rounds(count: int) -> tuple[int, list[int]]:
            """How many answers were read in them, and what was done."""
            before, done = source.reads, len(target.asked)
            for _ in range(count):
                await sync.sync()
            return source.reads - before, target.asked[done:]

        assert await rounds(1) == (2, [CREATE_TOPICS])
        assert await rounds(1) == (2, []), "compared once more: it was changed here"
        assert await rounds(3) == (0, [])
        assert sync.partitions == 2

        source.topics["orders"] = (ID, 2, {"retention.ms": "6"})
        assert await rounds(1) == (2, [INCREMENTAL_ALTER_CONFIGS])
        assert target.image.topics["orders"].configs["retention.ms"] == "6"
        await rounds(1)
        assert await rounds(2) == (0, [])

        target.image.topics = {}  # somebody has removed it here
        assert (await rounds(2))[1] == [CREATE_TOPICS]
        assert await rounds(2) == (0, [])

        source.topics["orders"] = (OTHER, 2, {})  # made anew
        assert (await rounds(2))[1] == [DELETE_TOPICS, CREATE_TOPICS]
        assert target.image.topics["orders"].configs["link.topic.id"] == uuid_text(OTHER)
        await rounds(1)
        del source.topics["orders"]
        assert (await rounds(2))[1] == [DELETE_TOPICS], "missing in two answers, which are the same"

    asyncio.run(story())


def test_a_topic_that_comes_while_a_node_is_down_has_as_many_replicas_as_any() -> None:
    """The controller gives one to a node that is down as well, where those that are up do not suffice."""

    async def story() -> None:
        source, target = Source(), Target()
        target.image.brokers = {number: SimpleNamespace(eligible=number != 2) for number in (1, 2, 3)}
        source.topics["orders"] = (ID, 1, {})
        broker: Any = target
        await TopicSync("link", LinkSettings({}), source.nodes, broker, target.ask).sync()
        target.image.brokers = {1: SimpleNamespace(eligible=True)}
        source.topics["more"] = (ID, 1, {})
        await TopicSync("link", LinkSettings({}), source.nodes, broker, target.ask).sync()
        assert target.factors == [3, 1]

    asyncio.run(story())


def test_a_problem_is_told_for_as_long_as_it_is_there() -> None:
    async def story() -> None:
        source, target = Source(), Target()
        source.topics["orders"] = (ID, 2, {})
        target.image.topics = {"orders": SimpleNamespace(partitions=range(1), configs={})}
        broker: Any = target
        sync = TopicSync("link", LinkSettings({}), source.nodes, broker, target.ask)
        for _ in range(3):
            await sync.sync()
            assert sync.problems == ["topic 'orders' is there already and does not belong to the link"]
        assert source.reads == 2
        target.image.topics = {}
        await sync.sync()
        assert sync.problems == [] and target.asked == [CREATE_TOPICS]

    asyncio.run(story())
