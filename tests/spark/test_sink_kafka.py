"""The exactly-once sink speaks to Apache Kafka as well: no two-phase commit there, the same promise; and it logs in."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from barnabas import Admin
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.sink import tasks
from barnabas.pipelines.sink.options import SinkOptions, parse_options
from barnabas.pipelines.sink.tasks import Identity, write_rows
from barnabas.pipelines.sink.writer import _settlement
from tests.spark.test_sink_killed import open_transactions_at
from tests.support.process import free_port
from tests.support.servers import KafkaNode
from tests.transactions.readers import records

SCRAM_MODULE = "org.apache.kafka.common.security.scram.ScramLoginModule"
pytestmark = [pytest.mark.long, pytest.mark.timeout(300)]


@pytest.fixture
def options(tmp_path: Path) -> Iterator[SinkOptions]:
    node = KafkaNode(tmp_path)
    node.start()
    try:
        with Admin(node.bootstrap) as admin:
            admin.create_topic("t", partitions=2)
        yield parse_options({"kafka.bootstrap.servers": node.bootstrap, "topic": "t"}, streaming=True)
    finally:
        node.stop()


def rows(batch: int) -> Iterator[pa.RecordBatch]:
    yield pa.record_batch([pa.array([f"{batch}-{number}" for number in range(100)])], names=["value"])


def test_each_row_once(options: SinkOptions) -> None:
    for batch in range(3):
        told = write_rows(options, Identity("q", "run1", batch), rows(batch))
        assert told.prepared is not None
        assert _settlement(options, "q").commit("run1", batch, [told.prepared])
    tasks._kept = None  # another driver, another worker: the last micro-batch again, then one that is given up
    repeated = write_rows(options, Identity("q", "run2", 2), rows(2))
    assert repeated.records == 0
    assert not _settlement(options, "q").commit("run2", 2, [])
    write_rows(options, Identity("q", "run2", 3), rows(3))
    tasks._kept = None
    told = write_rows(options, Identity("q", "run3", 3), rows(3))
    assert told.prepared is not None
    assert _settlement(options, "q").commit("run3", 3, [told.prepared])
    with pytest.raises(PipelineError, match="taken over by a newer driver"):
        _settlement(options, "q").commit("run1", 4, [])
    assert open_transactions_at(options.bootstrap) == []
    time.sleep(0.5)
    found = sorted(value.decode() for value in records(options.bootstrap, "t", partitions=2).values())
    assert found == sorted(f"{batch}-{number}" for batch in range(4) for number in range(100))


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[dict[str, str]]:
    """A broker with a door for TLS and SCRAM: what a client has to say there."""
    certificate, key = tmp_path / "node.pem", tmp_path / "node.key"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=node"]
    made += ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(made, check=True, capture_output=True)
    (tmp_path / "both.pem").write_text(key.read_text() + certificate.read_text())
    port, door, controller = free_port(), free_port(), free_port()
    doors = f"PLAINTEXT://127.0.0.1:{port},SASL_SSL://127.0.0.1:{door}"
    settings = {
        "listeners": f"{doors},CONTROLLER://127.0.0.1:{controller}",
        "advertised.listeners": f"{doors},CONTROLLER://127.0.0.1:{controller}",
        "controller.quorum.bootstrap.servers": f"127.0.0.1:{controller}",
        "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL",
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "listener.name.sasl_ssl.scram-sha-512.sasl.jaas.config": f"{SCRAM_MODULE} required;",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(tmp_path / "both.pem"),
    }
    node = KafkaNode(tmp_path / "kafka", settings)
    node.port = port
    node.start()
    try:
        admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{port}"})
        user = UserScramCredentialUpsertion(
            "ada", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096), b"secret, with = signs"
        )
        admin.alter_user_scram_credentials([user])["ada"].result(30)
        with Admin(f"127.0.0.1:{port}") as plain:
            plain.create_topic("t", partitions=2)
        yield {
            "kafka.bootstrap.servers": f"127.0.0.1:{door}",
            "kafka.security.protocol": "SASL_SSL",
            "kafka.sasl.mechanism": "SCRAM-SHA-512",
            "kafka.sasl.jaas.config": f'{SCRAM_MODULE} required username="ada" password="secret, with = signs";',
            "kafka.ssl.truststore.location": str(certificate),
            "kafka.ssl.truststore.type": "PEM",
            "topic": "t",
            "plain": f"127.0.0.1:{port}",
        }
    finally:
        node.stop()


def test_through_tls_with_a_password(guarded: dict[str, str]) -> None:
    plain = guarded.pop("plain")
    options = parse_options(guarded, streaming=True)
    told = write_rows(options, Identity("secure", "run", 0), rows(0))
    assert told.prepared is not None
    assert _settlement(options, "secure").commit("run", 0, [told.prepared])
    assert open_transactions_at(plain) == []
    time.sleep(0.5)
    assert len(records(plain, "t", partitions=2)) == 100

    wrong = guarded | {"kafka.sasl.jaas.config": f'{SCRAM_MODULE} required username="ada" password="guess";'}
    with pytest.raises(PipelineError, match=r"the login failed: Authentication failed"):
        write_rows(parse_options(wrong, streaming=True), None, rows(0))
    stranger = {name: value for name, value in guarded.items() if "truststore" not in name}
    stranger["kafka.delivery.timeout.ms"] = "500"
    with pytest.raises(PipelineError, match="TLS failed: CERTIFICATE_VERIFY_FAILED"):
        write_rows(parse_options(stranger, streaming=True), None, rows(0))
