"""Every kind of listener and login with librdkafka: records in and out, or a clear refusal."""

import socket
import ssl
import time
import uuid

import pytest
from confluent_kafka import Consumer, KafkaError, Message, Producer

from tests.security.conftest import PASSWORDS, SecuredNode
from tests.support.members import until

LOGINS = [(listener, mechanism) for listener in ("LOGIN", "SECURE") for mechanism in PASSWORDS]
RECORDS = 200


def round_trip(client: dict[str, str | int]) -> None:
    topic = f"logins-{uuid.uuid4().hex[:8]}"
    delivered: list[KafkaError | None] = []

    def note(error: KafkaError | None, message: Message) -> None:
        delivered.append(error)

    producer = Producer(client | {"enable.idempotence": "true"})
    for number in range(RECORDS):
        producer.produce(topic, value=b"%d" % number * 500, on_delivery=note)
    assert producer.flush(30) == 0 and delivered == [None] * RECORDS
    consumer = Consumer(client | {"group.id": topic, "auto.offset.reset": "earliest"})
    try:
        consumer.subscribe([topic])
        values: list[bytes | None] = []

        def read() -> bool:
            message = consumer.poll(0.5)
            if message is not None and message.error() is None:
                values.append(message.value())
            return len(values) == RECORDS

        until(read, "all records are read")
        assert values == [b"%d" % number * 500 for number in range(RECORDS)]
    finally:
        consumer.close()


def refusal(client: dict[str, str | int], seconds: float = 10) -> KafkaError:
    """The first error that a client tells of itself."""
    errors: list[KafkaError] = []
    producer = Producer(client | {"error_cb": errors.append, "log_level": 0})
    deadline = time.monotonic() + seconds
    while not errors and time.monotonic() < deadline:
        producer.poll(0.1)
    assert errors, "the client was not refused"
    return errors[0]


@pytest.mark.parametrize(("listener", "mechanism"), LOGINS)
def test_a_login(secured: SecuredNode, listener: str, mechanism: str) -> None:
    round_trip(secured.client(listener, mechanism))


@pytest.mark.parametrize("listener", ["OPEN", "TLS"])
def test_without_a_login(secured: SecuredNode, listener: str) -> None:
    round_trip(secured.client(listener))


def certificate(found: object) -> dict[str, str]:
    return {"ssl.certificate.location": str(found.certificate), "ssl.key.location": str(found.key)}  # type: ignore[attr-defined]


def test_a_client_certificate(secured: SecuredNode) -> None:
    round_trip(secured.client("TLS", **certificate(secured.alice)))


@pytest.mark.parametrize(("listener", "mechanism"), LOGINS)
@pytest.mark.parametrize("wrong", ["password", "user"])
def test_a_wrong_login_is_refused(secured: SecuredNode, listener: str, mechanism: str, wrong: str) -> None:
    what = {"sasl.password": "guess"} if wrong == "password" else {"sasl.username": "nobody"}
    error = refusal(secured.client(listener, mechanism, **what))
    assert error.code() == KafkaError._AUTHENTICATION
    assert "Authentication failed" in error.str()


@pytest.mark.parametrize(("which", "alert"), [("foreign", "unknown ca"), ("expired", "certificate expired")])
@pytest.mark.parametrize("version", [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3])
def test_a_certificate_that_is_not_trusted(
    secured: SecuredNode, which: str, alert: str, version: ssl.TLSVersion
) -> None:
    """The client is told why: tests/security/matrix has what each client makes of it."""
    context = ssl.create_default_context(cafile=str(secured.authority.file))
    context.minimum_version = context.maximum_version = version
    found = getattr(secured, which)
    context.load_cert_chain(found.certificate, found.key)
    # With TLS 1.3 the client's part of the handshake is over before the node has seen its certificate.
    with (
        socket.create_connection(("127.0.0.1", secured.ports["TLS"]), 10) as plain,
        pytest.raises(ssl.SSLError, match=f"alert {alert}"),
        context.wrap_socket(plain, server_hostname="127.0.0.1") as client,
    ):
        client.recv(1)


def test_a_client_that_does_not_trust_the_node(secured: SecuredNode) -> None:
    foreign = secured.authority.file.with_name("other-ca.pem")
    error = refusal(secured.client("TLS", **{"ssl.ca.location": str(foreign)}))
    assert error.code() in (KafkaError._SSL, KafkaError._TRANSPORT)  # librdkafka says both, by when it notices
    assert "certificate verify failed" in error.str()


@pytest.mark.parametrize("listener", ["LOGIN", "SECURE"])
def test_nothing_is_served_without_a_login(secured: SecuredNode, listener: str) -> None:
    protocol = "PLAINTEXT" if listener == "LOGIN" else "SSL"
    error = refusal(secured.client(listener, **{"security.protocol": protocol}))
    assert error.code() in (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT)
