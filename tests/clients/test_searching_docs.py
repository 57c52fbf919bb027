"""The commands of docs/searching.md find what the page says, and those of docs/telemetry.md do what it says."""

from __future__ import annotations

import json
import re
import shlex
import time

import pytest

from barnabas.cli.main import main
from tests.support.browsing import producer
from tests.support.pages import ROOT, commands

HOUR_MS = 3_600_000
VIEWS: list[tuple[str | None, dict[str, object]]] = [
    ("user-17", {"name": "ada", "price": 12}),
    ("user-18", {"name": "eve", "price": 3, "log": "error: 42"}),
]
ORDERS: list[dict[str, object]] = [
    {"status": "late", "items": [{"price": 5}, {"price": 120}], "customer": {"email": "a@example.org"}},
    {"status": "new", "items": [{"price": 500}], "customer": {}},
]


@pytest.fixture(scope="module")
def filled(bootstrap: str) -> str:
    sender = producer(bootstrap)
    written = int(time.time() * 1000) - HOUR_MS // 2
    for key, view in VIEWS:
        sender.produce("page-views", json.dumps(view), key, 0, timestamp=written)
    for order in ORDERS:
        sender.produce("page-orders", json.dumps(order), None, 0, headers=[("source", "web")])
    assert sender.flush(30) == 0
    return bootstrap


def typed(page: str, command: str) -> list[str]:
    """The page's lines with this command, joined where they go on in the next one."""
    path = ROOT / "docs" / page
    lines = path.read_text().splitlines()
    found = []
    for each in commands(path):
        text, number = each.text, each.line
        while text.endswith("\\"):
            text = text[:-1] + lines[number].strip()
            number += 1
        if text.startswith(f"barnabas {command} "):
            found.append(text)
    return found


# How many lines each command of the page prints for these records.
FOUND = {
    "ada": 1,
    "ADA --ignore-case": 1,
    r"--regex 'error: \d+'": 1,
    "--key user-17": 1,
    "--where '.price > 10'": 1,
    "ada --from -1h --to -5m": 1,
    "ada --count": 1,
    "ada --json --max 10": 1,
    """--where '.status in ["failed", "late"] and .items[].price > 100'""": 1,
    """--where 'headers["source"] == "web" and not has(.customer.email)'""": 1,
}


def test_every_search_of_the_page(filled: str, capfd: pytest.CaptureFixture[str]) -> None:
    lines = typed("searching.md", "grep")
    assert {re.sub(r"^barnabas grep \w+ ", "", each) for each in lines} == set(FOUND)
    for line in lines:
        capfd.readouterr()
        here = line.replace("grep ", "grep page-", 1)  # the node is shared: other tests have topics of these names
        assert main([*shlex.split(here)[1:], "-b", filled]) == 0, (line, capfd.readouterr())
        assert len(capfd.readouterr().out.splitlines()) == FOUND[re.sub(r"^barnabas grep \w+ ", "", line)], line


def test_subscriptions_of_the_page(filled: str, capfd: pytest.CaptureFixture[str]) -> None:
    def said(line: str) -> str:
        capfd.readouterr()
        assert main([*shlex.split(line)[1:], "-b", filled]) == 0, capfd.readouterr()
        return capfd.readouterr().out

    subscribe, listing, remove = typed("telemetry.md", "telemetry")
    said(subscribe)
    assert "client_id=checkout-.*" in said(listing)
    said(remove)
    assert "latency" not in said(listing)
