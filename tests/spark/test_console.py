"""A pipeline from start to stop in the console: the page starts a real Spark, shows its numbers, and ends it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import expect, sync_playwright

from barnabas.pipelines.framework.run_directory import RunDirectory
from barnabas.testing import RunningNode, running_node
from tests.console.conftest import watch
from tests.support.console import ConsoleProcess, Watched, launch

SPARK_STARTS_MS = 240_000


@pytest.fixture
def node() -> Iterator[RunningNode]:
    """One of its own: on the tests' node another run of the pipeline may have left its group, and so a lag."""
    with running_node() as made:
        yield made


def test_a_pipeline_is_started_and_stopped_in_the_browser(node: RunningNode, tmp_path: Path) -> None:
    console = ConsoleProcess(tmp_path / "console", node.bootstrap, env={"XDG_DATA_HOME": str(tmp_path)})
    home = tmp_path / "barnabas" / "pipelines"
    try:
        console.start()
        with sync_playwright() as playwright:
            browser = launch(playwright)
            for watched in watch(browser, console.address):
                from_start_to_stop(watched, home)
            browser.close()
    finally:
        RunDirectory(home, "metrics").stop("now")
        console.stop()


def from_start_to_stop(watched: Watched, home: Path) -> None:
    page = watched.open("/c/local/pipelines")
    page.get_by_role("button", name="Start metrics").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Believable data").fill("50")
    dialog.get_by_text("Options").click()
    dialog.get_by_role("textbox", name="p95").fill("300")
    dialog.get_by_role("button", name="Start").click()
    panel = page.get_by_role("region", name="metrics")
    expect(panel.get_by_text(re.compile("^starting"))).to_be_visible()
    expect(panel.get_by_text("running", exact=True)).to_be_visible(timeout=SPARK_STARTS_MS)
    expect(panel.get_by_role("definition").nth(1)).to_have_text(re.compile("[1-9]"), timeout=SPARK_STARTS_MS)  # rows
    expect(panel.get_by_role("table", name="Queries").get_by_role("row").nth(1)).to_be_visible()
    expect(panel.get_by_role("link", name="lag of metrics", exact=True)).to_have_count(0)  # none in Real-Time Mode
    panel.get_by_role("button", name="Stop metrics").click()
    expect(panel.get_by_text("stopped", exact=True)).to_be_visible(timeout=SPARK_STARTS_MS)
    panel.get_by_text("What it printed last").click()
    expect(panel.get_by_text(re.compile("metrics --now ran"))).to_be_visible()
    expect(panel.get_by_role("button", name="Start metrics")).to_be_visible()
    assert RunDirectory(home, "metrics").state("now") is None
