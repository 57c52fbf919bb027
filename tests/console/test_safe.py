"""Signing in, what people may see and do, roles, several clusters, TLS: against a secured cluster and real browsers."""

from __future__ import annotations

import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from playwright.sync_api import Browser, expect

from barnabas.console.people.passwords import hashed
from tests.console.secured import PASSWORDS, console_with, person, sign_in
from tests.support.certificates import Authority, Certificate
from tests.support.cluster import BarnabasCluster
from tests.support.console import ConsoleProcess, Watched


def test_two_people_at_once_see_their_own_topics(browser: Browser, safe: ConsoleProcess) -> None:
    with person(browser, safe) as alice, person(browser, safe) as bob:
        hers = sign_in(alice, "/c/safe/topics", "alice")
        his = sign_in(bob, "/c/safe/topics", "bob")
        expect(hers.get_by_role("link", name="orders")).to_be_visible()
        expect(hers.get_by_role("link", name="payments.cards")).to_be_hidden()
        expect(his.get_by_role("link", name="payments.cards")).to_be_visible()
        expect(his.get_by_role("link", name="orders")).to_be_hidden()
        size = hers.get_by_role("row").filter(has=hers.get_by_role("link", name="orders")).get_by_role("cell").nth(5)
        expect(size).to_have_text("–")  # DescribeLogDirs is not hers: not known, which is not 0
        assert alice.serious() == []


def test_what_the_cluster_refuses_is_one_sentence(browser: Browser, safe: ConsoleProcess) -> None:
    with person(browser, safe) as alice:
        alice.expected("40[0-9]")
        page = sign_in(alice, "/c/safe/access/users", "alice")
        expect(page.get_by_role("alert")).to_contain_text("the cluster does not allow it to you")
        alice.open("/c/safe/access/audit")
        expect(page.get_by_role("alert")).to_contain_text("you may not read the audit trail")
        alice.open("/c/safe/topics")
        page.get_by_role("button", name="Create topic").click()
        page.get_by_label("Name").fill("not-hers")
        page.get_by_role("button", name="Create", exact=True).click()
        expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("was not created")
        alice.open("/c/safe/cluster/quorum")
        expect(page.get_by_text("The quorum cannot be shown:")).to_be_visible()
        alice.open("/c/safe/access/changes")
        table = page.get_by_role("table", name="Changes")
        expect(table.get_by_role("row", name=re.compile("create a topic")).first).to_contain_text("refused")
        expect(table.get_by_text("admin", exact=True)).to_have_count(0)  # what others did is not hers to see


def test_a_wrong_password_is_slow_slower_the_next_time_and_says_no_more(browser: Browser, safe: ConsoleProcess) -> None:
    with person(browser, safe) as stranger:
        stranger.expected("401")
        took = {}
        for name, user in (("known", "bob"), ("again", "bob"), ("unknown", "nobody-of-this-name")):
            began = time.monotonic()
            page = sign_in(stranger, "/c/safe/topics", user, "wrong")
            expect(page.get_by_role("alert")).to_have_text("user or password are wrong")
            took[name] = time.monotonic() - began
        assert took["known"] >= 1 and took["unknown"] >= 1 and took["again"] >= 2
        assert stranger.page.context.cookies()[0]["httpOnly"]


def test_signing_out_ends_the_session_and_its_stream(browser: Browser, safe: ConsoleProcess) -> None:
    with person(browser, safe) as alice:
        alice.expected("401|EventSource|Failed to load")
        page = sign_in(alice, "/c/safe/topics", "alice")
        second = Watched(page.context.new_page(), safe.address)
        second.open("/c/safe/topics")
        expect(second.page.get_by_role("link", name="orders")).to_be_visible()
        stolen = page.context.cookies()
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("button", name="Sign in")).to_be_visible()
        expect(second.page.get_by_role("button", name="Sign in")).to_be_visible()  # by itself, within a look
        page.context.clear_cookies()
        page.context.add_cookies(stolen)  # type: ignore[arg-type]  # playwright's own dictionaries
        alice.open("/c/safe/topics")
        expect(page.get_by_role("button", name="Sign in")).to_be_visible()


def test_a_role_without_data_that_may_only_look(browser: Browser, safe: ConsoleProcess) -> None:
    with person(browser, safe) as support:
        support.expected("403")
        page = sign_in(support, "/c/safe/topics", "support")
        expect(page.get_by_role("link", name="payments.cards")).to_be_visible()
        expect(page.get_by_role("button", name="Create topic")).to_be_hidden()
        page.get_by_role("link", name="payments.cards").click()
        expect(page.get_by_text("You may see topics, but not their records.")).to_be_visible()
        told = page.evaluate("""async () => {
            const session = await (await fetch("/api/session")).json();
            const headers = {"X-CSRF-Token": session.csrf};
            const change = await fetch("/api/clusters/safe/topics", {method: "POST", body: '{"name": "x"}', headers});
            const read = await fetch("/api/clusters/safe/topics/payments.cards/messages");
            return [change.status, (await change.json()).error, read.status, (await read.json()).error];
        }""")
        assert told == [
            403,
            "this console is read-only for you",
            403,
            "you may see topics, but not their records",
        ]
        support.open("/c/safe/access/changes")
        tried = page.get_by_role("row", name=re.compile("support.*this console is read-only for you"))
        expect(tried).to_be_visible()  # also what was refused is written down


def test_one_console_has_several_clusters(browser: Browser, safe: ConsoleProcess) -> None:
    with person(browser, safe) as watched:
        page = watched.open("/")
        expect(page.get_by_role("heading", name="Clusters")).to_be_visible()
        page.get_by_role("link", name=re.compile("^open")).click()
        expect(page.get_by_text("All is well.")).to_be_visible()
        page.get_by_label("Cluster").select_option("safe")
        expect(page.get_by_role("button", name="Sign in")).to_be_visible()
        page.get_by_label("User").fill("bob")
        page.get_by_label("Password").fill(PASSWORDS["bob"])
        page.get_by_role("button", name="Sign in").click()
        page.get_by_label("Cluster").select_option("open")
        expect(page.get_by_role("button", name="Sign out")).to_be_hidden()
        watched.open("/c/nowhere/topics")
        expect(page.get_by_text("There is no cluster nowhere here.")).to_be_visible()


@pytest.fixture(scope="module")
def own(cluster: BarnabasCluster, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A config with people of the console's own, on a cluster without logins, and TLS for browsers."""
    folder = tmp_path_factory.mktemp("own")
    server: Certificate = Authority(folder).issue("console", hosts=("127.0.0.1",))
    config = f'''
certificate = "{server.certificate}"
key = "{server.key}"
[clusters.orders]
bootstrap = "{cluster.bootstrap}"
[users]
ada = "{hashed("ada's password")}"
eve = "{hashed("eve's password")}"
[[roles]]
name = "cards hidden"
users = ["eve"]
mask = [".member.name", ".price"]
topics = ["orders"]
'''
    return folder, config


def test_people_of_the_console_itself_by_tls_with_masked_fields(browser: Browser, own: tuple[Path, str]) -> None:
    folder, config = own
    with console_with(folder, config) as serving:
        context = browser.new_context(ignore_https_errors=True)
        try:
            eve = Watched(context.new_page(), serving.address.replace("http:", "https:"))
            eve.expected("40[0-9]")
            page = eve.open("/c/orders/topics")
            page.get_by_label("User").fill("eve")
            page.get_by_label("Password").fill("eve's password")
            page.get_by_role("button", name="Sign in").click()
            expect(page.get_by_role("link", name="orders")).to_be_visible()
            cookie = context.cookies()[0]
            assert cookie["secure"] and cookie["sameSite"] == "Strict"
            told = page.evaluate("""async () => {
                const topics = "/api/clusters/orders/topics";
                const read = async (topic) => (await fetch(`${topics}/${topic}/messages?count=1`)).json();
                return [(await read("orders")).records[0].value.text, (await read("payments.cards")).error];
            }""")
            assert "item-" in told[0] and '"price":"***","member":{"name":"***"}' in told[0], told
            assert told[1] == "you may not see the records of payments.cards"
        finally:
            context.close()


@pytest.mark.parametrize(
    ("config", "told"),
    [
        ('host = "0.0.0.0"\n[clusters.a]\nbootstrap = "127.0.0.1:1"', "would let everybody on 0.0.0.0 into a"),
        (
            'host = "0.0.0.0"\n[clusters.a]\nbootstrap = "127.0.0.1:1"\nsecurity.protocol = "SASL_SSL"',
            "passwords would travel to 0.0.0.0 in plain text",
        ),
    ],
)
def test_a_console_that_is_not_safe_does_not_start(tmp_path: Path, config: str, told: str) -> None:
    path = tmp_path / "console.toml"
    path.write_text(config)
    code, line = run_cli("console", "--port", "0", "--config", str(path))
    assert code == 1 and told in line and line.count("\n") == 1, line


def run_cli(*words: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-m", "barnabas.cli.main", *words], capture_output=True, text=True, timeout=30
    )
    return done.returncode, done.stderr
