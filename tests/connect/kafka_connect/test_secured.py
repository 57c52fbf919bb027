"""The real Kafka Connect against a secured cluster: logins by SCRAM over TLS, the authority as PEM, and no more rights
than docs/connectors/kafka-connect.md names."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)

from tests.connect.kafka_connect.changes import TABLE, Changes, debezium, differences, histories, jdbc, records
from tests.connect.kafka_connect.test_connect import TOPIC, Tables
from tests.support.cluster import BarnabasCluster
from tests.support.kafka_connect import KafkaConnectWorker
from tests.support.members import QUIET, until
from tests.support.nodes_security import PASSWORD, by_certificate, create_user
from tests.support.pages import ROOT
from tests.support.postgres import Postgres

PAGE = ROOT / "docs" / "connectors" / "kafka-connect.md"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
RULE = re.compile(r"barnabas acl add connect (\S+) '?([a-z-]+):?([^'\s]*)'?")


def rules() -> list[AclBinding]:
    """As the page has them."""
    found = RULE.findall(PAGE.read_text())
    assert len(found) >= 4
    made = []
    for operations, kind, name in found:
        pattern = ResourcePatternType.PREFIXED if name.endswith("*") and name != "*" else ResourcePatternType.LITERAL
        resource = ResourceType.BROKER if kind == "cluster" else ResourceType[kind.replace("-", "_").upper()]
        resource_name = "kafka-cluster" if kind == "cluster" else name.rstrip("*") or "*"
        for operation in operations.split(","):
            asked = AclOperation[operation.replace("-", "_").upper()]
            made.append(
                AclBinding(resource, resource_name, pattern, "User:connect", "*", asked, AclPermissionType.ALLOW)
            )
    return made


@pytest.mark.long
def test_a_secured_cluster(tmp_path: Path) -> None:
    """Debezium's source, exactly once, and its JDBC sink on three nodes with SASL_SSL."""
    security = by_certificate(tmp_path / "secure")
    cluster = BarnabasCluster(tmp_path / "cluster", 3, security=security)
    login = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": f'{SCRAM} username="connect" password="{PASSWORD}";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": security.client("")["ssl.ca.location"],
    }
    settings = {
        f"{part}{name}": value for part in ("", "producer.", "consumer.", "admin.") for name, value in login.items()
    }
    with Postgres() as database:
        database.execute("create database copy")
        database.execute(TABLE)
        tables = Tables(database)
        try:
            cluster.start()
            create_user(cluster.bootstrap, "connect", PASSWORD)
            create_user(cluster.bootstrap, "stranger", PASSWORD)
            admin = AdminClient({**QUIET, "bootstrap.servers": cluster.bootstrap})
            for future in admin.create_acls(rules()).values():
                future.result(20)
            worker = KafkaConnectWorker(tmp_path / "worker", cluster.nodes_bootstrap, settings=settings, replicas=3)
            with Changes(database) as changes, worker:
                changes.transaction(50)
                worker.put("shop", debezium(database, "shop", "public.orders"))
                worker.put("copy", jdbc(database, TOPIC, "orders_copy", "copy"))
                for _ in range(20):
                    changes.transaction(5)
                until(tables.same, "the table is copied", 120)
                found = histories(records(cluster.bootstrap, TOPIC))
            assert differences(changes.history, found) == []
            stranger = {**security.client(cluster.nodes_bootstrap), "sasl.username": "stranger", "group.id": "x"}
            consumer = Consumer({**QUIET, **stranger})
            with pytest.raises(KafkaException, match=r"TOPIC_AUTHORIZATION_FAILED|not authorized|Authorization"):
                topic = consumer.list_topics(TOPIC, timeout=20).topics[TOPIC]
                if topic.error is not None:
                    raise KafkaException(topic.error)
            consumer.close()
        finally:
            tables.close()
            for node in cluster.nodes.values():
                node.kill()
