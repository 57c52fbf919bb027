"""Columns written as values with a schema of a registry, without Spark: read again, or refused."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import Schema
from pyspark.sql.types import StructType

from barnabas.pipelines.datasource import BarnabasDataSource
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.sink import tasks
from barnabas.testing import RunningNode, running_node
from tests.support.registry import RegistryProcess
from tests.unit.pipelines.test_source_registry import Orders

COLUMNS = StructType().add("id", "long").add("user", "string")
ROWS = pa.record_batch([pa.array([1, 2]), pa.array(["ada", None])], names=["id", "user"])
FORMS = ["avro", "protobuf", "json-schema"]


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with running_node() as running:
        yield running
        for cluster in tasks.process().clusters.values():
            cluster.close()
        tasks._kept = None


@pytest.fixture(scope="module")
def registry(node: RunningNode, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryProcess]:
    with RegistryProcess(tmp_path_factory.mktemp("registry"), node.bootstrap) as serving:
        assert isinstance(serving, RegistryProcess)
        yield serving


@pytest.fixture
def orders(node: RunningNode, registry: RegistryProcess) -> Orders:
    return Orders(node, registry)


def write(orders: Orders, form: str, schema: StructType = COLUMNS, rows: pa.RecordBatch = ROWS, **more: str) -> None:
    options = {"kafka.bootstrap.servers": orders.node.bootstrap, "topic": orders.topic, **more}
    source = BarnabasDataSource({"valueFormat": form, "registry": orders.registry.address, **options})
    writer = source.writer(schema, overwrite=False)
    writer.commit([writer.write(iter([rows]))])


@pytest.mark.parametrize("form", FORMS)
def test_what_is_written_is_read_again(orders: Orders, form: str) -> None:
    write(orders, form)
    write(orders, form)  # by the schema that is there now
    found = sorted((each["id"], each["user"] or None) for each in orders.rows(form, valueMode="FAILFAST"))
    assert found == [(1, "ada"), (1, "ada"), (2, None), (2, None)]
    assert orders.client.get_versions(f"{orders.topic}-value") == [1]


@pytest.mark.parametrize("form", FORMS)
def test_a_new_column_is_a_new_version(orders: Orders, form: str) -> None:
    write(orders, form)
    wider = StructType().add("id", "long").add("user", "string").add("note", "string")
    rows = pa.record_batch([pa.array([3]), pa.array(["eve"]), pa.array(["x"])], names=["id", "user", "note"])
    write(orders, form, wider, rows)
    found = {each["id"]: each["note"] or None for each in orders.rows(form)}
    assert found == {1: None, 2: None, 3: "x"}


def test_columns_that_do_not_fit_the_schema_that_was_asked_for(orders: Orders) -> None:
    text = '{"type":"record","name":"Other","fields":[{"name":"price","type":"double"}]}'
    orders.client.register_schema(f"{orders.topic}-value", Schema(text, "AVRO"))
    with pytest.raises(PipelineError, match=r"price|id|user"):
        write(orders, "avro", schemaVersion="1")
    assert orders.rows("avro") == []


def test_a_topic_is_only_appended_to(orders: Orders) -> None:
    options = {"kafka.bootstrap.servers": orders.node.bootstrap, "topic": orders.topic}
    with pytest.raises(PipelineError, match="only appended to"):
        BarnabasDataSource(options).writer(StructType().add("value", "string"), overwrite=True)
