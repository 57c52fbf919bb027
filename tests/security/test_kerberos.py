"""Kerberos: a real KDC, and clients of three families that log in with its tickets (RFC 4752).

Java's clients, kafka-python (by the same library as the node) and Debian's kcat (librdkafka with Cyrus SASL).
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.support.kerberos import REALM, Realm
from tests.support.process import free_port
from tests.support.servers import LIBS, BarnabasNode

pytestmark = pytest.mark.timeout(180)
MODULE = "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true"
SERVICE = "kafka/localhost"  # what a client asks a ticket for, by the name it connects to


class Kerberized(NamedTuple):
    realm: Realm
    node: BarnabasNode
    bootstrap: str
    keytabs: dict[str, Path]


@pytest.fixture(scope="module")
def kerberized(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kerberized]:
    folder, realm = tmp_path_factory.mktemp("node"), Realm(tmp_path_factory.mktemp("realm"))
    try:
        keytabs = {name: realm.keytab(name) for name in (SERVICE, "alice", "mallory/away")}
        plain, port = free_port(), free_port()
        node = BarnabasNode(folder, settings(plain, port, keytabs[SERVICE], SERVICE), plain)
        node.env |= {name: value for name, value in realm.environ.items() if name.startswith("KRB5")}
        node.start()
        try:
            yield Kerberized(realm, node, f"localhost:{port}", keytabs)
        finally:
            node.stop()
    finally:
        realm.stop()


def settings(plain: int, port: int, keytab: Path, principal: str) -> dict[str, str]:
    return {
        "listeners": f"PLAINTEXT://127.0.0.1:{plain},TICKETS://127.0.0.1:{port}",
        "advertised.listeners": f"PLAINTEXT://127.0.0.1:{plain},TICKETS://localhost:{port}",
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,TICKETS:SASL_PLAINTEXT",
        "inter.broker.listener.name": "PLAINTEXT",
        "sasl.enabled.mechanisms": "GSSAPI",
        "sasl.kerberos.service.name": "kafka",
        "sasl.kerberos.principal.to.local.rules": "RULE:[1:$1],RULE:[2:$1](kafka)",
        "listener.name.tickets.gssapi.sasl.jaas.config": f'{MODULE} keyTab="{keytab}" principal="{principal}@{REALM}";',
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS;User:alice",
    }


def python(to: Kerberized, user: str, text: str) -> str:
    program = (
        "import sys\nfrom kafka import KafkaConsumer, KafkaProducer\n"
        "how = dict(bootstrap_servers=sys.argv[1], security_protocol='SASL_PLAINTEXT', sasl_mechanism='GSSAPI',\n"
        "           sasl_kerberos_service_name='kafka', sasl_kerberos_domain_name='localhost')\n"
        "producer = KafkaProducer(**how)\n"
        "producer.send('python', sys.argv[2].encode()).get(20)\nproducer.close()\n"
        "consumer = KafkaConsumer('python', group_id='g', auto_offset_reset='earliest', **how)\n"
        "print(next(consumer).value.decode())\nconsumer.close()\n"
    )
    environ = to.realm.ticket(user, to.keytabs[user])
    done = run([sys.executable, "-W", "ignore", "-c", program, to.bootstrap, text], environ)
    return done.stdout.strip()


def kcat(to: Kerberized, user: str, text: str) -> str:
    words = ["kcat", "-b", to.bootstrap, "-X", "security.protocol=SASL_PLAINTEXT", "-X", "sasl.mechanism=GSSAPI"]
    words += ["-X", "sasl.kerberos.service.name=kafka", "-X", "sasl.kerberos.kinit.cmd=true"]
    environ = to.realm.ticket(user, to.keytabs[user])
    run([*words, "-P", "-t", "kcat"], environ, text)
    return run([*words, "-C", "-t", "kcat", "-o", "beginning", "-e", "-q"], environ).stdout.strip()


def java(to: Kerberized, user: str, text: str) -> str:
    config = to.node.data.parent / f"{user.replace('/', '-')}.properties"
    login = f'{MODULE} keyTab="{to.keytabs[user]}" principal="{user}@{REALM}";'
    config.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=GSSAPI\nsasl.kerberos.service.name=kafka\n"
        f"sasl.jaas.config={login}\n"
    )
    jvm = ["java", "-Xmx128M", f"-Djava.security.krb5.conf={to.realm.config}", "-cp", f"{LIBS}/*"]
    where = ["--bootstrap-server", to.bootstrap, "--topic", "java", "--command-config", str(config)]
    run([*jvm, "org.apache.kafka.tools.ConsoleProducer", *where], to.realm.environ, text)
    read = ["org.apache.kafka.tools.consumer.ConsoleConsumer", *where, "--from-beginning", "--max-messages", "1"]
    return run([*jvm, *read, "--timeout-ms", "30000"], to.realm.environ).stdout.strip()


def run(command: list[str], environ: dict[str, str], text: str = "") -> subprocess.CompletedProcess[str]:
    done = subprocess.run(command, env=environ, input=text, capture_output=True, text=True, timeout=90, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done


@pytest.mark.parametrize("client", [python, kcat, java])
def test_a_ticket_lets_its_owner_in(kerberized: Kerberized, client: Callable[[Kerberized, str, str], str]) -> None:
    assert client(kerberized, "alice", "by ticket") == "by ticket"


def test_whom_no_rule_names_is_refused(kerberized: Kerberized) -> None:
    with pytest.raises(AssertionError, match=r"KafkaTimeoutError|AuthenticationFailed"):
        python(kerberized, "mallory/away", "no")
    assert f"no rule gives mallory/away@{REALM} a name" in kerberized.node.tail(200)


def test_a_client_without_a_ticket_is_refused(kerberized: Kerberized) -> None:
    """The node has the key of its service only: somebody who makes tokens up gets nowhere."""
    from barnabas.wire import apis
    from tests.support.wire import WireClient

    with WireClient(kerberized.bootstrap, 20) as client:
        client.call(apis.SASL_HANDSHAKE, 1, {"mechanism": "GSSAPI"})
        answer = client.call(apis.SASL_AUTHENTICATE, 0, {"auth_bytes": b"\x60\x03\x06\x01\x2a"})
    assert answer["error_code"] == 58 and "GSSAPI" in answer["error_message"]


@pytest.mark.parametrize(
    ("keytab", "principal", "said"),
    [("missing.keytab", SERVICE, "cannot be used with the keytab"), ("", SERVICE, "GSSAPI needs")],
)
def test_a_node_without_its_key_does_not_start(tmp_path: Path, keytab: str, principal: str, said: str) -> None:
    more = settings(free_port(), free_port(), tmp_path / keytab, principal)
    if not keytab:
        del more["listener.name.tickets.gssapi.sasl.jaas.config"]
    words = [word for name, value in more.items() for word in ("--set", f"{name}={value}")]
    command = [sys.executable, "-m", "barnabas.cli.main", "up", "--data", str(tmp_path / "data"), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode != 0 and said in done.stderr and "Traceback" not in done.stderr
