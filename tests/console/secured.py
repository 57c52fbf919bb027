"""A secured cluster of three nodes with users and rules, consoles that people sign in to, and such people."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Browser, Page, expect

from barnabas.cli.secure.files import CA_CERTIFICATE
from tests.conftest import FAST_GROUPS
from tests.support.cluster import BarnabasCluster
from tests.support.console import ConsoleProcess, Watched
from tests.support.nodes_security import NodesSecurity, allow, by_certificate, create_user

PASSWORDS = {"admin": "pw of admin", "alice": "pw of alice", "bob": "pw of bob", "support": "pw of support"}
SETTINGS = {
    **FAST_GROUPS,
    "audit.enable": "true",
    "delegation.token.secret.key": "a-secret-key-of-a-test",
    "connection.failed.authentication.delay.ms": "2",
}


class Secured:
    """Topics `orders` (alice) and `payments.cards` (bob, support); admin may do everything."""

    def __init__(self, folder: Path) -> None:
        self.security: NodesSecurity = by_certificate(folder / "secure")
        self.cluster = BarnabasCluster(folder, 3, SETTINGS, security=self.security)

    def start(self) -> None:
        from tests.console.conftest import fill

        self.cluster.start()
        fill(self.cluster.bootstrap)
        for user, password in PASSWORDS.items():
            create_user(self.cluster.bootstrap, user, password)
        allow(self.cluster.bootstrap, "orders", "alice")
        allow(self.cluster.bootstrap, "payments.cards", "bob")
        allow(self.cluster.bootstrap, "payments.cards", "support")

    def settings(self, name: str) -> str:
        """Of a console's --config file."""
        return (
            f'[clusters.{name}]\nbootstrap = "{self.cluster.nodes_bootstrap}"\nsecurity.protocol = "SASL_SSL"\n'
            f'ssl.ca.location = "{self.security.folder / CA_CERTIFICATE}"\n'
        )


@contextmanager
def console_with(folder: Path, config: str) -> Iterator[ConsoleProcess]:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "console.toml"
    path.write_text(config)
    serving = ConsoleProcess(folder, "", ["--config", str(path)])
    try:
        serving.start()
        yield serving
    finally:
        serving.stop()


@contextmanager
def person(browser: Browser, console: ConsoleProcess) -> Iterator[Watched]:
    """A browser of their own: another cookie."""
    context = browser.new_context(viewport={"width": 1280, "height": 860})
    watched = Watched(context.new_page(), console.address)
    try:
        yield watched
        assert watched.unexpected() == []
    finally:
        context.close()


def sign_in(watched: Watched, path: str, user: str, password: str | None = None) -> Page:
    page = watched.open(path)
    page.get_by_label("User").fill(user)
    page.get_by_label("Password").fill(PASSWORDS[user] if password is None else password)
    page.get_by_role("button", name="Sign in").click()
    if password is None:
        expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    return page
