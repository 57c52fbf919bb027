"""Other clusters in the browser: a link with its pause, its lost source and its promotion; mirrors by their topics."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from tests.console.conftest import watch
from tests.console.secured import console_with, person, sign_in
from tests.linked_clusters.conftest import Pair
from tests.linked_clusters.pair import barnabas, caught_up, create, link, produce
from tests.mirror.sides import Sides, has_values
from tests.support.cluster import BarnabasCluster
from tests.support.console import ConsoleProcess, Watched

pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def pair(tmp_path: Path) -> Pair:
    return Pair(tmp_path)


def test_a_link_is_shown_paused_and_promoted(browser: Browser, pair: Pair, tmp_path: Path) -> None:
    console = ConsoleProcess(tmp_path / "console", pair.target.bootstrap)
    try:
        pair.start()
        source, target = pair.source.bootstrap, pair.target.bootstrap
        create(source, "orders", 2)
        create(source, "views")
        produce(source, "orders", [f"v{n}" for n in range(50)])
        link(target, source)
        caught_up(target, ["orders", "views"], {})
        console.start()
        for watched in watch(browser, console.address):
            _follow(watched, pair)
            _lose_the_source(watched, pair)
            _promote(watched, pair)
    finally:
        console.stop()
        pair.stop()


def _follow(watched: Watched, pair: Pair) -> None:
    page = watched.open("/c/local/clusters")
    row = page.get_by_role("table", name="Links").get_by_role("row").filter(has_text="east")
    expect(row).to_contain_text(pair.source.bootstrap)
    expect(row).to_contain_text("follows")
    expect(row.get_by_role("cell").nth(2)).to_have_text("2")
    expect(row.get_by_role("cell").nth(3)).to_have_text("3")
    expect(row.get_by_role("cell").nth(4)).to_have_text("0")
    expect(row.get_by_role("cell").nth(6)).to_have_text(re.compile(r"[\d.]+ K?i?B/s"))
    expect(page.get_by_text("No topic here belongs to a mirror.")).to_be_visible()
    assert watched.serious() == []

    page.get_by_role("button", name="Pause east").click()
    expect(page.get_by_text("paused east")).to_be_visible()
    expect(row).to_contain_text("paused")
    produce(pair.source.bootstrap, "views", ["while it is paused"])
    page.get_by_role("link", name="east").click()
    expect(page.get_by_text("Nothing is brought over while the link is paused.")).to_be_visible()
    page.get_by_role("button", name="Resume east").click()
    expect(page.get_by_text("east goes on")).to_be_visible()
    views = page.get_by_role("table", name="Partitions").get_by_role("row").filter(has_text="views")
    expect(views.get_by_role("cell").nth(2)).to_have_text("1")
    expect(views).to_contain_text("follows")
    assert watched.serious() == []
    _look_narrow_and_dark(watched)
    page.goto(f"{watched.address}/c/local/access/changes")
    changes = page.get_by_role("table", name="Changes")
    expect(changes.get_by_role("row").filter(has_text="pause a link")).to_contain_text("links/east/pause")


def _look_narrow_and_dark(watched: Watched) -> None:
    page = watched.page
    page.set_viewport_size({"width": 380, "height": 900})
    page.emulate_media(color_scheme="dark")
    for path, seen in (("clusters/east", "Topics, groups synced"), ("clusters", "Mirrors")):
        expect(watched.open(f"/c/local/{path}").get_by_text(seen).first).to_be_visible()
        assert watched.serious() == []
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth"), "it scrolls sideways"
    page.emulate_media(color_scheme="light")
    page.set_viewport_size({"width": 1280, "height": 860})


def _lose_the_source(watched: Watched, pair: Pair) -> None:
    page = watched.open("/c/local/clusters/east")
    pair.source.kill()
    expect(page.get_by_text("The source is not reached since 20")).to_be_visible()
    expect(page.get_by_role("table", name="Partitions")).to_contain_text("source not reached for")
    expect(page.get_by_role("alert").filter(has_text="connection refused").first).to_be_visible()
    pair.source.start()
    expect(page.get_by_text("The source is not reached since 20")).to_be_hidden()


def _promote(watched: Watched, pair: Pair) -> None:
    page = watched.open("/c/local/clusters")
    row = page.get_by_role("table", name="Links").get_by_role("row").filter(has_text="east")
    target = pair.target.bootstrap
    barnabas("link", "promote", "east", "--topics", "orders", "-b", target)
    expect(row.get_by_role("link", name="orders")).to_be_visible()
    expect(row).to_contain_text("follows")
    barnabas("link", "promote", "east", "-b", target)
    expect(row).to_contain_text("promoted")
    watched.expected("404")
    watched.open("/c/local/clusters/nowhere")
    expect(page.get_by_role("alert")).to_contain_text("there is no link 'nowhere'")


def test_who_may_not_change_sees_no_button_and_is_refused(browser: Browser, pair: Pair, tmp_path: Path) -> None:
    config = f'read_only = true\n[clusters.local]\nbootstrap = "{pair.target.bootstrap}"\n'
    try:
        pair.start()
        create(pair.source.bootstrap, "orders")
        link(pair.target.bootstrap, pair.source.bootstrap)
        with console_with(tmp_path / "console", config) as console, person(browser, console) as reader:
            page = reader.open("/c/local/clusters")
            expect(page.get_by_role("table", name="Links")).to_contain_text("follows")
            expect(page.get_by_role("button", name="Pause east")).to_have_count(0)
            pause = f"{console.address}/api/clusters/local/links/east/pause"
            assert page.request.post(pause).status == 403, "a change needs the token of the page"
            token = page.request.get(f"{console.address}/api/session").json()["csrf"]
            refused = page.request.post(pause, headers={"x-csrf-token": token}, data={})
            assert (refused.status, refused.json()["error"]) == (403, "this console is read-only for you")
            expect(page.get_by_role("table", name="Links")).to_contain_text("follows")
    finally:
        pair.stop()


def test_links_are_not_for_everybody(browser: Browser, safe: ConsoleProcess) -> None:
    """The cluster decides: who may not describe it is told so, and sees the rest of the page."""
    with person(browser, safe) as alice, person(browser, safe) as admin:
        page = sign_in(alice, "/c/safe/clusters", "alice")
        expect(page.get_by_text("Links are not shown:")).to_be_visible()
        expect(page.get_by_role("heading", name="Mirrors")).to_be_visible()
        page = sign_in(admin, "/c/safe/clusters", "admin")
        expect(page.get_by_text("No topic here follows another cluster.")).to_be_visible()


def test_a_cluster_without_any(watched: Watched, cluster: BarnabasCluster) -> None:
    page = watched.open("/c/local/overview")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.keyboard.press("g")
    page.keyboard.press("r")
    expect(page.get_by_role("heading", name="Other clusters")).to_be_visible()
    expect(page.get_by_text("barnabas link create NAME")).to_be_visible()


def test_a_mirror_is_known_by_its_topics(browser: Browser, tmp_path: Path) -> None:
    sides = Sides(tmp_path)
    console = ConsoleProcess(tmp_path / "console", sides.west)
    try:
        sides.start()
        create(sides.east, "orders")
        produce(sides.east, "orders", ["one"])
        sides.mirror("--topics", "orders")
        has_values(sides.west, "east.orders", ["one"])
        console.start()
        for watched in watch(browser, console.address):
            page = watched.open("/c/local/clusters")
            row = page.get_by_role("table", name="Mirrors").get_by_role("row").filter(has_text="from there to here")
            expect(row).to_contain_text("east")
            expect(row).to_contain_text("alive")
            expect(row.get_by_role("cell").nth(3)).to_have_text("1")
            assert watched.serious() == []
    finally:
        console.stop()
        sides.stop()
