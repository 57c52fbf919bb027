"""Names as MirrorMaker 2 makes and reads them; what is never copied."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.cli.common.failure import USAGE, Failure
from barnabas.cli.mirror.flows import flows_typed
from barnabas.connect.connectors.mirror.flows import load_flows
from barnabas.connect.connectors.mirror.mirrormaker import Checkpoint, heartbeat, offset_sync, read_checkpoint
from barnabas.connect.connectors.mirror.names import Naming, may_copy_group
from barnabas.connect.connectors.mirror.options import Patterns, mirror_options
from barnabas.connect.connectors.mirror.topics import may_copy_setting
from barnabas.connect.errors import BadOption

EAST = Naming("east", "west")
TWO = {"source": {"name": "east", "bootstrap": "a:1"}, "target": {"name": "west", "bootstrap": "b:1"}}


@pytest.mark.parametrize(
    ("topic", "is_copied"),
    [
        ("orders", True),
        ("shop.orders", True),
        ("north.orders", True),
        ("heartbeats", True),
        ("north.heartbeats", True),
        ("west.orders", False),  # it comes from there
        ("north.west.orders", False),  # it has been there
        ("east.orders", False),  # a wrong name: it would become east.east.orders
        ("east.heartbeats", False),
        ("sales.east.orders", True),  # a word in the middle is no origin: nothing is copied into the source from itself
        ("sales.west.orders", False),  # here it cannot be told from one
        ("__consumer_offsets", False),
        ("mm2-offset-syncs.west.internal", False),
        ("north.checkpoints.internal", False),
        ("connect-internal", False),
        ("mirror-west-east.positions", False),
        ("mirror-west-east.dead", False),
        ("to-postgres.dead", True),  # of another connector: as any topic
    ],
)
def test_what_is_copied(topic: str, is_copied: bool) -> None:
    assert EAST.may_copy(topic) == is_copied


def test_names_at_the_target() -> None:
    assert EAST.at_target("orders") == "east.orders"
    assert EAST.at_target("north.orders") == "east.north.orders"
    same = Naming("east", "west", same_names=True)
    assert same.at_target("orders") == "orders"
    assert same.at_target("heartbeats") == "east.heartbeats"
    assert same.may_copy("west.orders")
    assert not same.may_copy("west.heartbeats")
    assert same.carries_origin("orders")
    assert not same.carries_origin("heartbeats")


@pytest.mark.parametrize(
    ("setting", "is_copied"),
    [
        ("retention.ms", True),
        ("cleanup.policy", True),
        ("min.insync.replicas", False),
        ("min.insync.zones", False),  # a target without zones would refuse writes
        ("leader.preferred.racks", False),
        ("link.name", False),
        ("confluent.value.schema.validation", False),  # Apache Kafka refuses a topic with what it does not know
    ],
)
def test_settings(setting: str, is_copied: bool) -> None:
    assert may_copy_setting(setting) == is_copied


def test_groups() -> None:
    assert may_copy_group("billing")
    assert not may_copy_group("console-consumer-17")
    assert not may_copy_group("connect-mirror-east-west")


def test_records_of_mirrormaker() -> None:
    checkpoint = Checkpoint("billing", "east.orders", 3, 17, 21)
    assert checkpoint.key() == b"\0\x07billing\0\x0beast.orders\0\0\0\x03"
    assert checkpoint.value() == b"\0\0" + (17).to_bytes(8) + (21).to_bytes(8) + b"\0\0"
    assert read_checkpoint(checkpoint.key(), checkpoint.value()) == checkpoint
    assert read_checkpoint(b"\x7f\xff", b"") is None
    assert heartbeat("west", "east", 5) == (b"\0\x04west\0\x04east", b"\0\0" + (5).to_bytes(8))
    assert offset_sync("orders", 1, 7, 9) == (b"\0\x06orders\0\0\0\x01", (7).to_bytes(8) + (9).to_bytes(8))


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"target": {"name": "east", "bootstrap": "b:1"}}, "both clusters are called 'east'"),
        ({"target": {"name": "we.st", "bootstrap": "b:1"}}, "cannot name a cluster"),
        ({"target": {"name": "west", "bootstrap": "a:1"}}, "both clusters are at a:1"),
        ({"groups_every_s": 0}, "not between"),
        ({"topcs": [".*"]}, "did you mean 'topics'"),
    ],
)
def test_options_that_cannot_be_right(changed: dict[str, object], said: str) -> None:
    with pytest.raises(BadOption, match=said):
        mirror_options({**TWO, **changed})


def test_patterns_that_cannot_be_right() -> None:
    for each in ("(", "(?=x)", "x" * 2000):
        with pytest.raises(BadOption, match="no regular expression"):
            Patterns("topics", [each])


def test_flows_of_a_file(tmp_path: Path) -> None:
    file = tmp_path / "mirror.yaml"
    file.write_text(
        "clusters: {east: {bootstrap: 'a:1'}, west: {bootstrap: 'b:1'}, north: {bootstrap: 'c:1'}}\n"
        "flows: [east->west, 'west -> north']\ntopics: orders.*\nsame_names: true\n"
    )
    flows = load_flows(file)
    assert [(flow.definition.name, flow.target) for flow in flows] == [
        ("mirror-east-west", "b:1"),
        ("mirror-west-north", "c:1"),
    ]
    assert flows[0].options.topics == ("orders.*",)
    assert flows[0].options.naming.same_names


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "one document"),
        ("clusters: [1]", "'clusters' is missing"),
        ("clusters: {east: {bootstrap: 'a:1'}}", "between 2"),
        ("clusters: {east: {bootstrap: 'a:1'}, west: {bootstrap: 'b:1'}}\nflows: [east->wets]", "Did you mean 'west'"),
        ("clusters: {east: {bootstrap: 'a:1'}, west: {bootstrap: 'b:1'}}\nflows: [east]", "SOURCE->TARGET"),
        ("clusters: {east: {bootstrap: 'a:1'}, west: {bootstrap: 'b:1'}}\nflow: [east]", "Did you mean 'flows'"),
        ("clusters: {east: {bootstrap: 'a:1'}, west: {bootstrap: 'b:1'}}\nengine: flink", "process or spark"),
        ("clusters: {east: {bootstrap: 'a:1'}, west: {bootstrap: 'b:1'}}\ncommit_ms: 0", "commit_ms is 1"),
        ("a: [", "no valid YAML"),
        ("a: &x 1\nb: *x", "aliases"),
    ],
)
def test_files_that_cannot_be_right(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "mirror.yaml"
    file.write_text(text)
    with pytest.raises(BadOption, match=said):
        load_flows(file)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["east=a:1"], "needs two clusters"),
        (["east=a:1", "west"], "not NAME=HOST:PORT"),
        (["east=a:1", "east=b:1"], "two clusters are called"),
    ],
)
def test_words_that_make_no_sense(words: list[str], said: str) -> None:
    with pytest.raises(Failure, match=said):
        flows_typed(words, False, {})


def test_flows_that_are_typed() -> None:
    words = ["a=h:1", "b=h:2", "c=h:3"]
    assert [flow.definition.name for flow in flows_typed(words, False, {})] == ["mirror-a-b", "mirror-a-c"]
    assert len(flows_typed(words, True, {})) == 6


def test_a_bad_expression_is_refused_before_anything_starts() -> None:
    with pytest.raises(Failure, match=r"'ord\(' is no regular expression: a \( is not closed") as refused:
        flows_typed(["east=a:1", "west=b:2"], False, {"topics": ["ord("]})
    assert refused.value.code == USAGE
