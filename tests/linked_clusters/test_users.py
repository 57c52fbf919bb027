"""Users follow a link: the same password counts at the target, a changed one follows, and no key is said anywhere."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException
from confluent_kafka.admin import AdminClient

from barnabas.cli.common.cluster import Cluster
from barnabas.cli.link import links
from tests.linked_clusters.conftest import Pair
from tests.linked_clusters.pair import barnabas, caught_up, create, link, produce
from tests.linked_clusters.pair import status as plain_status
from tests.linked_clusters.secured import log_in_with, make_linker, secured_pair, status
from tests.security.test_one_word import Secured
from tests.security.test_secrets import Said, kept_keys
from tests.support.java import DUMP_LOG, JavaTools
from tests.support.members import QUIET, until

LINKER, FIRST, SECOND = "password-of-the-link", "first-password-of-alice", "second-password-of-alice"


@pytest.fixture
def secured(tmp_path: Path) -> Iterator[tuple[Secured, Secured]]:
    """The target has three nodes: the one that follows users is seldom the controller."""
    with secured_pair(tmp_path, "--nodes", "3", debug=True) as made:
        yield made


def _login(cluster: Secured, password: str) -> dict[str, object]:
    return {
        **QUIET,
        "bootstrap.servers": cluster.bootstrap,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "alice",
        "sasl.password": password,
        "ssl.ca.location": str(cluster.folder / "ca.pem"),
    }


def _logs_in(cluster: Secured, password: str) -> bool:
    try:
        return bool(AdminClient(_login(cluster, password)).list_topics(timeout=5).brokers)  # type: ignore[arg-type]
    except KafkaException:
        return False


def _read(cluster: Secured, password: str, count: int) -> list[str]:
    group: dict[str, object] = {"group.id": "alices", "auto.offset.reset": "earliest"}
    consumer = Consumer(_login(cluster, password) | group)
    consumer.subscribe(["orders"])
    found: list[str] = []
    while len(found) < count:
        message = consumer.poll(60)
        assert message is not None and message.error() is None, message
        found.append((message.value() or b"").decode())
    consumer.close()
    return found


def _audited(cluster: Secured, api: str) -> list[dict[str, str]]:
    events = (json.loads(line) for line in cluster.ok("audit", "--json").splitlines())
    return [each for each in events if each.get("api") == api]


def _ready_source(source: Secured) -> None:
    source.ok("topic", "create", "orders")
    source.ok("produce", "orders", stdin="one\ntwo\n")
    make_linker(source, LINKER)
    source.ok("user", "create", "alice", "--password-file", "-", stdin=FIRST)
    source.ok("acl", "add", "alice", "read,describe", "topic:orders")
    source.ok("acl", "add", "alice", "read,describe", "group:alices")


def test_users_follow_by_choice(secured: tuple[Secured, Secured], tmp_path: Path, java: JavaTools) -> None:
    source, target = secured
    _ready_source(source)
    wish = ("link", "create", "east", "--from", source.bootstrap, "--topics", "orders", "--users", "--acls")

    # What can be known at once is said at once, and nothing is made.
    log_in_with(source, target, LINKER, "SASL_PLAINTEXT")
    refused = target.run(*wish)
    assert refused.returncode == 2 and "keys of users need TLS" in refused.stderr, refused
    log_in_with(source, target, LINKER)
    refused = target.run(*wish)
    assert refused.returncode == 1 and "acl add linker cluster-action cluster" in refused.stderr, refused
    assert json.loads(target.ok("link", "list", "--json")) == []

    source.ok("acl", "add", "linker", "cluster-action", "cluster")
    target.ok(*wish)
    until(lambda: status(target)["users"] == 2, "alice and the link's user are here", 60)
    found = status(target)
    assert found["own_users"] == ["admin"] and found["errors"] == []
    told = target.ok("link", "status", "east")
    assert "2 users came over" in told and "admin" in told
    until(lambda: _logs_in(target, FIRST), "alice logs in here with her password")
    assert _read(target, FIRST, 2) == ["one", "two"]
    assert target.ok("user", "list").count("alice") >= 1

    source.ok("user", "password", "alice", "--password-file", "-", stdin=SECOND)
    until(lambda: _logs_in(target, SECOND), "the new password counts here", 60)
    assert not _logs_in(target, FIRST)

    # What is deleted at the source stays; without the right the link says so, and goes on.
    source.ok("user", "delete", "alice", "--yes")
    source.ok("acl", "remove", "linker", "cluster-action", "cluster", "--yes")
    until(lambda: any("CLUSTER_ACTION" in each for each in status(target)["errors"]), "the missing right is told", 60)
    source.ok("produce", "orders", stdin="three\n")
    until(lambda: [p["end_offset"] for p in status(target)["partitions"]] == [3], "records still come")
    assert _logs_in(target, SECOND)

    assert {each["resource"] for each in _audited(target, "AlterLinkedUsers")} == {"user:alice", "user:linker"}
    asked = _audited(source, "DescribeScramKeys")
    assert any("alice" in each.get("detail", "") and each["principal"] == "User:linker" for each in asked)
    assert any(not each["allowed"] for each in asked)
    _nothing_secret_was_said(source, target, tmp_path)
    metadata = ",".join(str(each) for each in (target.data / "node-1" / "__cluster_metadata-0").glob("*.log"))
    dumped = java.run(DUMP_LOG, "--cluster-metadata-decoder", "--files", metadata).out
    assert '"name":"alice"' in dumped, "Kafka's own tool passes over where a user came from"


def _nothing_secret_was_said(source: Secured, target: Secured, folder: Path) -> None:
    said = Said()
    secrets: dict[str, bytes | str] = {"the link's": LINKER, "alice's": FIRST, "alice's second": SECOND}
    for side, data in ((source, source.data), (target, target.data / "node-1")):
        dump = ("log", "dump", str(data / "__cluster_metadata-0"), "--records", "--json")
        found = kept_keys(barnabas(*dump, "--show-secrets"))
        assert len([name for name in found if "alice" in name]) == 6, found.keys()
        secrets |= found
        said.add("log dump", barnabas(*dump))
        for line in ("user list", "audit --json"):
            said.add(line, side.ok(*line.split()))
    for line in ("link status east", "link status east --json", "link list --json"):
        done = target.run(*line.split())
        said.add(line, done.stdout + done.stderr)
    for name in ("source", "target"):
        logs = [*(folder / name).glob("*.log*"), *(folder / name).rglob("status.json"), *(folder / name).rglob("*.out")]
        assert logs
        for each in logs:
            said.add(str(each), each.read_text(errors="replace"))
    said.search(secrets)


def test_a_link_without_tls_says_why_users_do_not_come_and_goes_on(pair: Pair) -> None:
    source, target = pair.source.bootstrap, pair.target.bootstrap
    create(source, "orders")
    link(target, source)
    with Cluster(target) as cluster:
        links.alter(cluster, links.LINK, {"east": {"sync.users": "true"}})
    until(lambda: any("no TLS" in each for each in plain_status(target)["errors"]), "it is told")
    produce(source, "orders", ["one"])
    caught_up(target, ["orders"], {("orders", 0): 1})
    assert plain_status(target)["users"] == 0
