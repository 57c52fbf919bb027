"""The audit trail: what real clients did and were refused is read by a real consumer, and a flood stays bounded."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeVar

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    PartitionMetadata,
    ResourcePatternType,
    ResourceType,
)

from barnabas.broker.audit import writer as audit_writer
from barnabas.cli.main import main
from barnabas.testing import RunningNode, running_node
from tests.security.test_one_word import Secured, is_free, start, stop
from tests.support.members import until
from tests.support.process import free_port

TOPIC = "__audit"
Event = dict[str, object]
Config = dict[str, str | int | float | bool]
Found = TypeVar("Found")
USERS = {"alice": "alice-secret", "bob": "bob-secret", "reader": "reader-secret"}
SETTINGS = {"audit.enable": "true", "audit.repeat.interval.ms": "1000", "auto.create.topics.enable": "false"}


def allow(user: str, operation: AclOperation, topic: str) -> AclBinding:
    who = f"User:{user}"
    return AclBinding(
        ResourceType.TOPIC, topic, ResourcePatternType.LITERAL, who, "*", operation, AclPermissionType.ALLOW
    )


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("audit") / "audit.log"


@pytest.fixture(scope="module")
def node(file: Path) -> Iterator[RunningNode]:
    with running_node(settings=SETTINGS | {"audit.log.file": str(file)}, secure=True, users=USERS) as one:
        admin = AdminClient(config(one, "admin"))
        for made in admin.create_topics([NewTopic("orders", 2), NewTopic("public", 1)]).values():
            made.result(20)
        rules = [
            allow("alice", AclOperation.WRITE, "public"),
            allow("reader", AclOperation.READ, TOPIC),
            allow("bob", AclOperation.WRITE, TOPIC),
        ]
        for added in admin.create_acls(rules).values():
            added.result(20)
        yield one


def config(node: RunningNode, user: str = "") -> Config:
    return {"bootstrap.servers": node.bootstrap, **(node.login(user) if user else {})}


def read(login: Config) -> list[Event]:
    """All of the trail, by a real consumer."""
    settings: Config = {"enable.auto.commit": False, "enable.partition.eof": True, "fetch.wait.max.ms": 20}
    consumer = Consumer({**login, **settings, "group.id": "audit-test"})
    try:
        consumer.assign([TopicPartition(TOPIC, 0, 0)])
        found: list[Event] = []
        while True:
            message = consumer.poll(10)
            assert message is not None, "the trail has no end"
            if (error := message.error()) is not None:
                if error.code() == KafkaError._PARTITION_EOF:
                    return found
                if error.code() == KafkaError.GROUP_AUTHORIZATION_FAILED:
                    continue  # librdkafka asks for the coordinator of a group that it does not use
                raise KafkaException(error)
            found.append(json.loads(message.value() or b""))
    finally:
        consumer.close()


def trail(node: RunningNode) -> list[Event]:
    return read(config(node, "reader"))


def told(node: RunningNode, what: str, **fields: object) -> Event:
    """Waits for an event with these fields."""

    return awaited(lambda: next((event for event in trail(node) if fields.items() <= event.items()), None), what)


def awaited(look: Callable[[], Found | None], what: str, seconds: float = 30) -> Found:
    """What `look` finds in the end."""
    found: list[Found] = []

    def is_there() -> bool:
        each = look()
        if each:
            found.append(each)
        return bool(found)

    until(is_there, what, seconds)
    return found[-1]


def send(node: RunningNode, user: str, topic: str) -> KafkaError | None:
    outcome: list[KafkaError | None] = []
    producer = Producer({**config(node, user), "client.id": f"{user}-app", "message.timeout.ms": 8000})
    producer.produce(topic, b"v", partition=0, on_delivery=lambda error, _: outcome.append(error))
    producer.flush(15)
    return outcome[0]


def test_who_was_refused_and_who_was_not(node: RunningNode) -> None:
    assert send(node, "alice", "public") is None
    refused = send(node, "bob", "orders")
    assert refused is not None
    wrote = told(node, "alice wrote", event="data", principal="User:alice", operation="WRITE", resource="topic:public")
    assert wrote["allowed"] is True and wrote["reason"] == "a rule: ALLOW User:alice WRITE on TOPIC 'public'"
    assert (wrote["api"], wrote["client_id"], wrote["host"]) == ("Produce", "alice-app", "127.0.0.1")
    assert wrote["listener"] == "SASL_SSL" and "rdkafka" in str(wrote["software"])
    denied = told(node, "bob was refused", event="access", principal="User:bob", resource="topic:orders")
    assert denied["allowed"] is False and denied["reason"] == "no rule is about the resource"
    assert denied["operation"] == "DESCRIBE" and denied["api"] == "Metadata"


def test_logins(node: RunningNode) -> None:
    wrong = AdminClient({**config(node, "alice"), "sasl.password": "wrong", "socket.timeout.ms": 3000})
    with pytest.raises(KafkaException):
        wrong.list_topics(timeout=2)
    del wrong
    failed = told(node, "the failed login", event="login", allowed=False, principal="User:alice")
    assert failed["detail"] == "SCRAM-SHA-512" and "invalid credentials" in str(failed["reason"])
    told(node, "the login", event="login", allowed=True, principal="User:bob", reason="SCRAM-SHA-512")


def test_administration_is_told_with_its_outcome(node: RunningNode) -> None:
    made = told(node, "the new topic", event="administration", api="CreateTopics", resource="topic:orders")
    assert (made["allowed"], made["principal"], made["reason"]) == (True, "User:admin", "a super user")
    told(node, "the rule", api="CreateAcls", detail="ALLOW User:alice WRITE on TOPIC 'public'")
    admin, bob = AdminClient(config(node, "admin")), AdminClient(config(node, "bob"))
    with pytest.raises(KafkaException):
        admin.create_topics([NewTopic("orders", 1)])["orders"].result(20)
    with pytest.raises(KafkaException):
        bob.create_topics([NewTopic("mine", 1)])["mine"].result(20)
    again = told(node, "the same topic", api="CreateTopics", error="TOPIC_ALREADY_EXISTS")
    assert again["allowed"] is True
    refused = told(node, "bob's topic", event="administration", principal="User:bob", resource="topic:mine")
    assert refused["allowed"] is False and refused["operation"] == "CREATE"


def test_only_who_may_reads_it_and_no_client_writes_to_it(node: RunningNode) -> None:
    with pytest.raises(KafkaException):
        read(config(node, "bob"))  # who has WRITE on it, and so may describe it
    attempt = told(node, "bob's attempt", event="access", principal="User:bob", resource=f"topic:{TOPIC}")
    assert (attempt["operation"], attempt["api"], attempt["reason"]) == ("READ", "Fetch", "no rule allows it")
    refused = send(node, "bob", TOPIC)
    assert refused is not None and refused.code() == KafkaError.TOPIC_EXCEPTION
    told(node, "that it was read", event="data", principal="User:reader", operation="READ", resource=f"topic:{TOPIC}")


def test_a_flood_is_counted_and_not_written(node: RunningNode) -> None:
    """Every name is another one: as many events as refusals would be the least that folding by name gives."""
    bob = AdminClient(config(node, "bob"))
    before = [event for event in trail(node) if event.get("principal") == "User:bob"]
    names = [f"no-{number}" for number in range(3_000)]
    for _ in range(3):
        for future in bob.describe_topics(TopicCollection(names)).values():
            with pytest.raises(KafkaException):
                future.result(20)

    def all_counted() -> list[Event] | None:
        new = [event for event in trail(node) if event.get("principal") == "User:bob"][len(before) :]
        denied = [event for event in new if event["event"] == "access" and event.get("api") in (None, "Metadata")]
        return new if sum(int(str(event["count"])) for event in denied) >= 3 * len(names) else None

    new = awaited(all_counted, "all refusals are counted")
    assert len(new) < 450, "a hundred are told apart, once and with their counts, and the others together"
    assert any(event.get("resource") == "(others)" for event in new)


def test_the_file_has_the_same(node: RunningNode, file: Path) -> None:
    assert file.stat().st_mode & 0o777 == 0o600
    in_topic = {event["sequence"] for event in trail(node)}
    in_file = {json.loads(line)["sequence"] for line in file.read_text().splitlines()}
    assert in_topic <= in_file and len(in_topic) > 20
    assert "secret" not in file.read_text(), "no password is in it"


def test_the_command_for_one_who_may_only_read_it(
    node: RunningNode, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    profile = tmp_path / "reader.properties"
    login = "org.apache.kafka.common.security.scram.ScramLoginModule required"
    profile.write_text(
        "security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\n"
        f'sasl.jaas.config={login} username="reader" password="{USERS["reader"]}";\n'
        f"ssl.truststore.type=PEM\nssl.truststore.location={node.login('reader')['ssl.ca.location']}\n"
    )
    words = ["audit", "--denied", "--user", "bob", "--resource", "topic:or*", "--operation", "describe"]
    monkeypatch.setenv("BARNABAS_PROFILE", str(profile))
    assert main([*words, "-b", node.bootstrap]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines and all("denied   User:bob" in line and "topic:orders" in line for line in lines), lines


def test_what_does_not_fit_is_dropped_and_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(audit_writer, "AUDIT_QUEUE_BYTES", 3_000)
    with running_node(settings={"audit.enable": "true"}, data_dir=tmp_path) as open_node:
        admin = AdminClient(config(open_node))
        for future in admin.create_topics([NewTopic(f"t{number}", 1) for number in range(60)]).values():
            future.result(20)
        with_room = iter(range(1, 1000))

        def dropped() -> Event | None:
            admin.create_topics([NewTopic(f"later{next(with_room)}", 1)])
            found = (event for event in read(config(open_node)) if event["event"] == "audit")
            return next((event for event in found if "dropped" in str(event["detail"])), None)

        event = awaited(dropped, "how many were dropped is told")
        assert int(str(event["count"])) > 30
        created = [e for e in read(config(open_node)) if e.get("api") == "CreateTopics"]
        assert created[0]["reason"] == "no authorizer: everybody may"


@pytest.fixture
def three(tmp_path: Path) -> Iterator[Secured]:
    port = next(found for found in iter(free_port, 0) if all(is_free(found + more) for more in range(3)))
    cluster = start(tmp_path, "--nodes", "3", port=port)
    yield cluster
    stop(cluster)


@pytest.mark.timeout(240)
def test_three_nodes_keep_their_events_when_the_leader_is_killed(three: Secured) -> None:
    login = admin_login(three)
    admin = AdminClient(login)
    fail_to_log_in(login, "before")
    awaited(lambda: logins_of(login, "before"), "the failed login is told")
    begun = awaited(lambda: every_node(read(login)), "every node writes to the one that leads")
    assert begun == {1, 2, 3}
    told_of_the_client_by_the_node_it_asked(three, login)
    until(lambda: len(audit_partition(admin).isrs) == 3, "the topic has three replicas in sync")
    leader = audit_partition(admin).leader
    status = next(three.data.glob(f"*{leader}/status.json"))
    os.kill(json.loads(status.read_text())["pid"], signal.SIGKILL)
    fail_to_log_in(login, "after")
    awaited(lambda: logins_of(login, "after"), "events after the kill are told", 60)
    assert logins_of(login, "before"), "those before it are still there"
    shown = three.ok("audit", "--denied", "--operation", "login", "--since", "-10m")
    assert "User:before" in shown and "User:after" in shown and "denied" in shown


def every_node(events: list[Event]) -> set[object] | None:
    nodes = {event["node"] for event in events}
    return nodes if len(nodes) == 3 else None


def told_of_the_client_by_the_node_it_asked(cluster: Secured, login: Config) -> None:
    """The active controller, which decides, hears only of the principal and the address."""
    for number, address in enumerate(cluster.bootstrap.split(",")):
        asked = AdminClient(login | {"bootstrap.servers": address, "client.id": "topic-maker"})
        asked.create_topics([NewTopic(f"made{number}", 1)])[f"made{number}"].result(20)
    made = awaited(lambda: created(read(login)), "every topic is told")
    assert [event["resource"] for event in made] == ["topic:made0", "topic:made1", "topic:made2"], "each once"
    for event in made:
        assert (event["listener"], event["client_id"]) == ("SASL_SSL", "topic-maker") and event["software"]


def created(events: list[Event]) -> list[Event] | None:
    found = [event for event in events if event.get("api") == "CreateTopics"]
    return sorted(found, key=lambda event: str(event["resource"])) if len(found) >= 3 else None


def admin_login(cluster: Secured) -> Config:
    properties = (cluster.folder / "admin.properties").read_text()
    return {
        "bootstrap.servers": cluster.bootstrap,
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "admin",
        "sasl.password": properties.split('password="')[1].split('"')[0],
        "ssl.ca.location": str(cluster.folder / "ca.pem"),
    }


def fail_to_log_in(login: Config, user: str) -> None:
    """At every node that is up."""
    stranger = AdminClient(login | {"sasl.username": user, "socket.timeout.ms": 2000})
    with pytest.raises(KafkaException):
        stranger.list_topics(timeout=2)


def logins_of(login: Config, user: str) -> list[Event]:
    try:
        return [event for event in read(login) if event.get("principal") == f"User:{user}"]
    except KafkaException:
        return []  # the topic has no leader for a moment


def audit_partition(admin: AdminClient) -> PartitionMetadata:
    return admin.list_topics(TOPIC, timeout=20).topics[TOPIC].partitions[0]
