"""`barnabas audit` against a secured node: what was refused is there, and filters find it."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

from barnabas.cli.audit.events import line
from barnabas.testing import RunningNode
from tests.support.members import until
from tests.unit.cli.typed import Typed

LogIn = Callable[[str], None]


@pytest.fixture
def refused(typed: Typed, log_in: LogIn) -> None:
    """alice has tried to make a topic, and the trail has it."""
    log_in("alice")
    assert typed("topic", "create", "secret").code == 1
    log_in("admin")
    until(lambda: "secret" in typed("audit", "--denied").out, "the refusal is in the trail")


def test_a_refusal_is_found_by_every_filter(typed: Typed, refused: None) -> None:
    for words in (
        ("--denied", "--since", "-10m"),
        ("--user", "alice", "--operation", "create"),
        ("--resource", "topic:sec*", "-n", 5),
    ):
        said = typed("audit", *words)
        assert said.code == 0 and "denied" in said.out and "topic:secret" in said.out, words
    assert typed("audit", "--user", "nobody").out == ""
    assert typed("audit", "--denied", "--since", "2999-01-01T00:00").out == ""
    events = [json.loads(each) for each in typed("audit", "--denied", "--json").out.splitlines()]
    assert {"principal": "User:alice", "resource": "topic:secret", "allowed": False}.items() <= events[-1].items()


def test_the_last_ones_in_the_order_of_time(typed: Typed, refused: None) -> None:
    times = [json.loads(each)["time"] for each in typed("audit", "-n", 3, "--json").out.splitlines()]
    assert len(times) == 3 and times == sorted(times)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--since", "whenever"), "--since: 'whenever' is not a place in a topic"),
        (("--since", "beginning"), "--since 'beginning' is not a time. Write it as -5m"),
        (("--operation", "raed"), "--operation: "),
    ],
)
def test_words_that_make_no_sense(typed: Typed, log_in: LogIn, words: tuple[str, ...], told: str) -> None:
    log_in("admin")
    said = typed("audit", *words)
    assert said.code == 2 and told in said.err and said.err.count("\n") == 1


def test_the_trail_is_not_for_everybody(typed: Typed, log_in: LogIn, refused: None) -> None:
    log_in("bob")
    said = typed("audit")
    assert said.code == 1
    assert "you may not read the audit trail. An admin allows it: barnabas acl add USER read topic:__audit" in said.err


def test_a_cluster_without_a_trail(typed: Typed, barnabas_node: RunningNode) -> None:
    said = typed("audit", "-b", barnabas_node.bootstrap)
    assert said.code == 1 and "this cluster has no audit trail. Start its nodes with --secure" in said.err


def test_an_event_is_one_line_that_drives_no_terminal() -> None:
    told = line(
        {
            "time": "not a time\x1b[2J", "event": "administration", "allowed": True, "error": "INVALID_REQUEST",
            "principal": "User:a\nb", "count": 1200, "api": "CreateTopics", "software": "librdkafka 2",
        }
    )  # fmt: skip
    assert "\x1b" not in told and "\n" not in told
    assert "failed" in told and told.endswith("x1,200, INVALID_REQUEST, CreateTopics by librdkafka 2")
