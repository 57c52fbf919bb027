"""Kafka's dump tool reads every index file of a partition, also of one that is too small for an entry."""

from __future__ import annotations

from pathlib import Path

import pytest

import barnabas
from tests.support.java import DUMP_LOG, JavaTools
from tests.support.members import until
from tests.support.servers import BarnabasNode

pytestmark = pytest.mark.timeout(120)


def test_a_small_partition_has_its_index_files(tmp_path: Path, java: JavaTools) -> None:
    node = BarnabasNode(tmp_path)
    node.start()
    try:
        with barnabas.Producer(node.bootstrap) as producer:
            producer.send("t", b"one record").result(20)
        files = [node.data / "t-0" / f"{0:020d}.{end}" for end in ("index", "timeindex")]
        until(lambda: all(file.exists() for file in files), "both index files", 10)
        for file in files:
            assert f"Dumping {file}" in java.run(DUMP_LOG, "--files", str(file)).out
        node.kill()
        node.start()
        for file in files:
            assert f"Dumping {file}" in java.run(DUMP_LOG, "--files", str(file)).out
        assert "was repaired" not in node.log_path.read_text()
    finally:
        node.stop()
