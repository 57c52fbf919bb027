"""Delegation tokens with real clients: Kafka's tool, a Java client that logs in with one, our command line, expiry."""

from __future__ import annotations

import contextlib
import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from barnabas.cli.app import invoke
from barnabas.cli.common.failure import Failure
from barnabas.client.errors import BarnabasError
from tests.support.java import ACLS, CONSOLE_CONSUMER, CONSOLE_PRODUCER, TOPICS, JavaTools
from tests.support.members import until
from tests.support.process import free_port
from tests.support.servers import BarnabasNode

pytestmark = pytest.mark.timeout(180)

TOOL = "org.apache.kafka.tools.DelegationTokenCommand"
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required"
USERS = ("admin", "alice", "bob")


class Cluster:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        port = free_port()
        users = " ".join(f'user_{user}="{user}-pw"' for user in USERS)
        settings = {
            "listeners": f"LOGIN://127.0.0.1:{port}",
            "listener.security.protocol.map": "LOGIN:SASL_PLAINTEXT",
            "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "listener.name.login.plain.sasl.jaas.config": f'{PLAIN} username="admin" password="admin-pw" {users};',
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:admin",
            "delegation.token.secret.key": "a secret that nobody sees",
            "delegation.token.expiry.check.interval.ms": "200",
            "connection.failed.authentication.delay.ms": "2",
        }
        self.node = BarnabasNode(folder / "node", settings, port=port)
        for user in USERS:
            line = f'sasl.jaas.config={PLAIN} username="{user}" password="{user}-pw";'
            self.write(user, f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n{line}\n")

    def write(self, name: str, text: str) -> Path:
        path = self.folder / f"{name}.properties"
        path.write_text(text)
        path.chmod(0o600)
        return path

    def token_file(self, token_id: str, hmac: str, mechanism: str = "SCRAM-SHA-256") -> str:
        line = f'sasl.jaas.config={SCRAM} username="{token_id}" password="{hmac}" tokenauth="true";'
        text = f"security.protocol=SASL_PLAINTEXT\nsasl.mechanism={mechanism}\n{line}\n"
        return str(self.write(f"token-{token_id[-6:]}", text))

    def as_user(self, user: str) -> tuple[str, ...]:
        return "--bootstrap-server", self.node.bootstrap, "--command-config", str(self.folder / f"{user}.properties")

    def cli(self, profile: str, *words: str) -> tuple[str, str]:
        """(what it printed, the failure or nothing)."""
        with pytest.MonkeyPatch.context() as patch, contextlib.redirect_stdout(io.StringIO()) as out:
            patch.setenv("BARNABAS_PROFILE", profile)
            try:
                assert invoke([*words, "-b", self.node.bootstrap]) == 0
            except (Failure, BarnabasError) as failure:
                return out.getvalue(), str(failure)
            return out.getvalue(), ""

    def json(self, user: str, *words: str) -> Any:
        out, failure = self.cli(str(self.folder / f"{user}.properties"), *words, "--json")
        assert not failure
        return json.loads(out)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory, java: JavaTools) -> Iterator[Cluster]:
    made = Cluster(tmp_path_factory.mktemp("tokens"))
    made.node.start()
    try:
        java.run(TOPICS, *made.as_user("admin"), "--create", "--topic", "t")
        rules = ("--add", "--allow-principal", "User:alice", "--operation", "All", "--topic", "t", "--group", "g")
        java.run(ACLS, *made.as_user("admin"), *rules)
        yield made
    finally:
        made.node.stop()


def created(out: str) -> tuple[str, str]:
    found = re.search(r"^(\S{22})\s+(\S{80,})\s", out, re.MULTILINE)
    assert found, out
    return found[1], found[2]


@pytest.mark.parametrize("mechanism", ["SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_kafkas_tool_and_a_java_client(cluster: Cluster, java: JavaTools, mechanism: str) -> None:
    made = java.run(
        TOOL, *cluster.as_user("alice"), "--create", "--max-life-time-period", "-1", "--renewer-principal", "User:bob"
    )
    token_id, hmac = created(made.out)
    file = cluster.token_file(token_id, hmac, mechanism)
    where = ("--bootstrap-server", cluster.node.bootstrap, "--topic", "t", "--command-config", file)
    java.run(CONSOLE_PRODUCER, *where, stdin=f"by {token_id}\n")
    read = ("--from-beginning", "--max-messages", "1", "--timeout-ms", "30000", "--group", "g")
    assert "by " in java.run(CONSOLE_CONSUMER, *where, *read).out
    # Who has logged in by a token may not have another one.
    refused = java.run(
        TOOL,
        *("--bootstrap-server", cluster.node.bootstrap, "--command-config", file),
        *("--create", "--max-life-time-period", "-1"),
        check=False,
    )
    assert "Delegation Token requests are not allowed" in refused.out + refused.err
    renewed = java.run(TOOL, *cluster.as_user("bob"), "--renew", "--renew-time-period", "-1", "--hmac", hmac)
    assert "Completed renew operation" in renewed.out
    listed = java.run(TOOL, *cluster.as_user("bob"), "--describe", "--owner-principal", "User:alice")
    assert token_id in listed.out
    expired = java.run(TOOL, *cluster.as_user("alice"), "--expire", "--expiry-time-period", "-1", "--hmac", hmac)
    assert "Completed expire operation" in expired.out
    late = java.run(
        TOPICS, "--bootstrap-server", cluster.node.bootstrap, "--command-config", file, "--list", check=False
    )
    assert "invalid credentials with SASL mechanism" in late.out + late.err


def test_our_command_line(cluster: Cluster) -> None:
    saved = cluster.folder / "job.properties"
    made = cluster.json("alice", "token", "create", "--renewer", "bob", "--save", str(saved))
    assert "hmac" not in made and saved.stat().st_mode & 0o077 == 0
    refused = cluster.cli(str(saved), "user", "list")[1]  # it logs in, and alice may not list users
    assert "cluster authorization failed" in refused
    assert "only who has logged in with credentials of its own may" in cluster.cli(str(saved), "token", "list")[1]
    assert "librdkafka cannot log in with a delegation token" in cluster.cli(str(saved), "topic", "list")[1]
    (seen,) = [token for token in cluster.json("bob", "token", "list") if token["token"] == made["token"]]
    assert seen["owner"] == "alice" and seen["renewers"] == ["bob"] and "hmac" not in seen
    assert cluster.json("bob", "token", "renew", made["token"], "--for", "2h")["expires_ms"] < made["expires_ms"]
    cluster.json("alice", "token", "expire", made["token"])
    assert not [token for token in cluster.json("bob", "token", "list") if token["token"] == made["token"]]
    _, refused = cluster.cli(str(cluster.folder / "alice.properties"), "token", "create", "--owner", "bob")
    assert "delegation token authorization failed" in refused


def test_the_controller_removes_expired_tokens_and_a_restart_keeps_the_others(cluster: Cluster) -> None:
    kept, gone = (cluster.json("alice", "token", "create")["token"] for _ in range(2))
    cluster.json("alice", "token", "expire", gone, "--in", "1ms")

    def tokens() -> set[str]:
        return {token["token"] for token in cluster.json("alice", "token", "list")}

    until(lambda: gone not in tokens(), "the token is removed")
    cluster.node.stop()
    cluster.node.start()
    assert kept in tokens() and gone not in tokens()
    log = cluster.node.log_path.read_text()
    assert "a secret that nobody sees" not in log
