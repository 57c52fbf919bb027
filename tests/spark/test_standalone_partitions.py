"""A pipeline on a real Spark cluster has as many shuffle partitions as the cluster has cores, not Spark's 200."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from barnabas import Admin, Consumer
from barnabas.cli.pipeline.new import write
from barnabas.pipelines.framework import Record, records
from barnabas.testing import running_node
from tests.spark.drivers import QUICK_START, DriverProcess
from tests.spark.standalone import standalone_cluster

pytestmark = [pytest.mark.long, pytest.mark.timeout(900)]

CORES = 3  # neither Spark's 200, nor its least parallelism of 2, nor what is taken when no executor comes in time
TIMES = {"1": "2026-05-01T10:00:00Z", "2": "2026-05-01T10:00:01Z", "3": "2026-05-01T10:01:00Z"}
ON_THE_LOOPBACK = ("spark.driver.host=127.0.0.1", "spark.driver.bindAddress=127.0.0.1", "spark.executor.memory=600m")


def test_the_template_ends_its_batches(tmp_path: Path) -> None:
    folder = tmp_path / "cluster"
    folder.mkdir()
    home = tmp_path / "home"
    words = ["pipeline", "run", str(write("shop", tmp_path)), "--once", "--data", str(home), *QUICK_START]
    for setting in ON_THE_LOOPBACK:
        words += ["--conf", setting]
    with (
        running_node({"transaction.two.phase.commit.enable": True}) as node,
        standalone_cluster(folder, workers=1, cores=CORES) as cluster,
    ):
        with Admin(node.bootstrap) as admin:
            admin.create_topic("shop.orders", configs={"retention.ms": -1})
        orders = [{"id": id, "item": "tea", "price": 2.0, "time": time} for id, time in TIMES.items()]
        records.write(node.bootstrap, [Record("shop.orders", "tea", each, 1_777_629_600_000) for each in orders])
        driver = DriverProcess(
            "barnabas.cli.main", *words, "-b", node.bootstrap, "--master", cluster.url, log=tmp_path / "driver.log"
        )
        try:
            assert driver.wait() == 0, driver.tail()
        finally:
            driver.stop()
        revenue = Consumer("shop.revenue", bootstrap=node.bootstrap, follow=False, isolation_level="read_committed")
        with revenue as consumer:
            assert [json.loads(message.value)["revenue"] for message in consumer] == [4.0]

    # What the checkpoint fixes for all later runs, and the state stores that were really made.
    checkpoint = home / "shop" / "checkpoints" / "revenue"
    first = (checkpoint / "offsets" / "0").read_text().splitlines()
    assert json.loads(first[1])["conf"]["spark.sql.shuffle.partitions"] == str(CORES)
    for operator in (checkpoint / "state").iterdir():
        assert {each.name for each in operator.iterdir() if each.name.isdigit()} == {str(n) for n in range(CORES)}
