"""Users who log in, and rules that Kafka's own kafka-acls makes: what each may do with librdkafka and Java's tools."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from barnabas.cli.acl.cluster import rules_of
from barnabas.cli.acl.decision import Asked, decide
from barnabas.cli.acl.resources import shown
from barnabas.cli.main import main
from barnabas.model.access_rules import AclFilter
from tests.support import java as tools
from tests.support.java import JavaTools
from tests.support.process import free_port
from tests.support.servers import BarnabasNode

pytestmark = pytest.mark.timeout(180)
PASSWORDS = {"admin": "a-secret", "alice": "b-secret", "bob": "c-secret"}
JAAS = "org.apache.kafka.common.security.plain.PlainLoginModule required "


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasNode]:
    port = free_port()
    users = " ".join(f'user_{name}="{password}"' for name, password in PASSWORDS.items())
    settings = {
        "listeners": f"SASL_PLAINTEXT://127.0.0.1:{port}",
        "security.inter.broker.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "sasl.enabled.mechanisms": "PLAIN",
        "listener.name.sasl_plaintext.plain.sasl.jaas.config": (
            f'{JAAS}username="admin" password="{PASSWORDS["admin"]}" {users};'
        ),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:admin",
    }
    running = BarnabasNode(tmp_path_factory.mktemp("acls"), settings, port)
    running.start()
    yield running
    running.stop()


def admin_properties(folder: Path) -> Path:
    config = folder / "client.properties"
    login = f'{JAAS}username="admin" password="{PASSWORDS["admin"]}";'
    config.write_text(f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config={login}\n")
    return config


@pytest.fixture(scope="module")
def acls(java: JavaTools, node: BarnabasNode, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., str]:
    config = admin_properties(tmp_path_factory.mktemp("admin"))

    def run(*arguments: str) -> str:
        done = java.run(tools.ACLS, "--bootstrap-server", node.bootstrap, "--command-config", str(config), *arguments)
        return done.out

    return run


def client(node: BarnabasNode, user: str, **more: Any) -> dict[str, Any]:
    return {
        "bootstrap.servers": node.bootstrap,
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": user,
        "sasl.password": PASSWORDS[user],
        **more,
    }


def produce(node: BarnabasNode, user: str, topic: str, **more: Any) -> str:
    """What became of a record: "" or the error's name."""
    producer = confluent_kafka.Producer(client(node, user, **{"message.timeout.ms": 8_000, **more}))
    found: list[str] = []
    producer.produce(topic, b"one", on_delivery=lambda error, _: found.append(error.name() if error else ""))
    producer.flush(20)
    return found[0] if found else "nothing"


def consume(node: BarnabasNode, user: str, topic: str, group: str) -> str:
    settings = client(node, user, **{"group.id": group, "auto.offset.reset": "earliest"})
    consumer = confluent_kafka.Consumer(settings)
    consumer.subscribe([topic])
    try:
        for _ in range(40):
            message = consumer.poll(0.5)
            if message is not None:
                error = message.error()
                return error.name() if error is not None else "read"
        return "nothing"
    finally:
        consumer.close()


def test_what_kafka_acls_allows_is_allowed_and_nothing_else(node: BarnabasNode, acls: Callable[..., str]) -> None:
    admin = AdminClient(client(node, "admin"))
    for future in admin.create_topics([NewTopic("orders", 1), NewTopic("secrets", 1)]).values():
        future.result(20)
    assert produce(node, "alice", "orders") == "TOPIC_AUTHORIZATION_FAILED"
    acls("--add", "--allow-principal", "User:alice", "--producer", "--topic", "orders")
    assert produce(node, "alice", "orders") == ""
    assert produce(node, "alice", "orders", **{"enable.idempotence": True}) == ""
    assert produce(node, "alice", "secrets") == "TOPIC_AUTHORIZATION_FAILED"
    assert set(AdminClient(client(node, "alice")).list_topics(timeout=10).topics) == {"orders"}
    assert consume(node, "bob", "orders", "billing") in ("GROUP_AUTHORIZATION_FAILED", "TOPIC_AUTHORIZATION_FAILED")
    acls("--add", "--allow-principal", "User:bob", "--consumer", "--topic", "ord", "--group", "billing",
         "--resource-pattern-type", "prefixed")  # fmt: skip
    assert consume(node, "bob", "orders", "billing") == "read"
    assert consume(node, "bob", "orders", "other") == "GROUP_AUTHORIZATION_FAILED"
    listed = acls("--list", "--topic", "orders", "--resource-pattern-type", "match")
    assert "(principal=User:alice, host=*, operation=WRITE, permissionType=ALLOW)" in listed
    assert "ResourcePattern(resourceType=TOPIC, name=ord, patternType=PREFIXED)" in listed
    acls("--remove", "--force", "--allow-principal", "User:alice", "--producer", "--topic", "orders")
    assert produce(node, "alice", "orders") == "TOPIC_AUTHORIZATION_FAILED"


def test_acl_check_names_the_rule(
    node: BarnabasNode, acls: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    acls("--add", "--allow-principal", "User:alice", "--operation", "Read", "--topic", "checked")
    acls("--add", "--deny-principal", "User:alice", "--operation", "Write", "--topic", "*")
    monkeypatch.setenv("BARNABAS_PROFILE", str(admin_properties(tmp_path)))
    with rules_of(node.bootstrap) as cluster:
        told = [
            decide(cluster, Asked(user, "127.0.0.1", operation, "topic", "checked")).told()
            for user, operation in (
                ("User:alice", "read"), ("User:alice", "write"), ("User:alice", "create"), ("User:admin", "write"),
            )
        ]  # fmt: skip
    assert told == [
        "by the rule that User:alice may read topic:checked",
        "by the rule that User:alice may not write topic:*",
        "no rule allows it",
        "a super user",
    ]


def test_rules_of_tokens_and_two_phase_commit_are_added_listed_and_removed(
    node: BarnabasNode, acls: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Resources and operations that librdkafka does not know, beside Kafka's own tool."""
    monkeypatch.setenv("BARNABAS_PROFILE", str(admin_properties(tmp_path)))
    wanted = {
        "user:alice": "create-tokens",
        "delegation-token:t1": "describe",
        "transactional-id:x": "two-phase-commit",
    }
    for resource, operation in wanted.items():
        assert main(["acl", "add", "carol", operation, resource, "-b", node.bootstrap]) == 0
    with rules_of(node.bootstrap) as cluster:
        found = cluster.find(AclFilter(principal="User:carol"))
    assert {shown(rule): rule.operation for rule in found} == wanted
    listed = acls("--list", "--principal", "User:carol")
    assert "resourceType=USER, name=User:alice" in listed and "TWO_PHASE_COMMIT" in listed
    assert main(["acl", "check", "carol", "create-tokens", "user:alice", "-b", node.bootstrap]) == 0
    assert main(["acl", "remove", "carol", "--all", "--yes", "-b", node.bootstrap]) == 0
    assert main(["acl", "remove", "carol", "--all", "--yes", "-b", node.bootstrap]) == 1
