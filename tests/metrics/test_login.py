"""metrics.authentication=basic through TLS: users of the cluster read the metrics, nobody else; guessing is slow."""

from __future__ import annotations

import ssl
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from barnabas.observe.samples import parse
from barnabas.observe.scrape import NodeScraper, ScrapeFailed
from tests.metrics.conftest import until
from tests.support.certificates import Authority
from tests.support.members import QUIET
from tests.support.process import free_port
from tests.support.servers import BarnabasNode

PASSWORDS = {"reader": ("reader-pw", ScramMechanism.SCRAM_SHA_256), "guest": ("guest-pw", ScramMechanism.SCRAM_SHA_512)}


class Secured:
    def __init__(self, folder: Path) -> None:
        authority, port = Authority(folder), free_port()
        settings = {
            "metrics.listeners": f"https://127.0.0.1:{port}",
            "metrics.authentication": "basic",
            "listener.name.metrics.ssl.keystore.type": "PEM",
            "listener.name.metrics.ssl.keystore.location": str(authority.issue("node-1").pem),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
        }
        self.node = BarnabasNode(folder / "node", settings)
        self.url = f"https://127.0.0.1:{port}"
        self.tls = ssl.create_default_context(cafile=str(authority.file))

    def text(self, path: str, user: str = "", password: str = "") -> str:
        login = (user, password) if user else None
        scraper = NodeScraper(self.url, login=login, tls=self.tls, timeout_s=15)
        try:
            return scraper.text(path)
        finally:
            scraper.close()

    def status(self, user: str = "", password: str = "") -> int | None:
        try:
            self.text("/metrics", user, password)
        except ScrapeFailed as failed:
            return failed.status
        return 200

    def is_ready(self) -> bool:
        try:
            return "ready" in self.text("/health/ready")
        except ScrapeFailed:
            return False


@pytest.fixture(scope="module")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    secured = Secured(tmp_path_factory.mktemp("metrics-login"))
    secured.node.start()
    try:
        until(secured.is_ready)
        admin = AdminClient({**QUIET, "bootstrap.servers": secured.node.bootstrap})
        for user, (password, mechanism) in PASSWORDS.items():
            made = UserScramCredentialUpsertion(user, ScramCredentialInfo(mechanism, 4096), password.encode())
            admin.alter_user_scram_credentials([made])[user].result(20)
        rule = AclBinding(
            ResourceType.BROKER,
            "kafka-cluster",
            ResourcePatternType.LITERAL,
            "User:reader",
            "*",
            AclOperation.DESCRIBE,
            AclPermissionType.ALLOW,
        )
        admin.create_acls([rule])[rule].result(20)
        yield secured
    finally:
        secured.node.stop()


def test_who_may_read(secured: Secured) -> None:
    assert secured.status() == 401
    assert secured.status("reader", "wrong") == 401
    assert secured.status("nobody", "reader-pw") == 401
    assert secured.status("guest", "guest-pw") == 403, "known, but without Describe on Cluster"
    assert secured.status("reader", "reader-pw") == 200


def test_health_needs_no_login(secured: Secured) -> None:
    assert "live" in secured.text("/health/live")


def test_a_password_is_checked_once_a_minute_and_failures_wait_longer_and_longer(secured: Secured) -> None:
    assert secured.status("reader", "reader-pw") == 200
    before = parse(secured.text("/metrics", "reader", "reader-pw")).value("barnabas_failed_logins_total")
    assert before is not None
    took = []
    for _ in range(6):
        began = time.monotonic()
        assert secured.status("somebody", "guess") == 401
        took.append(time.monotonic() - began)
    assert took[-1] > 0.35 > 0.1, took
    after = parse(secured.text("/metrics", "reader", "reader-pw")).value("barnabas_failed_logins_total")
    assert after == before + 6


def test_a_changed_password_counts_at_once(secured: Secured) -> None:
    admin = AdminClient({**QUIET, "bootstrap.servers": secured.node.bootstrap})
    assert secured.status("reader", "reader-pw") == 200
    made = UserScramCredentialUpsertion(
        "reader", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096), b"another-pw"
    )
    admin.alter_user_scram_credentials([made])["reader"].result(20)
    try:
        assert secured.status("reader", "reader-pw") == 401
        assert secured.status("reader", "another-pw") == 200
    finally:
        made = UserScramCredentialUpsertion(
            "reader", ScramCredentialInfo(ScramMechanism.SCRAM_SHA_256, 4096), b"reader-pw"
        )
        admin.alter_user_scram_credentials([made])["reader"].result(20)


def test_no_password_is_in_the_log(secured: Secured) -> None:
    said = secured.node.tail(1_000)
    assert not any(password in said for password in ("reader-pw", "another-pw", "guest-pw", "guess"))
