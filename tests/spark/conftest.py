"""One Spark and one node for all tests of this folder: starting Spark costs seconds, a topic costs nothing.

Every test makes topics of its own (`topic`), so they do not see each other. The node lives in this process and the
session is stopped with it, also when a test fails.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from barnabas import Admin
from barnabas.pipelines import PipelineError, session
from barnabas.pipelines.framework.spark_start import SPARK_CONF
from barnabas.pipelines.jvm import LOG_LEVEL, write_no_checksums
from barnabas.pipelines.session import CORES_VARIABLE
from barnabas.testing import RunningNode, running_node
from tests.spark.stage import quick_spark  # noqa: F401
from tests.support.registry import RegistryProcess

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def node() -> Iterator[RunningNode]:
    settings = {"transaction.two.phase.commit.enable": True, "log.cleaner.backoff.ms": 500}
    with running_node(settings) as running:
        yield running


@pytest.fixture(scope="session")
def admin(node: RunningNode) -> Iterator[Admin]:
    with Admin(node.bootstrap) as made:
        yield made


@pytest.fixture(scope="session")
def registry(node: RunningNode, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryProcess]:
    serving = RegistryProcess(tmp_path_factory.mktemp("registry"), node.bootstrap)
    try:
        serving.start()
        yield serving
    finally:
        serving.stop()


@pytest.fixture(scope="session")
def has_connector() -> bool:
    """Whether Spark's own Kafka connector can be had here (its jars are fetched once)."""
    try:
        from barnabas.pipelines.connector import connector_jars

        connector_jars()
    except (ImportError, PipelineError):
        return False
    return True


@pytest.fixture(scope="session")
def spark(node: RunningNode, has_connector: bool) -> Iterator[Any]:
    """With the settings of a pipeline's run, so that what they break is broken here too. Real-Time Mode needs a thread
    for each task; to everything else there are two cores."""
    conf = {**SPARK_CONF, "spark.sql.shuffle.partitions": 2, "spark.driver.memory": "1g"}
    conf |= {f"spark.executorEnv.{CORES_VARIABLE}": 2}
    del conf[LOG_LEVEL]  # without it Spark's stderr goes through our filter, as for everybody who calls session()
    made = session("tests", master="local[40]", connector=has_connector, bootstrap=node.bootstrap, conf=conf)
    write_no_checksums(made)
    try:
        yield made
    finally:
        for query in made.streams.active:
            query.stop()
        made.stop()


@pytest.fixture
def topic(admin: Admin, request: pytest.FixtureRequest) -> Callable[..., str]:
    """Makes a topic with a name that no other test has: `topic(partitions=3)`."""

    def make(partitions: int = 1, configs: dict[str, object] | None = None) -> str:
        name = f"{request.node.originalname.removeprefix('test_')[:40]}-{next(_numbers)}"
        admin.create_topic(name, partitions=partitions, configs=configs)
        return name

    return make
