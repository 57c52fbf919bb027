"""A source's producer against a real node that misbehaves on order: every record once, in order, or one clear line."""

from __future__ import annotations

import random
from collections.abc import Iterator

import pytest

from barnabas import Admin
from barnabas.connect.cluster.batches import Fenced, told
from barnabas.connect.cluster.connection import Cluster
from barnabas.connect.errors import BadOption, ConnectError, Unavailable
from barnabas.connect.runtime.encoding import Outgoing
from barnabas.connect.runtime.producing import SourceProducer
from barnabas.model.partitioning import partition_for_key
from barnabas.testing import RunningNode, running_node
from tests.support.connect import all_records

PARTITIONS = 3


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with running_node({"auto.create.topics.enable": False}) as running:
        yield running


@pytest.fixture
def topic(node: RunningNode, request: pytest.FixtureRequest) -> str:
    name = str(request.node.name).replace("[", "-").replace("]", "")
    with Admin(node.bootstrap) as admin:
        admin.create_topic(name, partitions=PARTITIONS)
    return name


def values_of(node: RunningNode, topic: str, key: bytes | None = None) -> list[int]:
    found = [each for each in all_records(node.bootstrap, topic) if key is None or each.key() == key]
    return [int(each.value() or b"") for each in found]


FAULTS = [
    ("Produce", "NOT_LEADER_OR_FOLLOWER"),
    ("Produce", "COORDINATOR_LOAD_IN_PROGRESS"),
    ("Produce", "cut"),
    ("Metadata", "cut"),
    ("EndTxn", "NOT_COORDINATOR"),
    ("EndTxn", "cut"),
]


@pytest.mark.parametrize(("api", "fault"), FAULTS)
def test_faults_pass_by(node: RunningNode, topic: str, api: str, fault: str) -> None:
    producer = SourceProducer(Cluster(node.bootstrap), f"source-{topic}")
    if fault == "cut":
        node.disconnect_next(api, times=2)
    else:
        node.fail_next(api, fault, times=2)
    try:
        with told():
            for number in range(3):
                lines = [b"%d" % each for each in range(number * 1000, number * 1000 + 999)]
                producer.write_alike(topic, lines, b"alike", (("path", b"/x"),), sum(map(len, lines)))
                producer.write([Outgoing(topic, b"alike", b"%d" % (number * 1000 + 999))])
                producer.send()
                producer.commit()
    finally:
        node.heal()
        producer.close()
    assert values_of(node, topic) == list(range(3000))


def test_keys_headers_and_times(node: RunningNode, topic: str) -> None:
    """Keys where Java's clients put them; without one, a transaction's records stay together."""
    producer = SourceProducer(Cluster(node.bootstrap), f"source-{topic}")
    headers = (("h", b"v"), ("n", None))
    with told():
        producer.write(
            Outgoing(topic, b"key %d" % number, b"1", None, 1_700_000_000_000 + number, headers)
            for number in range(100)
        )
        producer.write([*[Outgoing(topic, None, None)] * 50, Outgoing(topic, b"named", b"2", 2)])
        producer.commit()
        with pytest.raises(Unavailable, match="has no partition 3"):
            producer.write([Outgoing(topic, None, b"", PARTITIONS)])
    producer.close()
    found = all_records(node.bootstrap, topic)
    keyed = [each for each in found if (each.key() or b"").startswith(b"key ")]
    assert len(keyed) == 100
    for each in keyed:
        key = each.key() or b""
        assert each.partition() == partition_for_key(key, PARTITIONS)
        assert each.timestamp()[1] == 1_700_000_000_000 + int(key.split()[1])
        assert each.headers() == [("h", b"v"), ("n", None)]
    assert len({each.partition() for each in found if each.key() is None}) == 1
    assert [each.partition() for each in found if each.key() == b"named"] == [2]


def test_a_time_of_0_is_a_time(node: RunningNode, topic: str) -> None:
    producer = SourceProducer(Cluster(node.bootstrap), f"source-{topic}")
    with told():
        producer.write([Outgoing(topic, b"old", b"1", 0, 0), Outgoing(topic, b"now", b"2", 0)])
        producer.commit()
    producer.close()
    times = {each.key(): each.timestamp()[1] for each in all_records(node.bootstrap, topic)}
    assert times[b"old"] == 0
    assert times[b"now"] > 1_700_000_000_000


def test_a_newer_producer_fences_and_takes_back(node: RunningNode, topic: str) -> None:
    first = SourceProducer(Cluster(node.bootstrap), f"source-{topic}")
    with told():
        first.write([Outgoing(topic, None, b"1")])
        first.commit()
        first.write([Outgoing(topic, None, b"2")])
    second = SourceProducer(Cluster(node.bootstrap), f"source-{topic}")
    with pytest.raises(Fenced), told():
        first.commit()
    first.abort()
    with told():
        second.write([Outgoing(topic, None, b"3")])
        second.commit()
        second.write([Outgoing(topic, None, b"4")])
    second.abort()
    first.close()
    second.close()
    assert sorted(values_of(node, topic)) == [1, 3]


def test_aborted_while_batches_travel(node: RunningNode, topic: str) -> None:
    producer = SourceProducer(Cluster(node.bootstrap), f"source-{topic}")
    lines = [b"9" * 1000] * 3000
    with told():
        producer.write_alike(topic, lines, b"k", (), 3_000_000)
        producer.send()
    producer.abort()
    producer.close()
    again = SourceProducer(Cluster(node.bootstrap), f"source-{topic}")
    with told():
        again.write([Outgoing(topic, b"k", b"1")])
        again.commit()
    again.close()
    assert values_of(node, topic) == [1]


def test_what_a_topic_refuses(node: RunningNode, topic: str) -> None:
    producer = SourceProducer(Cluster(node.bootstrap), f"source-{topic}")
    with pytest.raises(Unavailable, match=rf"topic {topic} refuses a batch of \d+ bytes"), told():
        producer.write([Outgoing(topic, None, random.Random(1).randbytes(2_000_000))])
        producer.commit()
    with pytest.raises(Unavailable, match="there is no topic nowhere"), told():
        producer.write([Outgoing("nowhere", None, b"")])
    producer.close()


@pytest.mark.parametrize(
    ("settings", "kind", "text"),
    [
        ({"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "GSSAPI"}, BadOption, "sasl.mechanism GSSAPI"),
        (
            {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"},
            Unavailable,
            "sasl.oauthbearer.method=oidc",
        ),
    ],
)
def test_logins_that_cannot_be(
    node: RunningNode, settings: dict[str, object], kind: type[ConnectError], text: str
) -> None:
    with pytest.raises(kind, match=text):
        SourceProducer(Cluster(node.bootstrap, settings), "source-login")
