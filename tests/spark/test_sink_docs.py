"""The snippets of docs/spark-sink.md run in order on the tests' Spark and print what the page says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path
from typing import Any

from barnabas import Admin
from barnabas.pipelines.sink.options import _KNOWN
from barnabas.testing import RunningNode

PAGE = Path(__file__).parents[2] / "docs" / "spark-sink.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_page_does_what_it_says(
    spark: Any, node: RunningNode, admin: Admin, tmp_path: Path, has_connector: bool
) -> None:
    admin.create_topic("people", partitions=2)
    admin.create_topic("loud-people", partitions=2)
    names: dict[str, Any] = {"BOOTSTRAP": node.bootstrap, "CHECKPOINT": str(tmp_path / "checkpoint")}
    printed = ""
    for kind, body in BLOCK.findall(PAGE.read_text()):
        if "connector=True" in body and not has_connector:
            continue
        if kind == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(body, str(PAGE), "exec"), names)  # noqa: S102
            printed = out.getvalue()
        elif kind == "text":
            assert printed == body


def test_every_option_is_on_the_page() -> None:
    page = PAGE.read_text()
    of_spark = {"checkpointLocation", "queryName", "path", "includeHeaders"}
    assert [name for name in _KNOWN if f"`{name}`" not in page and name not in of_spark] == []
