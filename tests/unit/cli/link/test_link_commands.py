"""`barnabas link` over two nodes of this process: followed, paused, promoted, turned round, deleted."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import pytest

from barnabas import Admin, Consumer, Producer
from barnabas.testing import RunningNode, running_node
from tests.support.members import until
from tests.unit.cli.typed import Typed

FAST = {"group.initial.rebalance.delay.ms": 0, "offsets.topic.num.partitions": 1}


class Pair(NamedTuple):
    source: RunningNode
    target: RunningNode


@pytest.fixture(scope="module")
def nodes() -> Iterator[Pair]:
    with running_node(FAST) as source, running_node(FAST) as target:
        yield Pair(source, target)


@pytest.fixture
def pair(nodes: Pair, monkeypatch: pytest.MonkeyPatch) -> Pair:
    """Commands speak to the target."""
    monkeypatch.setenv("BARNABAS_BOOTSTRAP", nodes.target.bootstrap)
    monkeypatch.setattr("barnabas.cli.link.status._SAMPLE_S", 0.05)
    return nodes


def fill(bootstrap: str, topic: str, values: list[str], **configs: str) -> None:
    with Admin(bootstrap) as admin:
        if topic not in {each.name for each in admin.topics()}:
            admin.create_topic(topic, partitions=1, configs={k.replace("_", "."): v for k, v in configs.items()})
    with Producer(bootstrap) as producer:
        for value in values:
            producer.send(topic, value.encode(), key=value.encode())


def followed(typed: Typed, name: str, ends: dict[str, int]) -> None:
    """Until the link has these topics to these ends."""

    def is_so() -> bool:
        said = typed("link", "status", name, "--json")
        found = {each["topic"]: each for each in said.json()["partitions"]}
        there = {topic: found[topic]["end_offset"] for topic in ends if topic in found}
        return there == ends and all(found[topic]["source_end_offset"] == end for topic, end in ends.items())

    until(is_so, f"{name} has {ends}")


def test_the_life_of_a_link(typed: Typed, pair: Pair) -> None:
    source, target = pair.source.bootstrap, pair.target.bootstrap
    assert typed("link", "list").out.startswith("no links. Make one: barnabas link create NAME --from HOST:PORT")
    fill(source, "orders", ["a", "b", "c"])
    assert list(Consumer("orders", bootstrap=source, group="billing", max_records=2))
    said = typed("link", "create", "east", "--from", source, "--topics", "orders", "--groups", "billing")
    assert said.code == 0 and f"east: follows {source}, " in said.out
    assert "How far it is: barnabas link status east\n" in said.out
    followed(typed, "east", {"orders": 3})

    told = typed("link", "status", "east")
    assert told.code == 0 and "behind 0 records" in told.lines() and "done in caught up" in told.lines()
    assert any(line.startswith("orders 0 3 3 0 0 s follows") for line in told.lines())
    assert f"east {source} 1 1 0 0 follows" in typed("link", "list").lines()

    said = typed("link", "create", "east", "--from", source)
    assert said.code == 1 and "there is a link 'east' already. Look at it: barnabas link status east" in said.err
    said = typed("link", "delete", "east")
    assert said.code == 1 and "east fills 1 topics: orders. Promote them first: barnabas link promote east" in said.err
    said = typed("link", "reverse", "east", "--yes")
    assert said.code == 1 and "east still fills 1 topics: orders" in said.err
    said = typed("topic", "grow", "orders", 5)
    assert said.code == 1 and "orders is filled by the link 'east' and can only be read" in said.err

    def is_equal() -> bool:
        said = typed("link", "verify", "east")
        return said.code == 0 and "equal, byte for byte: 1 topic, 1 partition, " in said.out and "1 group" in said.out

    until(is_equal, "the offsets of the group have come")
    result = typed("link", "promote", "east", "--json")
    assert result.json() == {"link": "east", "topics": ["orders"], "missing": []}
    told = typed("link", "status", "east")
    assert "behind nothing: its topics were promoted" in told.lines() and "promoted 1 topic: orders" in told.lines()
    assert f"east {source} 0 0 0 1 promoted" in typed("link", "list").lines()
    for words in (("verify", "east"), ("promote", "east")):
        said = typed("link", *words)
        assert said.code == 1 and "east fills no topic" in said.err

    fill(target, "orders", ["d"])
    result = typed("link", "reverse", "east", "--yes", "--json")
    assert result.json()["topics"] == ["orders"] and result.json()["bootstrap"] == source
    assert typed("link", "list", "--json").json() == []
    until(lambda: typed("link", "verify", "east", "-b", source).code == 0, "the former source has what is here")
    assert typed("link", "promote", "east", "-b", source, "--now", "--yes").code == 0
    assert typed("link", "delete", "east", "-b", source).out == "east: deleted\n"


def test_a_paused_link_brings_nothing_over(typed: Typed, pair: Pair) -> None:
    source = pair.source.bootstrap
    fill(source, "views", ["one"])
    assert typed("link", "create", "slow", "--from", source, "--topics", "views", "--no-groups").code == 0
    followed(typed, "slow", {"views": 1})
    assert typed("link", "pause", "slow").out == "slow: paused. On again: barnabas link resume slow\n"
    fill(source, "views", ["two", "three"])

    def is_told() -> bool:
        return "behind not known while it is paused" in typed("link", "status", "slow").lines()

    until(is_told, "the nodes have heard of the pause")
    assert "done in paused; on again: barnabas link resume slow" in typed("link", "status", "slow").lines()
    said = typed("link", "promote", "slow")
    assert (
        said.code == 1 and "slow is paused: what the source has written since is not here. Let it catch up" in said.err
    )
    assert typed("link", "throttle", "slow", "10MB", "--json").json() == {
        "name": "slow",
        "max.bytes.per.second": "10000000",
    }
    assert typed("link", "throttle", "slow", "0").out == "slow: no limit\n"
    assert typed("link", "resume", "slow").out == "slow: goes on\n"
    followed(typed, "slow", {"views": 3})
    assert typed("link", "login", "slow").out == f"slow: logs in at {source} as nobody in particular\n"
    said = typed("link", "promote", "slow", "--topics", "nothing.*")
    assert said.code == 1 and "slow fills no topic like that. It fills: views" in said.err
    said = typed("link", "promote", "slow", "--now")
    assert said.code == 2 and "Records that are not here yet stay behind. Promote now? Nobody is here" in said.err
    said = typed("link", "promote", "slow", "--now", "--yes")
    assert said.lines()[0] == "slow: 1 topic promoted: views"
    assert typed("link", "delete", "slow", "--json").json() == {"deleted": "slow"}


def test_a_compacted_topic_is_compared_by_its_keys(typed: Typed, pair: Pair) -> None:
    source = pair.source.bootstrap
    fill(source, "prices", ["tea", "salt", "tea"], cleanup_policy="compact")
    assert typed("link", "create", "keys", "--from", source, "--topics", "prices").code == 0
    followed(typed, "keys", {"prices": 3})
    result = typed("link", "verify", "keys", "--json")
    assert result.code == 0 and result.json()["differences"] == [] and result.json()["batches"] >= 1
    assert typed("link", "promote", "keys", "--now", "--yes").code == 0
    assert typed("link", "delete", "keys").code == 0


def test_a_source_that_is_lost_is_told(typed: Typed, pair: Pair) -> None:
    """The target goes on with what it has, and says since when it waits."""
    with running_node(FAST) as lost:
        fill(lost.bootstrap, "lost", ["one"])
        assert typed("link", "create", "away", "--from", lost.bootstrap, "--topics", "lost", "--no-groups").code == 0
        followed(typed, "away", {"lost": 1})

    def is_missed() -> bool:
        said = typed("link", "status", "away")
        return said.code == 1 and "done in not known: the source is not reached" in said.lines()

    until(is_missed, "the source is missed")
    lines = typed("link", "status", "away").lines()
    assert any(line.startswith("behind 0 records when the source was last heard") for line in lines)
    assert any(line.startswith("source not reached since ") for line in lines)
    assert any(line.startswith("problem ") for line in lines)
    assert any("source not reached for" in line for line in lines if line.startswith("lost 0 1"))
    said = typed("link", "promote", "away", "--wait", "200ms")
    assert said.code == 1 and "not promoted: after " in said.err and "(--now)." in said.err
    said = typed("link", "verify", "away")
    assert said.code == 1 and "cannot reach" in said.err
    assert typed("link", "promote", "away", "--now", "--yes").code == 0
    assert typed("link", "delete", "away").code == 0


def test_what_does_not_exist_is_named_with_what_does(typed: Typed, pair: Pair) -> None:
    said = typed("link", "status", "nothing")
    assert said.code == 1 and "there is no link 'nothing'. Make one: barnabas link create NAME" in said.err
    said = typed("link", "create", "self", "--from", pair.target.bootstrap)
    assert said.code == 2 and "is this cluster itself. Name a node of the cluster that it is to follow." in said.err
    assert typed("link", "list", "--json").json() == []
