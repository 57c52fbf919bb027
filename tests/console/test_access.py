"""Access in a real browser, as an admin of a secured cluster: users, rules, who may, quotas, tokens, audit, changes."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from tests.console.secured import Secured, person, sign_in
from tests.support.console import ConsoleProcess, Watched


@pytest.fixture(scope="module")
def admin(browser: Browser, safe: ConsoleProcess) -> Iterator[Watched]:
    """Signed in once for all tests of this file."""
    with person(browser, safe) as watched:
        sign_in(watched, "/c/safe/access", "admin")
        yield watched


def goes_to(watched: Watched, part: str) -> Page:
    page = watched.open(f"/c/safe/access/{part}")
    expect(page.get_by_role("navigation", name="Parts of access")).to_be_visible()
    return page


def field(page: Page, name: str) -> Locator:
    """Of the dialog that is open; the label of a field has its hint as well."""
    return page.get_by_role("dialog").locator(f"[name={name}]")


def test_without_access_control_the_page_says_how_to_switch_it_on(watched: Watched) -> None:
    page = watched.open("/c/local/access")
    expect(page.get_by_text("Access control is off.")).to_be_visible()
    expect(page.get_by_text("barnabas up --secure")).to_be_visible()
    expect(page.get_by_role("link", name="Rules")).to_be_hidden()
    assert watched.serious() == []


def test_a_user_from_its_creation_to_its_end(admin: Watched, safe: ConsoleProcess, browser: Browser) -> None:
    page = goes_to(admin, "users")
    expect(page.get_by_role("row", name=re.compile("^admin"))).to_contain_text("you")
    page.get_by_role("button", name="Create user").click()
    page.get_by_label("Name").fill("carol/of the shop")
    page.get_by_role("button", name="Create", exact=True).click()
    made = page.get_by_role("dialog").locator("code").inner_text()
    page.get_by_role("button", name="Done").click()
    row = page.get_by_role("row", name=re.compile("^carol"))
    expect(row).to_contain_text("SCRAM-SHA-512")
    with person(browser, safe) as carol:
        sign_in(carol, "/c/safe/topics", "carol/of the shop", made)
        expect(carol.page.get_by_role("button", name="Sign out")).to_be_visible()
    page.get_by_role("button", name="New password for carol/of the shop").click()
    page.get_by_label("choose the password myself").check()
    page.get_by_label("Password", exact=True).fill("another one")
    page.get_by_role("button", name="Change password").click()
    expect(page.get_by_text("carol/of the shop can log in")).to_be_visible()
    page.get_by_label("Filter users").fill("carol")
    expect(page.get_by_role("row", name=re.compile("^admin"))).to_be_hidden()
    page.get_by_role("button", name="Delete carol/of the shop").click()
    page.get_by_label("to confirm").fill("carol/of the shop")
    page.get_by_role("button", name="Delete", exact=True).click()
    expect(row).to_be_hidden()
    assert admin.serious() == []


def test_rules_by_shorthand_and_one_by_one(admin: Watched) -> None:
    page = goes_to(admin, "rules")
    table = page.get_by_role("table", name="Rules")
    expect(table.get_by_text("topic:orders")).to_be_visible()
    for kind, fields, wanted in (
        ("producer", {"topic": "views-*", "transactional": "shop"}, "topic:views-*"),
        ("consumer", {"topic": "views", "group": "readers"}, "group:readers"),
        ("transactional", {"transactional": "billing"}, "transactional-id:billing"),
        ("rule", {"name": "secrets", "host": "10.0.0.7"}, "topic:secrets"),
    ):
        page.get_by_role("button", name="Add rules").click()
        field(page, "user").fill("dora")
        field(page, "kind").select_option(kind)
        for name, value in fields.items():
            field(page, name).fill(value)
        if kind == "rule":
            field(page, "operation").select_option("alter-configs")
            field(page, "permission").select_option("deny")
        page.get_by_role("button", name="Add", exact=True).click()
        expect(page.get_by_role("dialog")).to_be_hidden()
        expect(table.get_by_text(wanted, exact=True).first).to_be_visible()
    page.get_by_label("Filter rules").fill("dora")
    expect(table.get_by_role("row", name=re.compile("^alice"))).to_have_count(0)
    page.get_by_label("Permission").select_option("deny")
    expect(table.get_by_role("row")).to_have_count(2)
    table.get_by_role("button", name=re.compile("Remove deny alter-configs on topic:secrets")).click()
    expect(
        page.get_by_role("dialog").get_by_text("dora may not alter-configs topic:secrets from 10.0.0.7")
    ).to_be_visible()
    page.get_by_role("button", name="Remove", exact=True).click()
    expect(page.get_by_text("No rule is like that.")).to_be_visible()
    assert admin.serious() == []


def test_a_rule_that_makes_no_sense_is_refused_in_place(admin: Watched) -> None:
    admin.expected("400")
    page = goes_to(admin, "rules")
    page.get_by_role("button", name="Add rules").click()
    field(page, "user").fill("dora")
    field(page, "kind").select_option("consumer")
    field(page, "topic").fill("views")
    field(page, "group").fill("   ")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("a consumer needs a group")
    field(page, "kind").select_option("rule")
    field(page, "type").select_option("cluster")
    page.get_by_role("button", name="Close").click()
    expect(page.get_by_role("dialog")).to_be_hidden()


def test_who_may_do_this_and_by_which_rule(admin: Watched) -> None:
    page = goes_to(admin, "who")
    page.get_by_label("Operation").select_option("read")
    page.get_by_label("Name").fill("orders")
    page.get_by_role("button", name="Ask").click()
    table = page.get_by_role("table", name="Who may do this")
    alice = table.get_by_role("row", name=re.compile("^alice"))
    expect(alice).to_contain_text("by the rule that User:alice may all topic:orders")
    bob = table.get_by_role("row", name=re.compile("^bob"))
    expect(bob).to_contain_text("may not")
    expect(table.get_by_role("row", name=re.compile("^admin"))).to_contain_text("a super user")
    expect(table.get_by_role("row", name=re.compile("^anybody else"))).to_contain_text("may not")
    assert admin.serious() == []


def test_quotas(admin: Watched) -> None:
    page = goes_to(admin, "quotas")
    page.get_by_role("button", name="Set quota").click()
    field(page, "user").fill("alice")
    field(page, "producer_byte_rate").fill("1MiB/s")
    page.get_by_role("button", name="Set", exact=True).click()
    row = page.get_by_role("row", name=re.compile("^user alice"))
    expect(row).to_contain_text("1.0 MiB/s")
    page.get_by_role("button", name="Change quotas of user alice").click()
    field(page, "request_percentage").fill("half of it")
    admin.expected("400")
    page.get_by_role("button", name="Set", exact=True).click()
    expect(page.get_by_role("dialog").get_by_role("alert")).to_contain_text("'half of it' is no amount")
    field(page, "request_percentage").fill("50%")
    page.get_by_role("button", name="Set", exact=True).click()
    expect(row).to_contain_text("50 %")
    page.get_by_role("button", name="Remove quotas of user alice").click()
    page.get_by_role("button", name="Remove", exact=True).click()
    expect(row).to_be_hidden()


def test_a_token_from_its_creation_to_its_end(admin: Watched) -> None:
    page = goes_to(admin, "tokens")
    page.get_by_role("button", name="Create token").click()
    page.get_by_label("Renewers").fill("alice, bob")
    page.get_by_role("button", name="Create", exact=True).click()
    token = page.get_by_role("dialog").locator("code").first.inner_text()
    page.get_by_role("button", name="Done").click()
    row = page.get_by_role("row", name=re.compile(f"^{re.escape(token)}"))
    expect(row).to_contain_text("alice, bob")
    page.get_by_role("button", name=f"Renew {token}").click()
    expect(page.get_by_text("expires 2")).to_be_visible()
    page.get_by_role("button", name=f"End {token}").click()
    page.get_by_role("button", name="End it now").click()
    expect(row).to_be_hidden()


def test_the_audit_trail_newest_first_and_filtered(admin: Watched, secured: Secured) -> None:
    page = goes_to(admin, "audit")
    table = page.get_by_role("table", name="Audit trail")
    expect(table.get_by_text("login").first).to_be_visible()
    page.get_by_label("Operation").fill("alter")
    page.get_by_label("Resource").fill("user:al*")
    page.get_by_role("button", name="Filter").click()
    expect(table.get_by_role("row")).to_have_count(2)
    expect(table).to_contain_text("AlterUserScramCredentials")
    page.get_by_label("only what was refused").check()
    page.get_by_role("button", name="Filter").click()
    expect(page.get_by_text("There is no such event.")).to_be_visible()
    assert admin.serious() == []


def test_what_this_console_changed_is_on_record(admin: Watched) -> None:
    page = goes_to(admin, "quotas")
    page.get_by_role("button", name="Set quota").click()
    field(page, "kind").select_option("ip")
    field(page, "ip").fill("10.0.0.9")
    field(page, "connection_creation_rate").fill("10/s")
    page.get_by_role("button", name="Set", exact=True).click()
    expect(page.get_by_text("quotas were changed")).to_be_visible()
    page.get_by_role("link", name="Changes here").click()
    page.get_by_label("Filter changes").fill("10.0.0.9")
    row = page.get_by_role("table", name="Changes").get_by_role("row", name=re.compile("change quotas"))
    expect(row).to_contain_text("admin")
    expect(row).to_contain_text("127.0.0.1")
    expect(row).to_contain_text("done")
    assert admin.serious() == []
