"""Schemas in the browser: subjects, versions, what changed, a check before registering, and records shown decoded."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from barnabas import Producer, Registry
from tests.console.conftest import watch
from tests.console.secured import console_with
from tests.support.cluster import BarnabasCluster
from tests.support.console import ConsoleProcess, Watched
from tests.support.registry import RegistryProcess

FIRST = {"type": "record", "name": "Payment", "fields": [{"name": "cents", "type": "long"}]}
SECOND = {
    **FIRST,
    "fields": [{"name": "cents", "type": "long"}, {"name": "note", "type": "string", "default": "none"}],
}
BAD = {**FIRST, "fields": [{"name": "cents", "type": "string"}]}


@dataclass
class Payment:
    cents: int
    card: str


@pytest.fixture(scope="module")
def registry(cluster: BarnabasCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryProcess]:
    serving = RegistryProcess(tmp_path_factory.mktemp("registry"), cluster.bootstrap)
    try:
        serving.start()
        yield serving
    finally:
        serving.stop()


@pytest.fixture(scope="module")
def schemas_console(
    cluster: BarnabasCluster, registry: RegistryProcess, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ConsoleProcess]:
    """With a role that hides the number of a card."""
    config = f"""
[clusters.local]
bootstrap = "{cluster.bootstrap}"
registry = "{registry.address}"

[[roles]]
name = "everybody"
mask = [".card"]
"""
    with console_with(tmp_path_factory.mktemp("schemas"), config) as serving:
        yield serving


@pytest.fixture
def schemas(browser: Browser, schemas_console: ConsoleProcess) -> Iterator[Watched]:
    yield from watch(browser, schemas_console.address)


def test_from_a_first_version_to_the_next(schemas: Watched, registry: RegistryProcess) -> None:
    subject = f"payments/{uuid.uuid4().hex[:6]}-value"
    page = schemas.open("/c/local/schemas")
    page.get_by_role("button", name="Register schema").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Subject").fill(subject)
    dialog.get_by_role("textbox", name="Schema").fill(json.dumps(FIRST))
    dialog.get_by_role("button", name="Register").click()
    expect(page.get_by_text('"name": "cents"')).to_be_visible()
    assert schemas.serious() == []

    page.get_by_role("button", name="New version").click()
    dialog.get_by_role("textbox", name="Schema").fill(json.dumps(BAD))
    dialog.get_by_role("button", name="Check compatibility").click()
    expect(dialog.get_by_text("Not compatible (BACKWARD)")).to_be_visible()
    expect(dialog.get_by_text("/fields/0/type").first).to_be_visible()
    dialog.get_by_role("textbox", name="Schema").fill("{")
    dialog.get_by_role("button", name="Check compatibility").click()
    expect(dialog.get_by_text("Not a schema.")).to_be_visible()
    dialog.get_by_role("textbox", name="Schema").fill(json.dumps(SECOND))
    dialog.get_by_role("button", name="Check compatibility").click()
    expect(dialog.get_by_text("Compatible (BACKWARD)")).to_be_visible()
    assert schemas.serious() == []
    dialog.get_by_role("button", name="Register").click()
    expect(page.get_by_text('field note (string, default "none") was added')).to_be_visible()
    page.get_by_text("Line by line").click()
    expect(page.locator(".added").first).to_be_visible()
    lines = page.locator("details pre").inner_text().splitlines()
    assert lines[0].startswith("@@") and len(lines) > 5

    page.get_by_label("Compatibility").select_option("FULL")
    expect(page.get_by_text(f"compatibility of {subject} is FULL")).to_be_visible()
    client = Registry(registry.address)
    assert client.level(subject) == "FULL"
    assert client.versions(subject) == [1, 2]
    schemas.open("/c/local/schemas")
    expect(page.get_by_role("link", name=subject)).to_be_visible()
    assert schemas.serious() == []


def test_records_are_decoded_before_a_role_hides_and_a_filter_looks(
    schemas: Watched, cluster: BarnabasCluster, registry: RegistryProcess
) -> None:
    topic = f"cards-{uuid.uuid4().hex[:6]}"
    with Producer(cluster.bootstrap, value_serializer="avro", registry=registry.address) as producer:
        for number in range(10):
            producer.send(topic, Payment(number, "4000 1234"), key=str(number))
    page = schemas.open(f"/c/local/topics/{topic}/messages")
    expect(page.get_by_text('"cents":7').first).to_be_visible()
    expect(page.get_by_text("4000 1234")).to_have_count(0)
    page.goto(f"{schemas.address}/c/local/topics/{topic}/messages?kind=where&filter=.cents%20%3D%3D%203")
    expect(page.get_by_text('"cents":3').first).to_be_visible()


def test_a_console_without_a_registry_says_how_to_get_one(watched: Watched) -> None:
    page = watched.open("/c/local/schemas")
    expect(page.get_by_text("barnabas up --registry")).to_be_visible()


def test_a_registry_that_is_away_is_one_line_and_records_are_shown_as_they_are(
    browser: Browser, cluster: BarnabasCluster, registry: RegistryProcess, tmp_path: Path
) -> None:
    topic = f"away-{uuid.uuid4().hex[:6]}"
    with Producer(cluster.bootstrap, value_serializer="avro", registry=registry.address) as producer:
        producer.send(topic, Payment(7, "a longer card"))
    config = f'[clusters.local]\nbootstrap = "{cluster.bootstrap}"\nregistry = "http://127.0.0.1:1"\n'
    with console_with(tmp_path, config) as serving:
        for page in watch(browser, serving.address):
            page.expected("503")
            opened = page.open("/c/local/schemas")
            expect(opened.get_by_text("cannot reach the registry http://127.0.0.1:1").first).to_be_visible()
            page.open(f"/c/local/topics/{topic}/messages")
            expect(opened.get_by_text("61 20 6c").first).to_be_visible()
