"""What a connector asks of a cluster changes nothing there."""

from __future__ import annotations

from barnabas.connect.cluster import definitions
from barnabas.connect.cluster.connection import Cluster, new_topic
from barnabas.testing import running_node


def test_asking_for_a_topic_makes_none() -> None:
    with running_node({"auto.create.topics.enable": True}) as node:
        cluster = Cluster(node.bootstrap)
        assert cluster.partitions_of("missing") == []
        assert definitions.read_all(cluster) == {}
        assert not cluster.admin().list_topics(timeout=10).topics
        cluster.ensure_topics([new_topic("there", 2)])
        assert cluster.partitions_of("there") == [0, 1]
