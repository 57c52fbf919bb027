"""A running cluster without security gets it, node by node, while clients write and read: docs/security.md."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from barnabas.cli.secure import bundle
from barnabas.cli.secure.files import CA_CERTIFICATE
from tests.cluster.conftest import FAST
from tests.cluster.load import TimedWriter
from tests.crash.load import Reader, check_books, read_all
from tests.support.members import QUIET, until
from tests.support.nodes_security import PASSWORD, USER, allow, create_user
from tests.support.process import free_port
from tests.support.servers import BarnabasNode

pytestmark = [pytest.mark.timeout(300), pytest.mark.long]
NODES = (1, 2, 3)
PARTITIONS = 3
WRITES = {"enable.idempotence": True, "message.timeout.ms": 60_000, "linger.ms": 0}


class Rolling:
    """Three nodes, whose settings change one by one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.open = {number: free_port() for number in NODES}
        self.safe = {number: free_port() for number in NODES}
        self.nodes: dict[int, BarnabasNode] = {}
        for number in NODES:
            settings = self.without_security(number)
            self.nodes[number] = BarnabasNode(folder / f"node-{number}", settings, self.open[number])

    @property
    def client(self) -> dict[str, str]:
        """Of the secured listener."""
        return {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": USER,
            "sasl.password": PASSWORD,
            "ssl.ca.location": str(self.folder / "secure" / CA_CERTIFICATE),
        }

    # --- the settings of each step ------------------------------------------------------------------------------------

    def _common(self, number: int, voters: Mapping[int, int]) -> dict[str, str]:
        quorum = ",".join(f"{each}@127.0.0.1:{port}" for each, port in voters.items())
        return {**FAST, "node.id": str(number), "controller.quorum.voters": quorum}

    def without_security(self, number: int) -> dict[str, str]:
        return self._common(number, self.open) | {"listeners": f"PLAINTEXT://127.0.0.1:{self.open[number]}"}

    def second_listener(self, number: int) -> dict[str, str]:
        """Both listeners; nodes use the old one."""
        bundle.ensure(self.folder / "secure", f"node-{number}", ["127.0.0.1"])
        secured = bundle.settings(self.folder / "secure", f"node-{number}")
        for later in ("authorizer.class.name", "super.users"):
            del secured[later]
        both = f"PLAINTEXT://127.0.0.1:{self.open[number]},SASL_SSL://127.0.0.1:{self.safe[number]}"
        more = {"listeners": both, "inter.broker.listener.name": "PLAINTEXT"}
        return self._common(number, self.open) | secured | more | {"listener.security.protocol.map": _BOTH}

    def nodes_move(self, number: int) -> dict[str, str]:
        """Nodes use the new one; rules may be added, and count where there are any."""
        secured = bundle.settings(self.folder / "secure", f"node-{number}")
        access = {name: secured[name] for name in ("authorizer.class.name", "super.users")}
        moved = {"inter.broker.listener.name": "SASL_SSL", "allow.everyone.if.no.acl.found": "true"}
        return self.second_listener(number) | self._common(number, self.safe) | access | moved

    def first_listener_goes(self, number: int) -> dict[str, str]:
        """The new one alone, and access rules."""
        secured = bundle.settings(self.folder / "secure", f"node-{number}")
        only = {"listeners": f"SASL_SSL://127.0.0.1:{self.safe[number]}"}
        return self._common(number, self.safe) | secured | only

    # --- steps --------------------------------------------------------------------------------------------------------

    def start(self) -> None:
        for node in self.nodes.values():
            node.launch()
        until(lambda: _brokers(self.bootstrap(self.open), {}) == 3, "three nodes are up", 60)

    def roll(self, settings: object, topic: str, ports: Mapping[int, int], client: Mapping[str, str]) -> None:
        """Every node stops and starts with the next settings, when all replicas are in sync."""
        for number, node in self.nodes.items():
            assert node.stop() == 0, node.tail()
            told = settings(number)  # type: ignore[operator]
            file = self.folder / f"node-{number}" / "server.properties"
            file.write_text("".join(f"{name}={value}\n" for name, value in told.items()))
            node.launch()
            try:
                until(lambda: _in_sync(self.bootstrap(ports), topic, client), f"node {number} is in sync again", 60)
            except AssertionError:
                logs = "\n".join(f"--- node {each}\n{other.tail(25)}" for each, other in self.nodes.items())
                raise AssertionError(f"node {number} does not come back\n{logs}") from None

    def bootstrap(self, ports: Mapping[int, int]) -> str:
        return ",".join(f"127.0.0.1:{port}" for port in ports.values())

    def stop(self) -> None:
        for node in self.nodes.values():
            node.stop()


_BOTH = "PLAINTEXT:PLAINTEXT,SASL_SSL:SASL_SSL"


def _admin(bootstrap: str, client: Mapping[str, str]) -> AdminClient:
    return AdminClient({**QUIET, "bootstrap.servers": bootstrap, **client})


def _brokers(bootstrap: str, client: Mapping[str, str]) -> int:
    try:
        return len(_admin(bootstrap, client).list_topics(timeout=5).brokers)
    except Exception:
        return 0


def _in_sync(bootstrap: str, topic: str, client: Mapping[str, str]) -> bool:
    try:
        found = _admin(bootstrap, client).list_topics(topic, timeout=5)
    except Exception:  # the node that was asked is down
        return False
    partitions = found.topics[topic].partitions.values()
    return len(found.brokers) == 3 and len(partitions) == PARTITIONS and all(len(p.isrs) == 3 for p in partitions)


@pytest.fixture
def rolling(tmp_path: Path) -> Iterator[Rolling]:
    made = Rolling(tmp_path)
    try:
        made.start()
        yield made
    finally:
        made.stop()


def test_security_comes_to_a_cluster_that_runs(rolling: Rolling) -> None:
    plain, safe = rolling.bootstrap(rolling.open), rolling.bootstrap(rolling.safe)
    topics = ("before", "after")
    new = [NewTopic(name, PARTITIONS, 3, config={"min.insync.replicas": "2"}) for name in topics]
    admin = _admin(plain, {})
    for made in admin.create_topics(new).values():
        made.result(20)
    old_writer = TimedWriter(plain, "before", PARTITIONS, 100, **WRITES)
    old_reader = Reader(plain, "before", "readers")
    old_writer.await_more(50)
    rolling.roll(rolling.second_listener, "before", rolling.open, {})
    create_user(plain)
    new_writer = TimedWriter(safe, "after", PARTITIONS, 100, **WRITES, **rolling.client)
    new_reader = Reader(safe, "after", "safe-readers", **rolling.client)
    new_writer.await_more(50)
    rolling.roll(rolling.nodes_move, "before", rolling.open, {})
    old_writer.await_more(50)
    old_writer.finish()
    old_reader.finish()
    assert not old_writer.failed and not old_writer.fatal
    check_books(old_writer, read_all(plain, "before", PARTITIONS), idempotent=True)
    allow(plain, "after")  # what its client does, before it is refused without a rule
    rolling.roll(rolling.first_listener_goes, "after", rolling.safe, rolling.client)
    new_writer.await_more(50)
    new_writer.finish()
    assert not new_writer.failed and not new_writer.fatal
    found = {p: [(o, v) for (part, o), v in sorted(new_writer.acked.items()) if part == p] for p in range(PARTITIONS)}
    until(lambda: all(new_reader.committed.get(p, 0) > found[p][-1][0] for p in found), "the group has read it all", 60)
    new_reader.finish()
    seen = {(p, o): v for p, records in new_reader.seen.items() for o, v in records}
    assert all(seen[place] == value for place, value in new_writer.acked.items())
    assert _brokers(plain, {}) == 0, "nobody is served without a login any more"
