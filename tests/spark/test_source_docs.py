"""The snippets of docs/spark.md run in order on the tests' Spark and print what the page says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

import pytest

from barnabas import Admin
from barnabas.pipelines.source.options import _KNOWN
from barnabas.testing import RunningNode
from tests.support.registry import RegistryProcess

PAGE = Path(__file__).parents[2] / "docs" / "spark.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_page_does_what_it_says(
    spark: Any, node: RunningNode, registry: RegistryProcess, admin: Admin, tmp_path: Path
) -> None:
    admin.create_topic("orders", partitions=1)
    admin.create_topic("payments", partitions=1)
    names: dict[str, Any] = {"BOOTSTRAP": node.bootstrap, "CHECKPOINT": str(tmp_path / "checkpoint")}
    names["REGISTRY"] = registry.address
    printed = ""
    for kind, body in BLOCK.findall(PAGE.read_text()):
        if kind == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(body, str(PAGE), "exec"), names)  # noqa: S102
            printed = out.getvalue()
        elif kind == "text":
            assert printed == body
    assert names["spark"] is spark  # a session that runs already is taken
    group = admin.describe_group("orders-report")
    assert sum(part.lag_records or 0 for part in group.partitions) == 0


def test_every_option_is_on_the_page() -> None:
    page = PAGE.read_text()
    assert [name for name in _KNOWN if f"`{name}`" not in page] == []


def test_a_schema_makes_only_the_columns_it_names(spark: Any, node: RunningNode, admin: Admin) -> None:
    from barnabas import Producer

    admin.create_topic("pruned", partitions=1)
    with Producer(node.bootstrap) as producer:
        producer.send("pruned", '{"amount": 7, "user": "ada"}', key="k")
    reader = spark.read.format("barnabas").option("subscribe", "pruned")
    assert reader.schema("offset BIGINT, value BINARY").load().first().asDict() == {
        "offset": 0,
        "value": bytearray(b'{"amount": 7, "user": "ada"}'),
    }
    decoded = reader.option("valueFormat", "json").schema("user STRING, partition INT").load()
    assert decoded.first().asDict() == {"user": "ada", "partition": 0}
    with pytest.raises(Exception, match="column value is binary, not string"):
        spark.read.format("barnabas").option("subscribe", "pruned").schema("value STRING").load().count()
