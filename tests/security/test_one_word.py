"""`barnabas up --secure`: what a person gets from one flag, with the commands that are printed to be pasted."""

import os
import re
import signal
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from barnabas.cli.secure import bundle
from barnabas.cli.secure.files import write_secret
from tests.support.java import JavaTools
from tests.support.members import until
from tests.support.process import free_port

BARNABAS = [sys.executable, "-m", "barnabas.cli.main"]


@dataclass
class Secured:
    process: subprocess.Popen[str]
    bootstrap: str
    data: Path
    environ: dict[str, str]
    said: str

    @property
    def folder(self) -> Path:
        return self.data / "secure"

    def run(self, *words: str, stdin: str = "", **environ: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*BARNABAS, *words, "-b", self.bootstrap],
            input=stdin, capture_output=True, text=True, timeout=120, env=self.environ | environ,
        )  # fmt: skip

    def ok(self, *words: str, stdin: str = "", **environ: str) -> str:
        done = self.run(*words, stdin=stdin, **environ)
        assert done.returncode == 0, (words, done.stdout, done.stderr)
        return done.stdout


def start(folder: Path, *words: str, port: int | None = None) -> Secured:
    environ = {**os.environ, "XDG_CONFIG_HOME": str(folder / "config"), "XDG_DATA_HOME": str(folder / "share")}
    data, port = folder / "data", port or free_port()
    command = [*BARNABAS, "up", "--secure", "--data", str(data), "--port", str(port), *words]
    log = (folder / "up.log").open("a")
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True, env=environ)
    assert process.stdout is not None
    lines: list[str] = []
    for line in process.stdout:
        lines.append(line)
        if "user create" in line:  # the last of what it prints
            break
    log.close()
    said = "".join(lines)
    found = re.search(r"up on (\S+)", said)
    assert found is not None, (folder / "up.log").read_text()
    return Secured(process, found[1], data, environ, said)


def stop(secured: Secured) -> None:
    secured.process.send_signal(signal.SIGTERM)
    try:
        secured.process.wait(60)
    finally:
        secured.process.kill()
        assert secured.process.stdout is not None
        secured.process.stdout.close()


@pytest.fixture(scope="module")
def one(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    secured = start(tmp_path_factory.mktemp("one"))
    yield secured
    stop(secured)


def test_files_are_for_their_owner_only(one: Secured) -> None:
    files = {path.name: path.stat().st_mode & 0o777 for path in one.folder.iterdir()}
    assert {"ca.pem", "ca.key", "node-1.pem", "admin.properties", "admin.librdkafka.properties", "admin.scram"} <= set(
        files
    )
    assert {mode for name, mode in files.items() if not name.startswith(".")} == {0o600}


def test_the_commands_of_this_user_find_the_admin(one: Secured) -> None:
    one.ok("topic", "create", "greetings")
    one.ok("produce", "greetings", stdin="hello\n")
    assert "hello" in one.ok("consume", "greetings")
    assert "1 of 1 up" in one.ok("cluster", "status")


def test_it_says_how_every_kind_of_client_connects(one: Secured) -> None:
    said = {line.split()[0] for line in one.said.splitlines() if line.startswith("  ")}
    assert {"CLI", "Python", "Spark", "Java", "kcat"} <= said
    assert one.said.count(one.bootstrap) >= 6


@pytest.mark.parametrize("client", ["CLI", "Python", "kcat", "audit"])
def test_what_is_printed_works_when_it_is_pasted(one: Secured, client: str) -> None:
    (line,) = (line.strip() for line in one.said.splitlines() if line.split()[:1] == [client])
    pasted = line.removeprefix(client).strip()
    secret = re.search(r'password="([^"]*)"', (one.folder / "admin.properties").read_text())
    assert secret is not None and secret[1] not in one.said
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    command = [sys.executable, "-c", pasted] if client == "Python" else ["bash", "-c", pasted]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=one.environ | {"PATH": path})
    assert done.returncode == 0, (pasted, done.stderr)
    if client == "kcat":
        assert one.bootstrap in done.stdout


def test_a_stranger_gets_nothing(one: Secured, tmp_path: Path) -> None:
    done = one.run("topic", "list", XDG_CONFIG_HOME=str(tmp_path))
    assert done.returncode != 0 and "Traceback" not in done.stderr


def test_kafkas_own_tools_use_the_printed_file(one: Secured, java: JavaTools) -> None:
    file = str(one.folder / "admin.properties")
    assert file in one.said
    assert one.run("topic", "create", "listed").returncode == 0
    tool = "org.apache.kafka.tools.TopicCommand"
    listed = java.run(tool, "--bootstrap-server", one.bootstrap, "--command-config", file, "--list")
    assert "listed" in listed.out


def test_users_come_and_go(one: Secured, tmp_path: Path) -> None:
    properties = tmp_path / "alice.properties"
    assert "alice can log in" in one.ok("user", "create", "alice", "--save", str(properties))
    assert properties.stat().st_mode & 0o777 == 0o600
    assert "SCRAM-SHA-256, SCRAM-SHA-512" in one.ok("user", "list")
    assert one.run("user", "create", "alice").returncode != 0
    logged_in = one.run("topic", "list", BARNABAS_PROFILE=str(properties))
    assert logged_in.returncode == 0 and "greetings" not in logged_in.stdout  # nobody said what alice may do
    one.ok("user", "password", "alice", "--password-file", "-", stdin="another one\n")
    assert one.run("topic", "list", BARNABAS_PROFILE=str(properties)).returncode != 0
    one.ok("user", "delete", "alice", "--yes")
    assert "alice" not in one.ok("user", "list")


def serial(address: str, ca: Path) -> object:
    host, _, port = address.rpartition(":")
    context = ssl.create_default_context(cafile=str(ca))
    with (
        socket.create_connection((host, int(port)), 5) as plain,
        context.wrap_socket(plain, server_hostname=host) as tls,
    ):
        certificate = tls.getpeercert()
        assert certificate is not None
        return certificate["serialNumber"]


def test_mistakes_with_users_cost_nothing(one: Secured, tmp_path: Path) -> None:
    saved, wrong = tmp_path / "carol.properties", tmp_path / "wrong.properties"
    one.ok("user", "create", "carol", "--save", str(saved))
    kept = saved.read_text()
    again = one.run("user", "create", "dave", "--save", str(saved))
    assert again.returncode and "exists" in again.stderr and saved.read_text() == kept
    assert "dave" not in one.ok("user", "list")
    own = one.run("user", "delete", "admin", "--yes")
    assert own.returncode and "you are logged in as admin" in own.stderr
    wrong.write_text(re.sub(r'password="[^"]*"', 'password="wrong"', kept))
    refused = one.run("user", "list", BARNABAS_PROFILE=str(wrong))
    assert refused.returncode and "the login failed" in refused.stderr and "unexpected" not in refused.stderr


def test_a_secured_folder_is_not_opened_by_a_forgotten_flag(one: Secured) -> None:
    command = [*BARNABAS, "up", "--data", str(one.data), "--port", "0"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, env=one.environ, check=False)
    assert done.returncode and "belongs to a secured node. Start it with --secure" in done.stderr


def test_certificates_are_renewed_while_the_node_runs(one: Secured) -> None:
    ca = one.folder / "ca.pem"
    before = serial(one.bootstrap, ca)
    done = subprocess.run(
        [*BARNABAS, "secure", "rotate", str(one.folder)], capture_output=True, text=True, env=one.environ, timeout=60
    )
    assert done.returncode == 0, done.stderr
    until(lambda: serial(one.bootstrap, ca) != before, "the node uses the new certificate")
    assert "hello" in one.ok("consume", "greetings")
    status = subprocess.run(
        [*BARNABAS, "secure", "status", str(one.folder)], capture_output=True, text=True, env=one.environ, timeout=60
    )
    assert status.returncode == 0 and "node-1.pem" in status.stdout


def test_it_starts_again_with_what_it_has(tmp_path: Path) -> None:
    first = start(tmp_path)
    first.ok("user", "create", "alice", "--save", str(tmp_path / "alice.properties"))
    kept = {path.name: path.read_bytes() for path in first.folder.iterdir()}
    stop(first)
    port = int(first.bootstrap.rpartition(":")[2])
    again = start(tmp_path, port=port)
    try:
        assert {path.name: path.read_bytes() for path in again.folder.iterdir()} == kept
        assert "alice" in again.ok("user", "list", BARNABAS_PROFILE=str(again.folder / "admin.properties"))
    finally:
        stop(again)


def test_a_profile_of_a_node_that_is_gone(one: Secured, tmp_path: Path) -> None:
    """Commands say which file asks for TLS and what to do; a plain `up` at the address removes the pointer itself."""
    environ = one.environ | {"XDG_CONFIG_HOME": str(tmp_path / "config"), "XDG_DATA_HOME": str(tmp_path / "share")}
    plain = f"127.0.0.1:{free_port()}"
    left_behind = {address: tmp_path / "config/barnabas/local" / address.replace(":", "_") for address in (
        plain, one.bootstrap)}  # fmt: skip
    authority = tmp_path / "gone"
    bundle.ensure(authority, "node-1", [])
    for file in left_behind.values():
        write_secret(file, str(authority / "admin.properties").encode())

    def said(*words: str, code: int = 1) -> str:
        done = subprocess.run([*BARNABAS, *words], capture_output=True, text=True, timeout=60, env=environ)
        assert done.returncode == code and "Traceback" not in done.stderr, (words, done.stderr)
        return done.stderr

    way_out = f"If the node that `up --secure` started there is gone, remove {left_behind[one.bootstrap]}"
    for words in (("topic", "list"), ("user", "list")):
        told = said(*words, "-b", one.bootstrap)
        assert f"a certificate of another authority than that of {authority / 'ca.pem'}" in told and way_out in told
    command = [*BARNABAS, "up", "--data", str(tmp_path / "data"), "--port", plain.rpartition(":")[2]]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environ)
    try:
        assert process.stdout is not None and "up on" in process.stdout.readline()
        assert not left_behind[plain].exists() and left_behind[one.bootstrap].exists()
        said("topic", "list", "-b", plain, code=0)
        write_secret(left_behind[plain], str(authority / "admin.properties").encode())
        for words in (("topic", "list"), ("user", "list")):
            told = said(*words, "-b", plain)
            assert f"does not speak TLS, but {authority / 'admin.properties'} has security.protocol=SASL_SSL" in told
            assert f"remove {left_behind[plain]}" in told
    finally:
        process.terminate()
        _, errors = process.communicate(timeout=60)
    assert f"removed {left_behind[plain]}: it was for a secured node at this address" in errors


@pytest.mark.timeout(240)
def test_three_nodes_and_a_kill(tmp_path: Path) -> None:
    """Between nodes too: TLS with certificates of both sides; a killed node is missed at once."""
    port = next(found for found in iter(free_port, 0) if all(is_free(found + more) for more in range(3)))
    cluster = start(tmp_path, "--nodes", "3", port=port)
    try:
        assert "3 of 3 up" in cluster.ok("cluster", "status")
        done = cluster.ok("cluster", "kill-test", "--yes")
        assert re.search(r"lost\s+0\b", done) and re.search(r"twice\s+0\b", done), done
        gap = re.search(r"gap\s+([\d.]+) (ms|s)", done)
        assert gap is not None and float(gap[1]) / (1000 if gap[2] == "ms" else 1) < 6, done  # Kafka's session is 9 s
        until(lambda: "3 of 3 up" in cluster.run("cluster", "status").stdout, "the killed node is back", 60)
        rejected = strange_node(cluster, tmp_path / "stranger")
        assert "cannot be" in rejected or "waits" in rejected or "failed" in rejected, rejected
        assert "3 of 3 up" in cluster.ok("cluster", "status")
    finally:
        stop(cluster)


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


def strange_node(cluster: Secured, folder: Path) -> str:
    """A process with certificates of another authority tries to join; gives what it said."""
    folder.mkdir()
    words = ["--data", str(folder / "data"), "--port", str(free_port()), "--set", "node.id=9"]
    join = f"controller.quorum.bootstrap.servers={cluster.bootstrap}"
    command = [*BARNABAS, "up", "--secure", *words, "--set", join, "--log-level", "info"]
    environ = cluster.environ | {"XDG_CONFIG_HOME": str(folder / "config")}
    log = folder / "log"
    with log.open("w") as out:
        stranger = subprocess.Popen(command, stdout=out, stderr=subprocess.STDOUT, env=environ)
    try:
        time.sleep(5)
        assert " is up on " not in log.read_text()
    finally:
        stranger.kill()
        stranger.wait()
    return log.read_text()
