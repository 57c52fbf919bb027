"""Promoted topics are ordinary ones; then the former source follows, without what only it had."""

from __future__ import annotations

import subprocess
import sys

from confluent_kafka import Producer

from tests.linked_clusters.conftest import Pair
from tests.linked_clusters.pair import (
    barnabas,
    caught_up,
    commit,
    committed,
    create,
    equal,
    in_json,
    link,
    produce,
    read,
)
from tests.support.members import QUIET, until


def test_a_planned_promotion_loses_nothing(pair: Pair) -> None:
    source, target = pair.source.bootstrap, pair.target.bootstrap
    create(source, "orders", 2)
    sent = produce(source, "orders", [f"v{n}" for n in range(500)])
    commit(source, "billing", "orders", {0: 11, 1: 13})
    link(target, source)
    result = in_json("link", "promote", "east", "-b", target)
    assert result == {"link": "east", "topics": ["orders"], "missing": []}
    here = read(target, "orders", 2)
    assert sorted(value for values in here.values() for value in values) == sorted(value for _, _, value in sent)
    assert committed(target, "billing", "orders", 2) == {0: 11, 1: 13}

    status = in_json("link", "status", "east", "-b", target)
    assert (status["partitions"], status["promoted"], status["errors"]) == ([], ["orders"], [])
    assert in_json("link", "list", "-b", target)[0]["promoted"] == ["orders"]
    told = barnabas("link", "status", "east", "-b", target)
    assert "1 topic: orders" in told and "its topics were promoted" in told

    after = produce(target, "orders", ["written here"])
    assert after[0][1] == len(here[after[0][0]])
    barnabas("link", "delete", "east", "-b", target)
    assert in_json("link", "list", "-b", target) == []


def test_an_open_transaction_of_the_source_is_aborted(pair: Pair) -> None:
    """No coordinator here knows it, and nothing behind it would ever be read by read_committed."""
    source, target = pair.source.bootstrap, pair.target.bootstrap
    create(source, "orders")
    produce(source, "orders", ["before"])
    producer = Producer({**QUIET, "bootstrap.servers": source, "transactional.id": "hangs"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce("orders", "never committed")
    producer.flush(30)
    link(target, source)
    caught_up(target, ["orders"], {("orders", 0): 2})
    barnabas("link", "promote", "east", "--now", "--yes", "-b", target)
    produce(target, "orders", ["after"])
    until(lambda: read(target, "orders")[0] == ["before", "after"], "it is aborted here")
    assert "never committed" in read(target, "orders", isolation="read_uncommitted")[0]
    producer.commit_transaction(30)  # at the source, which is another cluster now
    assert read(source, "orders")[0] == ["before", "never committed"]


def test_producers_of_both_clusters_have_other_ids(pair: Pair) -> None:
    """An idempotent producer of the target never has the id, and so the sequences, of one whose records came over."""
    source, target = pair.source.bootstrap, pair.target.bootstrap
    create(source, "orders")
    idempotent = {"enable.idempotence": True}
    produce(source, "orders", ["a", "b", "c"], **idempotent)
    link(target, source)
    caught_up(target, ["orders"], {("orders", 0): 3})
    barnabas("link", "promote", "east", "-b", target)
    produce(target, "orders", ["d", "e"], **idempotent)
    assert read(target, "orders") == {0: ["a", "b", "c", "d", "e"]}


def test_the_direction_is_turned_and_turned_again(pair: Pair) -> None:
    source, target = pair.source.bootstrap, pair.target.bootstrap
    create(source, "orders")
    produce(source, "orders", ["both-1", "both-2"])
    link(target, source)
    caught_up(target, ["orders"], {("orders", 0): 2})
    barnabas("link", "promote", "east", "--now", "--yes", "-b", target)
    produce(source, "orders", ["only at the source 1", "only at the source 2", "only at the source 3"])
    pair.source.kill()  # a new leader epoch there, with records of its own
    pair.source.start()
    produce(source, "orders", ["only at the source 4"])
    produce(target, "orders", ["here-1"])
    commit(target, "billing", "orders", {0: 3})
    commit(source, "only there", "orders", {0: 5})  # what it read is cut off

    result = in_json("link", "reverse", "east", "--yes", "-b", target)
    assert result["topics"] == ["orders"]
    assert result["groups_set_back"] == ["only there"]
    assert committed(source, "only there", "orders") == {0: 2}
    until(lambda: read(source, "orders")[0] == ["both-1", "both-2", "here-1"], "the former source has what is here", 60)
    equal(source)
    until(lambda: committed(source, "billing", "orders") == {0: 3}, "the group's offset follows")
    (cut,) = (pair.source.data / "link-cut").rglob("*.log")
    dump = subprocess.run(
        [sys.executable, "-m", "barnabas.cli.main", "log", "dump", str(cut), "--records"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert all(f"only at the source {n}" in dump.stdout for n in range(1, 5)), dump.stdout + dump.stderr

    # And back again.
    produce(target, "orders", ["here-2"])
    caught_up(source, ["orders"], {("orders", 0): 4})
    barnabas("link", "promote", "east", "-b", source)
    produce(source, "orders", ["home-1"])
    in_json("link", "reverse", "east", "--yes", "-b", source)
    until(lambda: read(target, "orders")[0][-1] == "home-1", "the target follows again", 60)
    equal(target)
