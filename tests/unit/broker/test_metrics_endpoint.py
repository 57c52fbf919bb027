"""What /metrics and the health paths answer on a running node: to readers, to strangers, and to bad requests."""

from __future__ import annotations

import base64
import gzip
import http.client
import json
import socket
from collections.abc import Iterator

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from barnabas import Admin, Consumer, Producer
from barnabas.broker.metrics import lag
from barnabas.model.limits import METRICS_HEAD_BYTES
from barnabas.observe.samples import Metrics, parse
from barnabas.testing import RunningNode, running_node
from tests.support.members import QUIET, until
from tests.support.process import free_port

AUTHORIZER = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"


class Metered:
    """A node that serves its metrics, and what a client of HTTP gets from it."""

    def __init__(self, node: RunningNode, port: int) -> None:
        self.node, self.port = node, port

    def get(self, path: str, method: str = "GET", user: str = "", **fields: str) -> tuple[int, dict[str, str], bytes]:
        if user:
            fields["Authorization"] = "Basic " + base64.b64encode(user.encode()).decode()
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        try:
            connection.request(method, path, headers=fields)
            answer = connection.getresponse()
            return answer.status, dict(answer.headers), answer.read()
        finally:
            connection.close()

    def metrics(self, path: str = "/metrics") -> Metrics:
        return parse(self.get(path)[2].decode())

    def raw(self, text: bytes) -> bytes:
        """All that is answered until the node closes the connection."""
        with socket.create_connection(("127.0.0.1", self.port), 20) as client:
            client.sendall(text)
            found = b""
            while data := client.recv(65_536):
                found += data
            return found


@pytest.fixture(scope="module")
def open_node() -> Iterator[Metered]:
    port = free_port()
    settings = {"metrics.listeners": f"http://127.0.0.1:{port}", "offsets.topic.num.partitions": 1}
    with running_node(settings) as node:
        yield Metered(node, port)


@pytest.fixture(scope="module")
def guarded() -> Iterator[Metered]:
    port = free_port()
    settings = {
        "metrics.listeners": f"http://127.0.0.1:{port}",
        "metrics.authentication": "basic",
        "authorizer.class.name": AUTHORIZER,
        "super.users": "User:ANONYMOUS",
    }
    with running_node(settings) as node:
        for user in ("reader", "stranger"):
            set_password(node, user, f"{user}-pw")
        describe = AclBinding(
            ResourceType.BROKER, "kafka-cluster", ResourcePatternType.LITERAL,
            "User:reader", "*", AclOperation.DESCRIBE, AclPermissionType.ALLOW,
        )  # fmt: skip
        admin = AdminClient({**QUIET, "bootstrap.servers": node.bootstrap})
        admin.create_acls([describe])[describe].result(20)
        yield Metered(node, port)


def set_password(node: RunningNode, user: str, password: str) -> None:
    admin = AdminClient({**QUIET, "bootstrap.servers": node.bootstrap})
    how = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096)
    admin.alter_user_scram_credentials([UserScramCredentialUpsertion(user, how, password.encode())])[user].result(20)


def test_records_and_partitions_are_counted(open_node: Metered) -> None:
    with Admin(open_node.node.bootstrap) as admin:
        admin.create_topic("counted", partitions=2)
    with Producer(open_node.node.bootstrap) as producer:
        for number in range(7):
            producer.send("counted", str(number), partition=1)
    found = open_node.metrics("/metrics?partitions=true")
    assert found.value("kafka_server_brokertopicmetrics_messagesin_total", topic="counted") == 7
    assert found.value("kafka_topic_partition_current_offset", topic="counted", partition="1") == 7
    assert found.value("kafka_topic_partition_current_offset", topic="counted", partition="0") == 0
    assert "kafka_topic_partition_current_offset" not in open_node.metrics()


def test_the_lag_of_a_group_in_records_and_seconds(open_node: Metered, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lag, "REFRESH_SECONDS", 0.1)
    with Admin(open_node.node.bootstrap) as admin:
        admin.create_topic("behind", partitions=1)
    with Producer(open_node.node.bootstrap) as producer:
        for number in range(5):
            producer.send("behind", str(number), timestamp_ms=1_000 + number, partition=0)
    with Consumer("behind", bootstrap=open_node.node.bootstrap, group="slow", max_records=2) as consumer:
        assert [message.offset for message in consumer] == [0, 1]
    lags = "kafka_consumergroup_lag_sum"
    until(lambda: open_node.metrics().total(lags, consumergroup="slow", topic="behind") == 3, "the lag is known", 20)
    age = "kafka_consumergroup_lag_seconds"
    until(lambda: open_node.metrics().total(age, consumergroup="slow") > 1_000_000_000, "its age is known", 20)


@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_health(open_node: Metered, method: str) -> None:
    status, _, body = open_node.get("/health/ready", method)
    assert (status, body) == (200, b"" if method == "HEAD" else b'{"status": "ready"}\n')
    assert open_node.get("/health/live", method)[0] == 200
    assert open_node.get("/", method)[0] == 200


def test_a_reader_that_takes_gzip_gets_it(open_node: Metered) -> None:
    _, fields, body = open_node.get("/metrics", **{"Accept-Encoding": "deflate, gzip"})
    assert fields["Content-Encoding"] == "gzip"
    assert parse(gzip.decompress(body).decode()).names()
    assert "Content-Encoding" not in open_node.get("/metrics", **{"Accept-Encoding": "gzip;q=0"})[1]


def test_several_requests_on_one_connection(open_node: Metered) -> None:
    request = b"GET /health/live HTTP/1.1\r\nHost: x\r\n"
    said = open_node.raw(request + b"\r\n" + request + b"Connection: close\r\n\r\n")
    assert said.count(b"HTTP/1.1 200 OK") == 2


@pytest.mark.parametrize(
    ("request_", "status"),
    [
        (b"GET /nothing HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n", 404),
        (b"POST /metrics HTTP/1.1\r\nHost: x\r\n\r\n", 405),
        (b"GET /metrics HTTP/2.0\r\nHost: x\r\n\r\n", 505),
        (b"nonsense\r\n\r\n", 400),
        (b"GET /metrics HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"GET /metrics HTTP/1.1\r\nX: " + bytes(METRICS_HEAD_BYTES) + b"\r\n\r\n", 431),
    ],
)
def test_a_request_that_cannot_be_answered(open_node: Metered, request_: bytes, status: int) -> None:
    said = open_node.raw(request_)
    assert said.startswith(f"HTTP/1.1 {status} ".encode())
    assert open_node.get("/health/live")[0] == 200


# --- who may read ----------------------------------------------------------------------------------------------------


def test_only_who_may_describe_the_cluster_reads(guarded: Metered) -> None:
    assert guarded.get("/metrics", user="reader:reader-pw")[0] == 200
    assert guarded.get("/metrics", user="reader:reader-pw")[0] == 200  # by what is remembered
    status, _, why = guarded.get("/metrics", user="stranger:stranger-pw")
    assert status == 403 and b"needs Describe on Cluster" in why


@pytest.mark.parametrize("user", ["", "reader:wrong", "nobody:reader-pw", ":", "without a colon"])
def test_whoever_is_not_known_is_asked_to_log_in(guarded: Metered, user: str) -> None:
    status, fields, _ = guarded.get("/metrics", user=user)
    assert status == 401 and fields["WWW-Authenticate"].startswith("Basic ")


@pytest.mark.parametrize("header", ["Basic !!!", "Basic /w==", "Bearer abc"])
def test_a_login_that_cannot_be_read(guarded: Metered, header: str) -> None:
    assert guarded.get("/metrics", Authorization=header)[0] == 401


def test_health_needs_no_login(guarded: Metered) -> None:
    assert json.loads(guarded.get("/health/live")[2]) == {"status": "live"}


def test_a_new_password_ends_the_old_one_at_once(guarded: Metered) -> None:
    assert guarded.get("/metrics", user="reader:reader-pw")[0] == 200
    set_password(guarded.node, "reader", "another")
    assert guarded.get("/metrics", user="reader:reader-pw")[0] == 401
    assert guarded.get("/metrics", user="reader:another")[0] == 200
    set_password(guarded.node, "reader", "reader-pw")
