"""The frame around the pages: the first page, navigation, keys, themes, sizes, and what a browser must not be told."""

from __future__ import annotations

import re
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.support.cluster import BarnabasCluster
from tests.support.console import ConsoleProcess, Watched
from tests.support.process import free_port


def test_the_first_page_says_that_all_is_well(watched: Watched) -> None:
    began = time.monotonic()
    page = watched.open("/")
    expect(page.get_by_text("All is well.")).to_be_visible()
    assert time.monotonic() - began < 5  # a second on a quiet machine
    expect(page.get_by_text("3 of 3")).to_be_visible()
    expect(page.get_by_role("img", name=re.compile("Records in"))).to_be_visible()
    assert page.url.endswith("/c/local/overview")


def test_keys_go_from_page_to_page(watched: Watched) -> None:
    page = watched.open("/")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("t")
    expect(page.get_by_role("link", name="orders")).to_be_visible()
    page.keyboard.press("/")
    page.keyboard.type("pay")
    expect(page.get_by_role("link", name="orders")).to_be_hidden()
    page.go_back()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [380, 1280, 2200])
def test_pages_are_accessible_in_every_size_and_theme(
    browser: Browser, console: ConsoleProcess, scheme: str, width: int
) -> None:
    context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme=scheme)  # type: ignore[arg-type]
    try:
        watched = Watched(context.new_page(), console.address)
        for path, seen in (("/", "All is well."), ("/c/local/topics", "payments.cards")):
            expect(watched.open(path).get_by_text(seen)).to_be_visible()
            assert watched.serious() == []
            assert watched.page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "it scrolls sideways"
        assert watched.unexpected() == []
    finally:
        context.close()


def test_a_topic_that_was_there_before_has_its_numbers(watched: Watched) -> None:
    row = watched.open("/c/local/topics").get_by_role("row", name=re.compile("^Favourite orders "))
    expect(row).to_contain_text("2000")
    expect(row).to_contain_text(re.compile(r"1 ?100[0-6] ?\d.* s$"))  # one group, its lag, its age


def answer_of(address: str, method: str = "GET", **headers: str) -> tuple[int, dict[str, str], bytes]:
    request = urllib.request.Request(address, method=method, headers=headers, data=None if method == "GET" else b"{}")
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, dict(answer.headers), answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, dict(error.headers), error.read()


def test_every_answer_forbids_scripts_of_others(console: ConsoleProcess) -> None:
    for path in ("/", "/api/session", "/static/app.js", "/api/nothing", "/api/clusters/local/overview"):
        _, headers, _ = answer_of(console.address + path)
        assert "script-src 'self'" in headers["content-security-policy"], path
        assert headers["x-frame-options"] == "DENY"
        assert headers["x-content-type-options"] == "nosniff"


def test_another_name_of_this_machine_is_refused(console: ConsoleProcess) -> None:
    """A page of another site that resolves its own name to 127.0.0.1 must not read from the console."""
    status, _, body = answer_of(f"{console.address}/api/session", Host="evil.example.org")
    assert status == 421
    assert b"csrf" not in body


def test_a_link_on_another_site_does_not_end_a_session(console: ConsoleProcess) -> None:
    """A browser sends no cookie with it; a new one in the answer would replace that of the person who is signed in."""
    status, headers, _ = answer_of(f"{console.address}/api/session", **{"Sec-Fetch-Site": "cross-site"})
    assert status == 403 and "set-cookie" not in headers


def test_a_change_needs_the_token_of_the_session(console: ConsoleProcess) -> None:
    _, headers, _ = answer_of(f"{console.address}/api/session")
    cookie = headers["set-cookie"]
    assert "HttpOnly" in cookie and "SameSite=strict" in cookie
    status, _, body = answer_of(f"{console.address}/api/sign-out", "POST", Cookie=cookie.partition(";")[0])
    assert status == 403
    assert b"did not come from a page of the console" in body


def test_a_console_that_ends_with_open_pages_says_nothing(
    cluster: BarnabasCluster, tmp_path: Path, browser: Browser
) -> None:
    serving = ConsoleProcess(tmp_path, cluster.bootstrap)
    serving.start()
    page = browser.new_page()
    try:
        page.goto(f"{serving.address}/c/local/topics/orders/messages?live=1")
        expect(page.get_by_text("waiting for records")).to_be_visible()
        assert serving.stop() == 0
        expect(page.get_by_text("The console does not answer.")).to_be_visible()
        assert "Traceback" not in serving.log_path.read_text()
    finally:
        page.close()
        serving.stop()


def test_a_cluster_that_was_never_reached_is_not_shown_as_an_empty_one(tmp_path: Path, browser: Browser) -> None:
    serving = ConsoleProcess(tmp_path, f"127.0.0.1:{free_port()}")
    serving.start()
    page = browser.new_page()
    try:
        page.goto(f"{serving.address}/c/local/topics")
        expect(page.get_by_text("Nothing is known of it yet.")).to_be_visible()
        expect(page.get_by_text("There is no topic yet.")).to_have_count(0)
    finally:
        page.close()
        serving.stop()
