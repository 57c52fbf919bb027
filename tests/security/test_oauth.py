"""OAUTHBEARER with a real provider and every client, and with tokens that are wrong, forged or for somebody else.

PROVIDER is a listener whose keys come from mock-oauth2-server; the keys of OWN are in a file, so that the tests sign.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import hmac
import io
import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer
from joserfc import jws
from joserfc.jwk import RSAKey
from kafka import KafkaConsumer, KafkaProducer
from kafka.net.sasl.oauth import AbstractTokenProvider

from barnabas.cli.app import invoke
from barnabas.cli.common.failure import Failure
from tests.security.test_logins import refusal
from tests.support.java import CONSOLE_CONSUMER, CONSOLE_PRODUCER, TOPICS, JavaTools
from tests.support.members import until
from tests.support.oauth_provider import Provider
from tests.support.process import free_port
from tests.support.servers import BarnabasNode
from tests.support.wire import CREATE_ACLS, METADATA, Closed, WireClient, create_topic

pytestmark = pytest.mark.timeout(120)

VALIDATOR = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
LOGIN_MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
ISSUER, AUDIENCE = "https://issuer.example", "kafka"
HANDSHAKE, AUTHENTICATE = 17, 36
KEY, FOREIGN = RSAKey.generate_key(2048), RSAKey.generate_key(2048)
GRANTED = [
    {"requestParam": "scope", "match": "payments", "claims": {"sub": "alice", "aud": ["payments"]}},
    {"requestParam": "grant_type", "match": "client_credentials", "claims": {"sub": "alice", "aud": [AUDIENCE]}},
]


class Cluster:
    def __init__(self, folder: Path, provider: Provider) -> None:
        self.folder, self.provider = folder, provider
        self.ports = {name: free_port() for name in ("OPEN", "PROVIDER", "OWN", "DEAD")}
        keys = folder / "keys.json"
        keys.write_text(json.dumps({"keys": [{**KEY.as_dict(private=False), "kid": "own", "use": "sig"}]}))
        self.dead = free_port()  # nobody listens there
        self.node = BarnabasNode(folder / "node", self._settings(keys), port=self.ports["OPEN"])

    def _settings(self, keys: Path) -> dict[str, str]:
        def of(listener: str, **settings: str) -> dict[str, str]:
            prefix = f"listener.name.{listener}.oauthbearer.sasl.oauthbearer."
            return {prefix + name.replace("_", "."): value for name, value in settings.items()}

        return {
            "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in self.ports.items()),
            "listener.security.protocol.map": ",".join(
                f"{name}:{'PLAINTEXT' if name == 'OPEN' else 'SASL_PLAINTEXT'}" for name in self.ports
            ),
            "sasl.enabled.mechanisms": "OAUTHBEARER",
            "listener.name.provider.oauthbearer.sasl.server.callback.handler.class": VALIDATOR,
            "listener.name.provider.oauthbearer.sasl.jaas.config": f"{LOGIN_MODULE};",
            "sasl.oauthbearer.expected.audience": f"other,{AUDIENCE}",
            "sasl.oauthbearer.expected.issuer": ISSUER,
            **of(
                "provider",
                jwks_endpoint_url=self.provider.url("cluster", "jwks"),
                expected_issuer=f"http://127.0.0.1:{self.provider.port}/cluster",
            ),
            **of("own", jwks_endpoint_url=f"file://{keys}"),
            **of("dead", jwks_endpoint_url=f"http://127.0.0.1:{self.dead}/jwks"),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS",
            "connection.failed.authentication.delay.ms": "2",
        }

    def address(self, listener: str) -> str:
        return f"127.0.0.1:{self.ports[listener]}"

    def librdkafka(self, listener: str, **more: Any) -> dict[str, Any]:
        base = {"bootstrap.servers": self.address(listener), "security.protocol": "SASL_PLAINTEXT"}
        return base | {"sasl.mechanism": "OAUTHBEARER"} | more

    def oidc(self, **more: str) -> dict[str, Any]:
        settings = {
            "sasl.oauthbearer.method": "oidc",
            "sasl.oauthbearer.token.endpoint.url": self.provider.url("cluster"),
            "sasl.oauthbearer.client.id": "job",
            "sasl.oauthbearer.client.secret": "secret",
        }
        return self.librdkafka("PROVIDER", **settings) | more


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    folder = tmp_path_factory.mktemp("oauth")
    provider = Provider(folder, GRANTED)
    provider.start()
    made = Cluster(folder, provider)
    try:
        made.node.start()
        with WireClient(made.address("OPEN")) as client:
            create_topic(client, "t")
            create_topic(client, "java")
            rule = {"resource_pattern_type": 3, "principal": "User:alice", "host": "*", "operation": 2}
            kinds = [{"resource_type": kind, "resource_name": "*", "permission_type": 3} for kind in (2, 3)]
            client.call(CREATE_ACLS, 3, {"creations": [rule | kind for kind in kinds]})
        yield made
    finally:
        made.node.stop()
        provider.stop()


# --- clients ----------------------------------------------------------------------------------------------------------

Client = Callable[[Cluster, str], None]
"""Writes the text to the topic and reads it back by a group, as alice: nobody else may."""


def by_librdkafka(client: dict[str, Any], text: str) -> None:
    problems: list[object] = []
    producer = Producer(client)
    producer.produce("t", value=text.encode(), on_delivery=lambda error, message: problems.append(error))
    assert producer.flush(30) == 0 and problems == [None]
    consumer = Consumer(client | {"group.id": text, "auto.offset.reset": "earliest"})
    try:
        consumer.subscribe(["t"])

        def read() -> bool:
            message = consumer.poll(0.5)
            return message is not None and message.error() is None and message.value() == text.encode()

        until(read, "the record is read")
    finally:
        consumer.close()


def oidc(cluster: Cluster, text: str) -> None:
    by_librdkafka(cluster.oidc(), text)


def oauth_callback(cluster: Cluster, text: str) -> None:
    def token(_: str) -> tuple[str, float]:
        return cluster.provider.token(), time.time() + 600

    by_librdkafka(cluster.librdkafka("PROVIDER", oauth_cb=token), text)


def kafka_python(cluster: Cluster, text: str) -> None:
    class Tokens(AbstractTokenProvider):  # type: ignore[misc]  # kafka-python has no types
        def token(self) -> str:
            return cluster.provider.token()

    settings = {
        "bootstrap_servers": cluster.address("PROVIDER"),
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": "OAUTHBEARER",
        "sasl_oauth_token_provider": Tokens(),
    }
    producer = KafkaProducer(**settings)
    producer.send("t", text.encode()).get(30)
    producer.close()
    consumer = KafkaConsumer("t", group_id=text, auto_offset_reset="earliest", consumer_timeout_ms=30_000, **settings)
    try:
        assert any(message.value == text.encode() for message in consumer)
    finally:
        consumer.close()


def aiokafka(cluster: Cluster, text: str) -> None:
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
    from aiokafka.abc import AbstractTokenProvider as Provided

    class Tokens(Provided):  # type: ignore[misc]  # aiokafka has no types
        async def token(self) -> str:
            return await asyncio.to_thread(cluster.provider.token)

    async def run() -> None:
        settings = {
            "bootstrap_servers": cluster.address("PROVIDER"),
            "security_protocol": "SASL_PLAINTEXT",
            "sasl_mechanism": "OAUTHBEARER",
            "sasl_oauth_token_provider": Tokens(),
        }
        async with AIOKafkaProducer(**settings) as producer:
            await producer.send_and_wait("t", text.encode())
        async with AIOKafkaConsumer("t", group_id=text, auto_offset_reset="earliest", **settings) as consumer:
            while (await asyncio.wait_for(consumer.getone(), 30)).value != text.encode():
                pass

    asyncio.run(run())


@pytest.mark.parametrize("client", [oidc, oauth_callback, kafka_python, aiokafka], ids=lambda client: client.__name__)
def test_a_client_logs_in_with_a_token_of_the_provider(cluster: Cluster, client: Client) -> None:
    client(cluster, f"by-{client.__name__}")


def java_file(cluster: Cluster, name: str, scope: str = "") -> Path:
    lines = [
        "security.protocol=SASL_PLAINTEXT",
        "sasl.mechanism=OAUTHBEARER",
        "sasl.login.callback.handler.class=org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginCallbackHandler",
        f"sasl.oauthbearer.token.endpoint.url={cluster.provider.url('cluster')}",
        f'sasl.jaas.config={LOGIN_MODULE} clientId="job" clientSecret="secret"{scope};',
    ]
    file = cluster.folder / name
    file.write_text("\n".join(lines) + "\n")
    file.chmod(0o600)
    return file


def test_javas_client(cluster: Cluster) -> None:
    file = java_file(cluster, "java.properties")
    wrong = java_file(cluster, "wrong.properties", ' scope="payments"')
    # Kafka 4 asks for the endpoints that a client may be sent to.
    tools = JavaTools(
        cluster.folder, f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={cluster.provider.url('cluster')}"
    )
    try:
        where = ("--bootstrap-server", cluster.address("PROVIDER"), "--command-config")
        tools.run(CONSOLE_PRODUCER, *where, str(file), "--topic", "java", stdin="by-java\n")
        read = (
            "--topic",
            "java",
            "--from-beginning",
            "--max-messages",
            "1",
            "--timeout-ms",
            "30000",
            "--group",
            "by-java",
        )
        assert "by-java" in tools.run(CONSOLE_CONSUMER, *where, str(file), *read).out
        refused = tools.run(TOPICS, *where, str(wrong), "--list", check=False)
        assert 'Error while executing topic command : {"status":"invalid_token"}' in refused.out
    finally:
        tools.close()


def test_our_command_line(cluster: Cluster, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("BARNABAS_PROFILE", str(java_file(cluster, "cli.properties")))

    def run(*words: str) -> str:
        with contextlib.redirect_stdout(io.StringIO()) as out:
            assert invoke([*words, "-b", cluster.address("PROVIDER")]) == 0
        return out.getvalue()

    assert "t" in run("topic", "list")  # by librdkafka
    with pytest.raises(Failure, match="cluster authorization failed"):  # by our own link, as alice
        run("user", "list")
    monkeypatch.setenv("BARNABAS_PROFILE", str(java_file(cluster, "cli.properties", ' scope="payments"')))
    with pytest.raises(Exception, match="invalid_token"):
        run("user", "list")


# --- tokens that are refused ------------------------------------------------------------------------------------------


def claims(**changed: Any) -> dict[str, Any]:
    now = int(time.time())
    made = {"iss": ISSUER, "aud": AUDIENCE, "sub": "alice", "iat": now, "exp": now + 600} | changed
    return {name: value for name, value in made.items() if value is not None}


def signed(body: dict[str, Any], key: RSAKey = KEY, kid: str = "own") -> str:
    return jws.serialize_compact({"alg": "RS256", "kid": kid}, json.dumps(body), key, algorithms=["RS256"])


def part(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).rstrip(b"=").decode()


def hmac_with_the_public_key() -> str:
    text = f"{part({'alg': 'HS256', 'kid': 'own'})}.{part(claims())}"
    signature = hmac.digest(KEY.as_pem(private=False), text.encode(), "sha256")
    return f"{text}.{base64.urlsafe_b64encode(signature).rstrip(b'=').decode()}"


WRONG: dict[str, tuple[Callable[[], str], str]] = {
    "audience": (lambda: signed(claims(aud="payments")), "its audience is 'payments'"),
    "issuer": (lambda: signed(claims(iss="https://evil")), "its issuer is 'https://evil'"),
    "expired": (lambda: signed(claims(iat=int(time.time()) - 900, exp=int(time.time()) - 60)), "it has expired"),
    "no subject": (lambda: signed(claims(sub=None)), "it has no text as sub"),
    "foreign key": (lambda: signed(claims(), FOREIGN), "its signature is wrong"),
    "unknown key": (lambda: signed(claims(), FOREIGN, "foreign"), "no key of the key set has the id 'foreign'"),
    "alg none": (
        lambda: f"{part({'alg': 'none', 'kid': 'own'})}.{part(claims())}.",
        "algorithm 'none' is not accepted",
    ),
    "HMAC with the public key": (hmac_with_the_public_key, "algorithm 'HS256' is not accepted"),
}


def login(client: WireClient, token: str) -> dict[str, Any]:
    """The answer that ends the login."""
    assert client.call(HANDSHAKE, 1, {"mechanism": "OAUTHBEARER"})["error_code"] == 0
    first = f"n,,\x01auth=Bearer {token}\x01\x01".encode()
    answer = client.call(AUTHENTICATE, 2, {"auth_bytes": first})
    if answer["auth_bytes"]:
        assert answer["auth_bytes"] == b'{"status":"invalid_token"}' and not answer["error_code"]
        answer = client.call(AUTHENTICATE, 2, {"auth_bytes": b"\x01"})
    return answer


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_token(cluster: Cluster, name: str) -> None:
    make, reason = WRONG[name]
    with WireClient(cluster.address("OWN")) as client:
        answer = login(client, make())
        assert (answer["error_code"], answer["error_message"]) == (58, '{"status":"invalid_token"}')
        with pytest.raises(Closed):
            client.call(METADATA, 12, {"topics": None})
    succeed(cluster)
    log = cluster.node.log_path.read_text()  # which tells failures of one address once in a while
    assert reason in log or any(other in log for _, other in WRONG.values())


def succeed(cluster: Cluster) -> None:
    """Whoever goes on failing is answered later and later, until a login succeeds."""
    with WireClient(cluster.address("OWN")) as client:
        assert login(client, signed(claims()))["error_code"] == 0


@pytest.mark.parametrize("name", ["audience", "alg none"])
def test_what_librdkafka_says(cluster: Cluster, name: str) -> None:
    make, _ = WRONG[name]

    def token(_: str) -> tuple[str, float]:
        return make(), time.time() + 600

    error = refusal(cluster.librdkafka("OWN", oauth_cb=token))
    assert error.code() == KafkaError._AUTHENTICATION and "invalid_token" in error.str()


def test_tokens_of_one_listener_are_not_for_another(cluster: Cluster) -> None:
    succeed(cluster)
    for token, listener in ((cluster.provider.token(), "OWN"), (signed(claims()), "PROVIDER")):
        with WireClient(cluster.address(listener)) as client:
            assert login(client, token)["error_code"] == 58
    with WireClient(cluster.address("PROVIDER")) as client:  # the same provider, for another cluster
        assert login(client, cluster.provider.token("elsewhere"))["error_code"] == 58


def test_a_login_ends_with_its_token(cluster: Cluster) -> None:
    with WireClient(cluster.address("OWN")) as client:
        answer = login(client, signed(claims(exp=int(time.time()) + 600)))
        assert answer["error_code"] == 0 and 590_000 < answer["session_lifetime_ms"] <= 600_000
        assert client.call(METADATA, 12, {"topics": []})["cluster_id"]
    with WireClient(cluster.address("OWN")) as client:
        answer = login(client, signed(claims(exp=time.time() + 0.5)))
        assert 0 < answer["session_lifetime_ms"] <= 500
        assert client.call(METADATA, 12, {"topics": []})["cluster_id"]
        assert login(client, signed(claims(exp=time.time() + 0.3)))["error_code"] == 0  # again, on the same connection
        time.sleep(0.4)
        with pytest.raises(Closed):
            client.call(METADATA, 12, {"topics": []})


def test_a_provider_that_is_gone_harms_nobody_else(cluster: Cluster) -> None:
    succeed(cluster)
    began = time.monotonic()
    with WireClient(cluster.address("DEAD")) as client:
        assert login(client, signed(claims()))["error_code"] == 58
    assert time.monotonic() - began < 10
    with WireClient(cluster.address("OWN")) as client:
        assert login(client, signed(claims()))["error_code"] == 0
    assert "cannot be fetched from http://127.0.0.1" in cluster.node.log_path.read_text()
