"""A link between two nodes: topics, records, settings and groups appear and follow; clients may only read."""

from __future__ import annotations

import re
import urllib.request
from functools import cache
from pathlib import Path

import pytest
from confluent_kafka import KafkaException, Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions
from confluent_kafka.admin import ResourceType as Resource

from tests.linked_clusters.conftest import FAST, Pair
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
    status,
)
from tests.support.members import QUIET, until
from tests.support.process import free_port
from tests.support.servers import BarnabasNode


@cache
def _admin(bootstrap: str) -> AdminClient:
    """Kept: an answer that is awaited is lost with its client."""
    return AdminClient({**QUIET, "bootstrap.servers": bootstrap})


def _set(bootstrap: str, topic: str, name: str, value: str) -> None:
    entry = ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(Resource.TOPIC, topic, incremental_configs=[entry])
    _admin(bootstrap).incremental_alter_configs([resource])[resource].result(20)


def _setting(bootstrap: str, topic: str, name: str) -> str | None:
    resource = ConfigResource(Resource.TOPIC, topic)
    value = _admin(bootstrap).describe_configs([resource])[resource].result(20)[name].value
    return None if value is None else str(value)


def _transactions(bootstrap: str, topic: str) -> None:
    """Two committed, one aborted between them."""
    producer = Producer({**QUIET, "bootstrap.servers": bootstrap, "transactional.id": "copies"})
    producer.init_transactions(30)
    for number, ending in enumerate(("commit", "abort", "commit")):
        producer.begin_transaction()
        for each in range(3):
            producer.produce(topic, f"{ending}-{number}-{each}", partition=0)
        producer.flush(30)
        producer.commit_transaction(30) if ending == "commit" else producer.abort_transaction(30)


def test_records_settings_and_groups_follow(pair: Pair) -> None:
    source, target = pair.source.bootstrap, pair.target.bootstrap
    create(source, "orders", 3, retention_ms="86400000")
    create(source, "elsewhere")
    for codec in ("none", "lz4", "zstd"):
        produce(source, "orders", [f"{codec}-{n}" for n in range(300)], **{"compression.type": codec})
    _transactions(source, "orders")
    create(source, "ord-table", cleanup_policy="compact")
    produce(source, "ord-table", [f"row {n}" for n in range(20)])
    commit(source, "billing", "orders", {0: 7, 1: 3})

    link(target, source, "--topics", "ord.*")
    until(lambda: status(target)["lag_records"] == 0 and len(status(target)["partitions"]) == 4, "it has caught up")
    until(lambda: committed(target, "billing", "orders", 3) == {0: 7, 1: 3}, "the group has its offsets")

    result = equal(target)
    assert result["partitions"] == 4 and result["batches"] > 7 and result["groups"] == 1
    for isolation in ("read_committed", "read_uncommitted"):
        assert read(target, "orders", 3, isolation) == read(source, "orders", 3, isolation)
    assert not any("abort" in value for value in read(target, "orders", 3)[0])
    assert _setting(target, "orders", "retention.ms") == "86400000"
    assert "elsewhere" not in _admin(target).list_topics(timeout=20).topics
    commit(target, "billing", "orders", {0: 8})
    wrong = in_json("link", "verify", "east", "-b", target, code=1)
    assert wrong["differences"] == ["group billing: orders-0 is at 8 here and at 7 at the source"]

    # What changes later follows too.
    _set(source, "orders", "retention.ms", "90000000")
    _admin(source).create_partitions([NewPartitions("orders", 5)])["orders"].result(20)
    create(source, "ordinary", 2)
    more = produce(source, "ordinary", [f"late-{n}" for n in range(50)])
    commit(source, "billing", "orders", {0: 9, 2: 1})
    until(lambda: _setting(target, "orders", "retention.ms") == "90000000", "the setting follows")
    caught_up(target, ["orders", "ordinary"], {("ordinary", 0): sum(p == 0 for p, _, _ in more)})
    until(lambda: len(_admin(target).list_topics("orders", timeout=20).topics["orders"].partitions) == 5, "it grew")
    until(lambda: committed(target, "billing", "orders", 3) == {0: 9, 1: 3, 2: 1}, "the offsets follow")
    equal(target)


def test_clients_may_only_read(pair: Pair, tmp_path: Path) -> None:
    source, target = pair.source.bootstrap, pair.target.bootstrap
    create(source, "orders")
    produce(source, "orders", ["one", "two"])
    link(target, source)
    caught_up(target, ["orders"], {("orders", 0): 2})

    with pytest.raises(KafkaException) as refused:
        produce(target, "orders", ["three"])
    assert refused.value.args[0].name() == "POLICY_VIOLATION"
    producer = Producer({**QUIET, "bootstrap.servers": target, "transactional.id": "t"})
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce("orders", "four")
    with pytest.raises(KafkaException):
        producer.commit_transaction(20)
    with pytest.raises(KafkaException, match="link"):
        _admin(target).create_partitions([NewPartitions("orders", 4)])["orders"].result(20)
    with pytest.raises(KafkaException):
        _admin(target).delete_topics(["orders"])["orders"].result(20)
    assert read(target, "orders") == {0: ["one", "two"]}

    # The command line names the link, and the way out.
    way_out = (
        f"orders is filled by the link 'east' and can only be read. .* link promote east --topics orders -b {target}"
    )
    line = tmp_path / "line.txt"
    line.write_text("five\n")
    for words in (
        ["produce", "orders", str(line)],
        ["topic", "delete", "orders", "--yes"],
        ["topic", "grow", "orders", "9"],
        ["topic", "delete-records", "orders", "--before", "end", "--yes"],
    ):
        told = barnabas(*words, "-b", target, code=1)
        assert re.search(way_out, told) and told.count("\n") == 1, told
    barnabas("link", "promote", "east", "--topics", "orders", "-b", target)
    barnabas("produce", "orders", str(line), "-b", target)
    assert read(target, "orders") == {0: ["one", "two", "five"]}


def test_what_is_deleted_at_the_source(pair: Pair) -> None:
    """Records: the log begins where the source's begins. A topic: it is deleted, and made anew with the new one."""
    source, target = pair.source.bootstrap, pair.target.bootstrap
    create(source, "orders")
    produce(source, "orders", [f"old-{n}" for n in range(10)])
    link(target, source)
    caught_up(target, ["orders"], {("orders", 0): 10})
    barnabas("topic", "delete-records", "orders", "--before", "4", "--partition", "0", "-b", source, "--yes")
    until(lambda: read(target, "orders")[0] == [f"old-{n}" for n in range(4, 10)], "the log begins at 4")

    _admin(source).delete_topics(["orders"])["orders"].result(20)
    until(lambda: "orders" not in _admin(target).list_topics(timeout=20).topics, "deleted here", 60)
    create(source, "orders")
    produce(source, "orders", ["new"])
    caught_up(target, ["orders"], {("orders", 0): 1})
    assert read(target, "orders") == {0: ["new"]}


def test_pause_resume_and_errors(pair: Pair) -> None:
    source, target = pair.source.bootstrap, pair.target.bootstrap
    create(source, "orders")
    link(target, source)
    caught_up(target, ["orders"], {("orders", 0): 0})
    barnabas("link", "pause", "east", "-b", target)
    produce(source, "orders", ["one"])
    assert read(target, "orders") == {0: []}
    assert in_json("link", "list", "-b", target)[0]["errors"] == ["paused"]
    barnabas("link", "resume", "east", "-b", target)
    caught_up(target, ["orders"], {("orders", 0): 1})

    assert "there is a link 'east' already" in barnabas(
        "link", "create", "east", "--from", source, "-b", target, code=1
    )
    assert "this cluster itself" in barnabas("link", "create", "self", "--from", target, "-b", target, code=2)
    assert "there is no link 'west'" in barnabas("link", "status", "west", "-b", target, code=1)
    assert "Promote them first" in barnabas("link", "delete", "east", "-b", target, code=1)
    said = barnabas("link", "create", "bad", "--from", source, "--topics", "(", "-b", target, code=2)
    assert "'(' is no regular expression: a ( is not closed" in said

    pair.source.kill()
    until(lambda: status(target)["unreached_since_ms"] > 0, "the source is gone, and status says so")
    told = barnabas("link", "status", "east", "-b", target, code=1)
    assert "not reached since 20" in told and "source not reached for " in told, told
    assert not re.search(r"^orders .*follows", told, re.MULTILINE), told
    pair.source.start()
    produce(source, "orders", ["two"])
    caught_up(target, ["orders"], {("orders", 0): 2})
    assert status(target)["unreached_since_ms"] == -1
    equal(target)


def test_a_source_without_room_for_fetch_sessions(tmp_path: Path) -> None:
    """Every fetch names all partitions then, as those of a client without sessions."""
    pair = Pair(tmp_path, max_incremental_fetch_session_cache_slots="0")
    try:
        pair.start()
        source, target = pair.source.bootstrap, pair.target.bootstrap
        create(source, "orders", 3)
        link(target, source)
        caught_up(target, ["orders"], {("orders", index): 0 for index in range(3)})
        for number in range(3):
            sent = produce(source, "orders", [f"{number}-{n}" for n in range(40)])
        ends = {("orders", index): max(offset for p, offset, _ in sent if p == index) + 1 for index in range(3)}
        caught_up(target, ["orders"], ends)
        equal(target)
    finally:
        pair.stop()


def test_a_paused_link_does_not_claim_to_be_whole(pair: Pair) -> None:
    source, target = pair.source.bootstrap, pair.target.bootstrap
    create(source, "orders")
    create(target, "other")  # which the link leaves alone
    create(source, "other")
    produce(source, "orders", ["a"])
    link(target, source)
    caught_up(target, ["orders"], {("orders", 0): 1})
    barnabas("link", "pause", "east", "-b", target)
    produce(source, "orders", ["b"])
    said = barnabas("link", "status", "east", "-b", target, code=1)
    assert "not known while it is paused" in said and "caught up" not in said
    assert "is paused" in barnabas("link", "promote", "east", "-b", target, code=1)
    said = barnabas("link", "verify", "east", "-b", target, code=1)
    assert "1 record of the source, from 1 on, did not come" in said
    barnabas("link", "resume", "east", "-b", target)
    caught_up(target, ["orders"], {("orders", 0): 2})
    pair.source.kill()
    until(lambda: bool(status(target)["errors"]), "the source is missed")
    said = barnabas("link", "promote", "east", "-b", target, code=1)
    assert "--now" in said
    pair.source.start()
    barnabas("link", "promote", "east", "-b", target)  # the topic that was left alone does not hold it up
    assert "nothing to compare" in barnabas("link", "verify", "east", "-b", target, code=1)


def test_metrics_tell_how_far_a_link_is(tmp_path: Path) -> None:
    port = free_port()
    pair = Pair(tmp_path)
    pair.target = BarnabasNode(tmp_path / "metered", FAST | {"metrics.listeners": f"http://127.0.0.1:{port}"})
    pair.start()
    try:
        source, target = pair.source.bootstrap, pair.target.bootstrap
        create(source, "orders", 2)
        produce(source, "orders", [f"n{number}" for number in range(50)])
        link(target, source)
        until(lambda: _metric(port, "lag_records") == 0 and _metric(port, "partitions") == 2, "it has caught up")
        assert _metric(port, "up") == 1
        assert (_metric(port, "bytes_in_total") or 0) > 50
        pair.source.stop()
        until(lambda: _metric(port, "up") == 0, "the source is gone")
        barnabas("link", "pause", "east", "-b", target)
        until(lambda: _metric(port, "partitions") is None, "a paused link fills nothing")
        assert _metric(port, "up") == 0
    finally:
        pair.stop()


def _metric(port: int, name: str) -> float | None:
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=10) as answer:
        lines = answer.read().decode().splitlines()
    head = f'barnabas_link_{name}{{link="east"}} '
    return next((float(line.removeprefix(head)) for line in lines if line.startswith(head)), None)
