"""The Python of docs/pipelines runs and prints what the pages say; declarative.md's in test_activity_killed.py."""

from __future__ import annotations

import contextlib
import io
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

from barnabas import Admin, Consumer
from barnabas.pipelines.framework import registry
from barnabas.testing import RunningNode, pipeline_test
from tests.support.pages import FENCE, ROOT, blocks, environment, section

PAGES = ROOT / "docs" / "pipelines"
TESTING, WATERMARKS, RUNNING = (PAGES / f"{name}.md" for name in ("testing", "watermarks", "running"))

# Sections of running.md that no test follows, with the reason. Such a section says itself that it was not tried.
NOT_RUN = {
    "YARN": "the tests have no Hadoop cluster to run executors in",
    "Kubernetes": "the tests have no Kubernetes cluster to run a driver and executors in",
}


def follow(page: Path, names: dict[str, Any], text: str | None = None) -> int:
    """Runs the blocks in order, in one namespace; a text block is what the one before it printed. Returns how many."""
    printed, count = "", 0
    for kind, body in FENCE.findall(page.read_text() if text is None else text):
        if kind == "python":
            out = io.StringIO()
            with contextlib.redirect_stdout(out):
                exec(compile(body, str(page), "exec"), names)  # noqa: S102
            printed, count = out.getvalue(), count + 1
        elif kind == "text":
            assert printed == body
    return count


@pytest.mark.timeout(300)
def test_the_tests_of_the_page_pass(tmp_path: Path) -> None:
    """As a reader runs them: a folder, the pipeline that `new` writes there, pytest."""
    shop, conftest = blocks(TESTING, "python")
    with_fixture = "def test_the_session(spark):\n    assert spark.range(3).count() == 3\n"
    for name, text in (("test_shop.py", shop), ("conftest.py", conftest), ("test_fixture.py", with_fixture)):
        (tmp_path / name).write_text(text)
    for words in (("barnabas.cli.main", "pipeline", "new", "shop"), ("pytest", "-q", "-p", "no:cacheprovider", ".")):
        done = subprocess.run(
            [sys.executable, "-m", *words],
            cwd=tmp_path,
            env=environment("", tmp_path),
            capture_output=True,
            text=True,
            timeout=280,
            check=False,
        )
        assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


def test_the_pipeline_of_the_overview(quick_spark: Any, node: RunningNode, tmp_path: Path) -> None:
    (code,) = blocks(PAGES / "README.md", "python")
    (tmp_path / "large.py").write_text(code)
    large = registry.find(str(tmp_path / "large.py"))
    with pipeline_test(large, spark=quick_spark, bootstrap=node.bootstrap) as test:
        prices = {"tea": 2.5, "table": 250.0}
        test.feed(
            "orders",
            [
                {"id": item, "item": item, "price": price, "time": "2026-05-01T10:00:00Z"}
                for item, price in prices.items()
            ],
        )
        test.run()
        assert [each["item"] for each in test.results("orders.large")] == ["table"]


def test_the_changes_that_restore_reads(node: RunningNode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BARNABAS_BOOTSTRAP", node.bootstrap)
    assert follow(PAGES / "restore.md", {}) == 1
    with Consumer("account-changes", follow=False) as changes:
        values = [each.value for each in changes]
    assert len(values) == 1001 and values.count(None) == 1


def test_the_rule_of_lateness(quick_spark: Any) -> None:
    assert follow(WATERMARKS, {}) == 2


def test_a_notebook(spark: Any, node: RunningNode, admin: Admin) -> None:
    admin.create_topic("visits", partitions=2)
    names: dict[str, Any] = {"BOOTSTRAP": node.bootstrap}
    begin, own = section(RUNNING, "Notebooks").split("In a notebook that brings its own session")
    assert follow(RUNNING, names, begin) == 3
    assert names["spark"] is spark

    other = spark.newSession()  # one that `session` did not make, beside one that knows the format already
    try:
        assert not knows_the_format(other, node)
        assert follow(RUNNING, {"spark": other}, own) == 1
        assert knows_the_format(other, node)
    finally:  # a new session is the thread's active one, and `.rdd` of any other reads its settings
        SparkSession._get_j_spark_session_class(spark._jvm).setActiveSession(spark._jsparkSession)


def knows_the_format(session: Any, node: RunningNode) -> bool:
    try:
        reader = session.read.format("barnabas").option("kafka.bootstrap.servers", node.bootstrap)
        return bool(reader.option("subscribe", "visits").load().count() == 300)
    except Exception as error:  # whatever class Spark raises: only this reason is expected
        assert "DATA_SOURCE_NOT_FOUND" in str(error), error
        return False


def test_a_section_that_is_not_run_says_so() -> None:
    titles = re.findall(r"^## (.*)$", RUNNING.read_text(), re.MULTILINE)
    with_python = {title for title in titles if "```python" in section(RUNNING, title)}
    assert with_python == {"Notebooks"}
    parts = dict(re.findall(r"^### (.*?)\n(.*?)(?=^##|\Z)", RUNNING.read_text(), re.MULTILINE | re.DOTALL))
    assert NOT_RUN.keys() <= parts.keys()
    for title in NOT_RUN:
        assert parts[title].strip().startswith("Not tried here")
