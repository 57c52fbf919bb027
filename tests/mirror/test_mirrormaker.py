"""The real MirrorMaker 2 works unchanged between Apache Kafka and Barnabas, in both directions, exactly once."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from tests.linked_clusters.conftest import FAST
from tests.linked_clusters.pair import committed, create, produce
from tests.mirror.sides import has_values, read_on, topics_of
from tests.support.java import JavaTools
from tests.support.members import until
from tests.support.mirrormaker import MirrorMaker
from tests.support.servers import BarnabasNode, KafkaNode

pytestmark = pytest.mark.long


def _is_there(bootstrap: str, group: str, topic: str) -> bool:
    return len(committed(bootstrap, group, topic, 2)) == 2


def test_between_kafka_and_barnabas_both_ways(tmp_path: Path) -> None:
    east, west = KafkaNode(tmp_path / "kafka"), BarnabasNode(tmp_path / "barnabas", FAST)
    java = JavaTools(tmp_path)
    clusters = {"east": east.bootstrap, "west": west.bootstrap}
    mirror = MirrorMaker(tmp_path / "mm2", clusters, {"topics": "orders", "groups": "billing.*"})
    values = {name: [f"{name} {number}" for number in range(1000)] for name in clusters}
    try:
        east.start()
        west.start()
        for name, bootstrap in clusters.items():
            create(bootstrap, "orders", 2, retention_ms="86400000")
            produce(bootstrap, "orders", values[name][:500])
        mirror.start()
        for one, other in (("east", "west"), ("west", "east")):
            has_values(clusters[other], f"{one}.orders", values[one][:500], 120)
            produce(clusters[one], "orders", values[one][500:])
            has_values(clusters[other], f"{one}.orders", values[one], 60)
        for one, other in (("east", "west"), ("west", "east")):
            group = f"billing-{one}"
            read = read_on(clusters[one], group, ["orders"])
            assert sorted(read) == sorted(values[one])
            copy = f"{one}.orders"
            until(partial(_is_there, clusters[other], group, copy), f"{group} is there", 60)
            found = java.run("MirrorReads", clusters[other], one, group).out
            assert f"upstream clusters: [{one}]" in found and "\nhops: 1\n" in found, found
            assert f"{copy}-0=" in found and f"{copy}-1=" in found, found
            assert f"{other}.{one}.orders" not in topics_of(clusters[one])
    except BaseException:
        print(mirror.tail())
        raise
    finally:
        mirror.stop()
        java.close()
        east.stop()
        west.stop()
