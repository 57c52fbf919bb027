"""Our mirror between an Apache Kafka and a node, both ways: Kafka is source and target."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.linked_clusters.conftest import FAST
from tests.linked_clusters.pair import committed, create, produce
from tests.mirror.sides import MirrorProcess, has_values, read_on
from tests.support.members import until
from tests.support.servers import BarnabasNode, KafkaNode

pytestmark = pytest.mark.long


def test_between_kafka_and_barnabas_both_ways(tmp_path: Path) -> None:
    east, west = KafkaNode(tmp_path / "kafka"), BarnabasNode(tmp_path / "barnabas", FAST)
    clusters = {"east": east.bootstrap, "west": west.bootstrap}
    words = [f"{name}={bootstrap}" for name, bootstrap in clusters.items()]
    mirror = MirrorProcess(tmp_path / "mirror.log", *words, "--both", "--topics", "orders", "--groups", "billing.*")
    values = {name: [f"{name} {number}" for number in range(2000)] for name in clusters}
    with east, west:
        for name, bootstrap in clusters.items():
            create(bootstrap, "orders", 2, retention_ms="86400000")
            produce(bootstrap, "orders", values[name], **{"compression.type": "gzip"})
        with mirror:
            for one, other in (("east", "west"), ("west", "east")):
                here, there, group, copy = clusters[one], clusters[other], f"billing-{one}", f"{one}.orders"
                has_values(there, copy, values[one], 60)
                read = read_on(here, group, ["orders"], most=1500)
                offsets = committed(here, group, "orders", 2)

                def is_there(there: str = there, group: str = group, copy: str = copy, sure: int = len(read)) -> bool:
                    return sum(committed(there, group, copy, 2).values()) >= sure

                until(is_there, f"{group} is translated: {offsets}", 60)
                went_on = read_on(there, group, [copy])
                assert set(read) | set(went_on) == set(values[one])
                assert len(read) + len(went_on) - len(values[one]) <= 20
    assert "Traceback" not in mirror.log_path.read_text()
