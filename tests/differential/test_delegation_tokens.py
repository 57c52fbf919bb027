"""Delegation tokens on a real Apache Kafka and on ours, with logins and rights: the same requests, the same answers.

Ids and HMACs are each server's own; times are compared as what they are apart from the moment of creation.
"""

from __future__ import annotations

import base64
import time
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple

import pytest

from barnabas.broker.access import STANDARD_AUTHORIZER
from barnabas.link.sasl import Credentials, messages
from barnabas.model.access import AclOperation, AclResourceType
from tests.support.process import free_port
from tests.support.servers import BarnabasNode, KafkaNode
from tests.support.wire import CREATE_ACLS, WireClient

pytestmark = pytest.mark.timeout(300)

CREATE, RENEW, EXPIRE, DESCRIBE = 38, 39, 40, 41
HANDSHAKE, AUTHENTICATE = 17, 36
USERS = ("admin", "alice", "bob", "carol", "dave")
PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule required;"
DAY_MS = 86_400_000
SLACK_MS = 60_000  # between the two servers' moments


class Servers(NamedTuple):
    kafka: str
    barnabas: str


def settings(port: int, prefix: str) -> dict[str, str]:
    users = " ".join(f'user_{user}="{user}-pw"' for user in USERS)
    return {
        "listeners": f"{prefix}LOGIN://127.0.0.1:{port}",
        "advertised.listeners": f"{prefix}LOGIN://127.0.0.1:{port}",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "listener.name.login.plain.sasl.jaas.config": f"{PLAIN} {users};",
        "listener.name.login.scram-sha-256.sasl.jaas.config": SCRAM,
        "listener.name.login.scram-sha-512.sasl.jaas.config": SCRAM,
        "authorizer.class.name": STANDARD_AUTHORIZER,
        "super.users": "User:admin;User:ANONYMOUS",
        "delegation.token.secret.key": "a secret of these tests",
        "delegation.token.max.lifetime.ms": str(7 * DAY_MS),
    }


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    ports = [free_port() for _ in range(4)]
    kafka = KafkaNode(tmp_path_factory.mktemp("kafka"))
    inner, controller = kafka.port, kafka.port + 1
    listeners = f"PLAINTEXT://127.0.0.1:{inner},CONTROLLER://127.0.0.1:{controller},"
    more = settings(ports[0], listeners)
    protocols = "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,LOGIN:SASL_PLAINTEXT"
    with kafka.config.open("a") as config:
        config.writelines(f"{name}={value}\n" for name, value in more.items())
        config.write(f"listener.security.protocol.map={protocols}\n")
    ours = settings(ports[1], f"OPEN://127.0.0.1:{ports[2]},")
    ours["listener.security.protocol.map"] = "OPEN:PLAINTEXT,LOGIN:SASL_PLAINTEXT"
    node = BarnabasNode(tmp_path_factory.mktemp("ours"), ours, port=ports[2])
    try:
        kafka.start()
        node.start()
        made = Servers(f"127.0.0.1:{ports[0]}", f"127.0.0.1:{ports[1]}")
        for address in made:
            with connect(address, "admin") as admin:
                add_rules(admin)
        yield made
    finally:
        node.stop()
        kafka.stop()


def connect(address: str, user: str) -> WireClient:
    client = WireClient(address)
    assert client.call(HANDSHAKE, 1, {"mechanism": "PLAIN"})["error_code"] == 0
    answer = client.call(AUTHENTICATE, 2, {"auth_bytes": f"\0{user}\0{user}-pw".encode()})
    assert answer["error_code"] == 0, answer
    return client


def add_rules(admin: WireClient) -> None:
    """carol may create tokens for alice and see bob's."""
    wanted = [("User:alice", AclOperation.CREATE_TOKENS), ("User:bob", AclOperation.DESCRIBE_TOKENS)]
    rules = [
        {
            "resource_type": int(AclResourceType.USER),
            "resource_name": name,
            "resource_pattern_type": 3,
            "principal": "User:carol",
            "host": "*",
            "operation": int(operation),
            "permission_type": 3,
        }
        for name, operation in wanted
    ]
    answer = admin.call(CREATE_ACLS, 3, {"creations": rules})
    assert [each["error_code"] for each in answer["results"]] == [0, 0]


class Side:
    """One server, asked as several users; what is its own in an answer becomes comparable."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.clients = {user: connect(address, user) for user in USERS}
        self.hmacs: dict[str, bytes] = {}
        self.ids: dict[str, str] = {}

    def ask(self, user: str, api_key: int, version: int, body: dict[str, Any]) -> dict[str, Any]:
        return self.clients[user].call(api_key, version, body)

    def close(self) -> None:
        for client in self.clients.values():
            client.close()

    def comparable(self, answer: Any, now_ms: int) -> Any:
        if isinstance(answer, list):
            items = [self.comparable(item, now_ms) for item in answer]
            return sorted((item for item in items if item.get("token_id") != "new"), key=str)  # other tests' tokens
        if not isinstance(answer, dict):
            return answer
        found = {}
        for name, value in answer.items():
            if "timestamp" in name and value > SLACK_MS:
                found[name] = f"in {round((value - now_ms) / SLACK_MS)} min"
            elif name == "token_id" and value:
                found[name] = next((label for label, known in self.ids.items() if known == value), "new")
            elif name == "hmac" and value:
                found[name] = f"{len(value)} bytes"
            else:
                found[name] = self.comparable(value, now_ms)
        return found


@pytest.fixture
def sides(servers: Servers) -> Iterator[list[Side]]:
    made = [Side(address) for address in servers]
    yield made
    for side in made:
        side.close()


def same(sides: list[Side], user: str, api_key: int, version: int, body: dict[str, Any], **hmac_of: str) -> Any:
    """Asks both; `hmac` names the token whose HMAC goes into the body. Kafka learns of its own changes a moment later,
    so it is asked again while it answers otherwise."""
    now_ms = int(time.time() * 1000)
    kafka, ours = (
        partial(side.ask, user, api_key, version, body | ({"hmac": side.hmacs[hmac_of["hmac"]]} if hmac_of else {}))
        for side in sides
    )
    expected = sides[1].comparable(ours(), now_ms)
    deadline = time.monotonic() + 5
    while (answer := sides[0].comparable(kafka(), now_ms)) != expected and time.monotonic() < deadline:
        time.sleep(0.05)
    assert answer == expected, f"{user} asks {api_key} v{version} {body} {hmac_of}"
    return expected


def create(sides: list[Side], label: str, user: str, **body: Any) -> None:
    """A token on both sides, known to `same` by its label."""
    for side in sides:
        answer = side.ask(user, CREATE, 3, NEW | body)
        assert answer["error_code"] == 0, answer
        side.hmacs[label], side.ids[label] = answer["hmac"], answer["token_id"]


NEW: dict[str, Any] = {
    "owner_principal_type": None,
    "owner_principal_name": None,
    "renewers": [],
    "max_lifetime_ms": -1,
}
ALICE = {"owner_principal_type": "User", "owner_principal_name": "alice"}
BOB = {"principal_type": "User", "principal_name": "bob"}


def test_creating(sides: list[Side]) -> None:
    for version in (1, 2, 3):
        assert same(sides, "dave", CREATE, version, NEW)["error_code"] == 0
        same(sides, "dave", CREATE, version, NEW | {"max_lifetime_ms": DAY_MS // 2})
        same(sides, "dave", CREATE, version, NEW | {"max_lifetime_ms": 2**62})
        same(
            sides,
            "dave",
            CREATE,
            version,
            NEW | {"renewers": [BOB, {"principal_type": "Group", "principal_name": "g"}]},
        )
    assert same(sides, "carol", CREATE, 3, NEW | ALICE)["error_code"] == 0
    assert same(sides, "bob", CREATE, 3, NEW | ALICE)["error_code"] == 65
    assert same(sides, "admin", CREATE, 3, NEW | ALICE | {"renewers": [BOB]})["error_code"] == 0
    same(sides, "bob", CREATE, 3, NEW | ALICE | {"owner_principal_name": ""})


def test_renewing_and_expiring(sides: list[Side]) -> None:
    create(sides, "a", "alice", renewers=[BOB])
    for version in (1, 2):
        for user, expected in (("alice", 0), ("bob", 0), ("carol", 63), ("admin", 63)):
            assert same(sides, user, RENEW, version, {"renew_period_ms": -1}, hmac="a")["error_code"] == expected
        same(sides, "alice", RENEW, version, {"renew_period_ms": DAY_MS // 4}, hmac="a")
        same(sides, "alice", RENEW, version, {"renew_period_ms": 100 * DAY_MS}, hmac="a")
        same(sides, "alice", RENEW, version, {"renew_period_ms": 0}, hmac="a")
        assert same(sides, "alice", RENEW, version, {"renew_period_ms": -1, "hmac": b"x" * 64})["error_code"] == 62
        same(sides, "alice", EXPIRE, version, {"expiry_time_period_ms": DAY_MS // 2}, hmac="a")
        assert same(sides, "carol", EXPIRE, version, {"expiry_time_period_ms": -1}, hmac="a")["error_code"] == 63
        assert same(sides, "alice", EXPIRE, version, {"expiry_time_period_ms": -1, "hmac": b""})["error_code"] == 62
    assert same(sides, "bob", EXPIRE, 2, {"expiry_time_period_ms": -1}, hmac="a")["error_code"] == 0
    same(sides, "alice", DESCRIBE, 3, {"owners": None})  # a renewal before Kafka knows of its end would revive it there
    assert same(sides, "alice", RENEW, 2, {"renew_period_ms": -1}, hmac="a")["error_code"] == 62
    create(sides, "soon", "alice")
    same(sides, "alice", EXPIRE, 2, {"expiry_time_period_ms": 0}, hmac="soon")
    time.sleep(0.01)  # time has to pass for it to have expired
    same(sides, "alice", DESCRIBE, 3, {"owners": None})  # as above: until Kafka knows of it
    assert same(sides, "alice", RENEW, 2, {"renew_period_ms": -1}, hmac="soon")["error_code"] == 66
    assert same(sides, "alice", EXPIRE, 2, {"expiry_time_period_ms": 5}, hmac="soon")["error_code"] == 66


def test_describing(sides: list[Side]) -> None:
    create(sides, "of alice", "alice", renewers=[BOB])
    create(sides, "of bob", "bob")
    create(sides, "for alice", "carol", **ALICE)
    for version in (1, 2, 3):
        for user in USERS:
            same(sides, user, DESCRIBE, version, {"owners": None})
            same(sides, user, DESCRIBE, version, {"owners": []})
            same(sides, user, DESCRIBE, version, {"owners": [BOB]})
    seen = same(sides, "carol", DESCRIBE, 3, {"owners": [BOB]})["tokens"]
    assert [token["token_id"] for token in seen] == ["of bob"]


def test_a_login_with_a_token(sides: list[Side]) -> None:
    """Nobody who has logged in by a token may have further ones, and the login ends with the token."""
    create(sides, "login", "alice")
    outcomes = []
    for side in sides:
        found = [log_in(side, "login", mechanism) for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")]
        outcomes.append(found)
    assert outcomes[0] == outcomes[1]
    assert outcomes[1][0][0] == "in 1 d"


def log_in(side: Side, label: str, mechanism: str) -> list[Any]:
    deadline = time.monotonic() + 10
    while True:
        with WireClient(side.address) as client:
            client.call(HANDSHAKE, 1, {"mechanism": mechanism})
            password = base64.b64encode(side.hmacs[label]).decode()
            speaking = messages(Credentials(mechanism, side.ids[label], password, by_token=True), "client-nonce")
            message = next(speaking)
            try:
                while True:
                    answer = client.call(AUTHENTICATE, 2, {"auth_bytes": message})
                    if answer["error_code"]:
                        break
                    message = speaking.send(answer["auth_bytes"])
            except StopIteration:
                lifetime = f"in {round(answer['session_lifetime_ms'] / DAY_MS)} d"
                asked: list[tuple[int, dict[str, Any]]] = [(CREATE, NEW), (RENEW, {"hmac": b"", "renew_period_ms": 1})]
                asked += [(EXPIRE, {"hmac": b"", "expiry_time_period_ms": 1}), (DESCRIBE, {"owners": None})]
                return [lifetime, *(side.comparable(client.call(key, 2, body), 0) for key, body in asked)]
        assert time.monotonic() < deadline, answer  # Kafka's broker learns of a token a moment later
        time.sleep(0.2)
