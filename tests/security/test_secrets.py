"""No secret leaves the files it is kept in: everything that nodes, commands and tools say is searched for every secret.

Two nodes with their logs at DEBUG: one by `barnabas up --secure` (SCRAM users, certificates of its own), one by Kafka's
settings (PLAIN users in a JAAS line, a PEM key with a password).
"""

from __future__ import annotations

import base64
import io
import json
import os
import re
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, ResourceType
from cryptography.hazmat.primitives import serialization

from barnabas.cli.main import main
from tests.security.conftest import PLAIN_MODULE
from tests.security.test_one_word import BARNABAS, Secured, start, stop
from tests.support.certificates import Authority
from tests.support.java import CONFIGS, JavaTools
from tests.support.process import free_port
from tests.support.servers import BarnabasNode

ALICE, BOB, WRONG, DYNAMIC = "alice-Pa55-on-stdin", "bob-Pa55-by-Java", "wrong-Pa55-guess", "dynamic-Pa55-of-a-key"
PLAIN, KEY = "plain-Pa55-in-jaas", "key-Pa55-of-the-PEM"
PEM_LINES = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----\n(.*?)-----END", re.DOTALL)


@dataclass
class Said:
    """What was said, by whom."""

    texts: list[tuple[str, str]] = field(default_factory=list)

    def add(self, who: str, text: str) -> str:
        self.texts.append((who, text))
        return text

    def search(self, secrets: dict[str, bytes | str]) -> None:
        assert all(len(secret) >= 8 for secret in secrets.values()), "too short to be searched for"
        for who, text in self.texts:
            for name, secret in secrets.items():
                for form in forms(secret):
                    assert form not in text, f"{name} is in what {who} said"


def forms(secret: bytes | str) -> list[str]:
    """As it might be printed."""
    if isinstance(secret, str):
        return [secret, base64.b64encode(secret.encode()).decode()]
    encoded = base64.b64encode(secret).decode()
    return [secret.hex(), encoded, encoded.rstrip("="), base64.urlsafe_b64encode(secret).decode(), repr(secret)[2:-1]]


def private_key(pem: Path) -> str:
    """A line from the middle of it: no certificate has that."""
    found = PEM_LINES.search(pem.read_text())
    assert found is not None
    return found[1].split("\n")[1]


@pytest.fixture
def said() -> Said:
    return Said()


class Commands:
    """Commands of this process: its start would be most of their time."""

    def __init__(self, said: Said, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self._said, self._capsys, self._monkeypatch = said, capsys, monkeypatch

    def run(self, *words: str, stdin: str = "", fails: bool = False) -> str:
        self._monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        code = main(list(words))
        told = self._capsys.readouterr()
        assert (code != 0) is fails, (words, told)
        self._said.add(" ".join(words), told.err)
        return self._said.add(" ".join(words), told.out)


@pytest.fixture
def commands(said: Said, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Commands:
    return Commands(said, capsys, monkeypatch)


@pytest.fixture
def secured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Secured]:
    audit_file = f"audit.log.file={tmp_path / 'audit.log'}"
    node = start(tmp_path, "--log-level", "debug", "--set", audit_file)
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.setenv(name, node.environ[name])
    yield node
    stop(node)


def kept_keys(commands_out: str) -> dict[str, bytes | str]:
    """What the metadata log keeps of passwords."""
    found: dict[str, bytes | str] = {}
    for line in commands_out.splitlines():
        decoded = json.loads(line).get("decoded", {})
        for name in ("salt", "stored_key", "server_key"):
            if name in decoded:
                found[f"{name} of {decoded['name']}, {decoded['mechanism']}"] = bytes.fromhex(decoded[name])
    return found


def test_a_node_of_up_secure(
    secured: Secured, said: Said, commands: Commands, java: JavaTools, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    b = ("-b", secured.bootstrap)
    said.add("up", secured.said)
    properties, bad = secured.folder / "admin.properties", tmp_path / "bad.properties"
    commands.run("user", "create", "alice", "--password-file", "-", *b, stdin=f"{ALICE}\n")
    commands.run("user", "create", "carol", "--save", str(tmp_path / "carol.properties"), *b)
    bad.write_text(re.sub('password=".*"', f'password="{WRONG}"', properties.read_text()))
    bad.chmod(0o600)
    monkeypatch.setenv("BARNABAS_PROFILE", str(bad))
    monkeypatch.setenv("BARNABAS_TRACE", "")
    commands.run("topic", "list", *b, fails=True)
    commands.run("user", "list", *b, fails=True)
    monkeypatch.delenv("BARNABAS_PROFILE")
    tool = ("--bootstrap-server", secured.bootstrap, "--command-config", str(properties))
    user = ("--entity-type", "users", "--entity-name", "bob")
    done = java.run(CONFIGS, *tool, "--alter", *user, "--add-config", f"SCRAM-SHA-256=[password={BOB}]")
    said.add("kafka-configs --alter", str(done))
    said.add("kafka-configs users", str(java.run(CONFIGS, *tool, "--describe", "--entity-type", "users")))
    node = ("--entity-type", "brokers", "--entity-name", "1", "--all")
    listed = said.add("kafka-configs brokers", str(java.run(CONFIGS, *tool, "--describe", *node)))
    assert "ssl.key.password=null sensitive=true" in listed
    for words in (
        ("user", "list"), ("cluster", "status"), ("config", "list", "node", "1"), ("audit", "--json"),
        ("audit",), ("acl", "list"),
    ):  # fmt: skip
        commands.run(*words, *b)
    commands.run("doctor", "--data", str(secured.data), *b)
    metadata = str(secured.data / "__cluster_metadata-0")
    shown = commands.run("log", "dump", metadata, "--records", "--json")
    assert "(hidden: --show-secrets)" in shown
    secrets = kept_keys(Commands(Said(), commands._capsys, monkeypatch).run(
        "log", "dump", metadata, "--records", "--json", "--show-secrets"
    ))  # fmt: skip
    assert len(secrets) == 3 * (1 + 2 + 2 + 1 + 1), "admin and bob by one mechanism, alice and carol by two, nobody"
    admin = json.loads((secured.folder / "admin.scram").read_text())
    secrets |= {
        "the admin's password": properties.read_text().split('password="')[1].split('"')[0],
        "the admin's salted password": bytes.fromhex(admin["salted_password"]),
        "alice's password": ALICE,
        "bob's password": BOB,
        "carol's password": (tmp_path / "carol.properties").read_text().split('password="')[1].split('"')[0],
        "a wrong password": WRONG,
        "the node's key": private_key(secured.folder / "node-1.pem"),
        "the authority's key": private_key(secured.folder / "ca.key"),
    }
    said.add("the command line of the node", command_line(secured.process.pid))
    said.add("the audit file", (tmp_path / "audit.log").read_text())
    said.add("status.json", (secured.data / "status.json").read_text())
    log = said.add("the log", (tmp_path / "up.log").read_text())
    assert "login of 'admin'" in log and "failed" in log, "the log has what it is to be searched for"
    said.search(secrets)
    only_for_owner(secured)
    passwords = [secret.encode() for secret in secrets.values() if isinstance(secret, str)]
    for path in secured.data.rglob("*"):
        if path.is_file() and path.parent != secured.folder:
            data = path.read_bytes()
            assert not [secret for secret in passwords if secret in data], f"a password is in {path}"
            assert bytes.fromhex(admin["salted_password"]) not in data, f"{path} lets one log in"


def only_for_owner(secured: Secured) -> None:
    for path in secured.folder.iterdir():
        assert path.stat().st_mode & 0o077 == 0, path


def command_line(pid: int) -> str:
    """Of a process and its children, as everybody on the machine sees them."""
    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return "\n".join(Path(f"/proc/{each}/cmdline").read_text().replace("\0", " ") for each in (pid, *children))


@pytest.fixture
def encrypted(tmp_path: Path) -> tuple[Path, Path]:
    """A key store of PEM whose key has a password; and who signed it."""
    authority = Authority(tmp_path)
    made = authority.issue("node-1", "nodes")
    key = serialization.load_pem_private_key(made.key.read_bytes(), None)
    how = serialization.BestAvailableEncryption(KEY.encode())
    text = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, how)
    store = tmp_path / "encrypted.pem"
    store.write_bytes(text + made.certificate.read_bytes())
    return store, authority.file


def test_a_node_by_kafkas_settings(
    said: Said, commands: Commands, tmp_path: Path, encrypted: tuple[Path, Path]
) -> None:
    store, ca = encrypted
    port = free_port()
    settings = {
        "listeners": f"SECURE://127.0.0.1:{port}",
        "listener.security.protocol.map": "SECURE:SASL_SSL",
        "inter.broker.listener.name": "SECURE",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(store),
        "ssl.key.password": KEY,
        "ssl.truststore.location": str(ca),
        "sasl.enabled.mechanisms": "PLAIN",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        "listener.name.secure.plain.sasl.jaas.config": (
            f'{PLAIN_MODULE} username="node" password="{PLAIN}" user_node="{PLAIN}";'
        ),
        "audit.enable": "true",
    }
    node = BarnabasNode(tmp_path / "node", settings, port=port)
    node.command += ["--log-level", "debug"]
    login: dict[str, str | int | float | bool] = {
        "bootstrap.servers": node.bootstrap, "security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN",
        "sasl.username": "node", "sasl.password": PLAIN, "ssl.ca.location": str(ca),
    }  # fmt: skip
    with node:
        admin = AdminClient(login)
        change = ConfigEntry(
            "listener.name.secure.ssl.key.password", DYNAMIC, incremental_operation=AlterConfigOpType.SET
        )
        broker = ConfigResource(ResourceType.BROKER, "1", incremental_configs=[change])
        for future in admin.incremental_alter_configs([broker]).values():
            future.result(20)
        for found in admin.describe_configs([ConfigResource(ResourceType.BROKER, "1")]).values():
            said.add("DescribeConfigs", "\n".join(f"{each}" for each in found.result(20).values()))
        with pytest.raises(KafkaException):
            AdminClient({**login, "sasl.password": WRONG}).list_topics(timeout=2)
        said.add("the command line of the node", command_line(node.pid))
    commands.run("log", "dump", str(node.data / "__cluster_metadata-0"), "--records", "--json")
    assert any("listener.name.secure.ssl.key.password" in text for _, text in said.texts)
    assert "login of 'node'" in said.add("the log", node.log_path.read_text())
    said.add("a wrong key password", refused(tmp_path, settings | {"ssl.key.password": WRONG}))
    broken = settings["listener.name.secure.plain.sasl.jaas.config"].removesuffix(";") + " and more"
    told = refused(tmp_path, settings | {"listener.name.secure.plain.sasl.jaas.config": broken})
    assert "jaas.config" in said.add("a broken JAAS line", told)
    said.search({"PLAIN": PLAIN, "the key's password": KEY, "a wrong password": WRONG, "a dynamic one": DYNAMIC})


def refused(folder: Path, settings: dict[str, str]) -> str:
    """What `up` says when it cannot start with these."""
    config = folder / "refused.properties"
    config.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    command = [*BARNABAS, "up", "--data", str(folder / "refused"), "--config", str(config), "--log-level", "debug"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env={**os.environ, "BARNABAS_TRACE": ""})
    assert done.returncode != 0, done
    return done.stdout + done.stderr
