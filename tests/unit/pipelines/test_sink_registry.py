"""Columns written as values with a schema of a registry, without Spark: read again, or refused."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

import pyarrow as pa
import pytest
from confluent_kafka.schema_registry import Schema
from pyspark.sql import types
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


NESTED = (
    StructType()
    .add("id", "long")
    .add("tags", types.ArrayType(types.StringType()))
    .add("prices", types.MapType(types.StringType(), types.DoubleType()))
    .add("at", "timestamp")
    .add("place", StructType().add("city", "string").add("zip", "integer"))
    .add("lines", types.ArrayType(StructType().add("n", "long")))
    .add("seen", types.MapType(types.StringType(), types.TimestampType()))
    .add("by", types.MapType(types.StringType(), StructType().add("n", "long")))
    .add("times", types.ArrayType(types.TimestampType()))
)
MOMENT = datetime(2026, 11, 18, 1, 0, 0, 250_000, tzinfo=UTC)


def nested_rows() -> pa.RecordBatch:
    moment = pa.timestamp("us", "UTC")
    whole = pa.struct([("n", pa.int64())])
    columns = {
        "id": pa.array([1]),
        "tags": pa.array([["a", "b"]]),
        "prices": pa.array([[("x", 1.5)]], pa.map_(pa.string(), pa.float64())),
        "at": pa.array([MOMENT], moment),
        "place": pa.array([{"city": "Bern", "zip": 3000}], pa.struct([("city", pa.string()), ("zip", pa.int32())])),
        "lines": pa.array([[{"n": 7}]], pa.list_(whole)),
        "seen": pa.array([[("k", MOMENT)]], pa.map_(pa.string(), moment)),
        "by": pa.array([[("k", {"n": 8})]], pa.map_(pa.string(), whole)),
        "times": pa.array([[MOMENT]], pa.list_(moment)),
    }
    return pa.RecordBatch.from_pydict(columns)


@pytest.mark.parametrize("form", FORMS)
def test_arrays_maps_times_and_structs_come_back(orders: Orders, form: str) -> None:
    write(orders, form, NESTED, nested_rows())
    (found,) = orders.rows(form, valueMode="FAILFAST")
    assert (found["id"], found["tags"], found["place"]) == (1, ["a", "b"], {"city": "Bern", "zip": 3000})
    assert (dict(found["prices"]), found["lines"], dict(found["by"])) == ({"x": 1.5}, [{"n": 7}], {"k": {"n": 8}})
    if form != "json-schema":  # which has no type for a time: there it is text
        assert (found["at"], dict(found["seen"]), found["times"]) == (MOMENT, {"k": MOMENT}, [MOMENT])


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (StructType().add("a-b", "string"), "'a-b' cannot be a field of Protobuf"),
        (StructType().add("a", types.ArrayType(types.ArrayType(types.LongType()))), "an array of arrays or maps"),
        (StructType().add("a", types.DayTimeIntervalType()), "has no type in Protobuf"),
    ],
)
def test_columns_that_protobuf_has_no_field_for(orders: Orders, schema: StructType, said: str) -> None:
    with pytest.raises(PipelineError) as problem:
        write(orders, "protobuf", schema)
    assert said in str(problem.value)


def test_a_row_that_does_not_fit_is_refused_with_the_reason(orders: Orders) -> None:
    holes = pa.record_batch([pa.array([["a", None]])], names=["tags"])
    schema = StructType().add("tags", types.ArrayType(types.StringType()))
    with pytest.raises(PipelineError, match="null in an array, which Protobuf does not have"):
        write(orders, "protobuf", schema, holes)


def test_a_struct_of_a_column_is_the_value_and_a_null_one_a_tombstone(orders: Orders) -> None:
    schema = StructType().add("order", StructType().add("id", "long").add("user", "string"))
    kind = pa.struct([("id", pa.int64()), ("user", pa.string())])
    rows = pa.record_batch([pa.array([{"id": 1, "user": "ada"}, None], kind)], names=["order"])
    write(orders, "avro", schema, rows, valueColumn="order")
    found = [(each["id"], each["user"]) for each in orders.rows("avro", valueMode="FAILFAST")]
    assert found == [(1, "ada"), (None, None)]
