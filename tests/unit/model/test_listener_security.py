"""What a listener asks for, from Kafka's settings; nothing that was asked for is left out in silence."""

import pytest

from barnabas.model.errors import KafkaError
from barnabas.model.settings import Settings
from barnabas.model.settings.jaas import parse_jaas
from barnabas.model.settings.listener_security import listener_security, login_entry

PLAIN = "org.apache.kafka.common.security.plain.PlainLoginModule required"


def test_jaas() -> None:
    entry = parse_jaas("x", f'{PLAIN} username="node" password="p\\"w;" user_alice=\'a b\' user_bob=plain;')
    assert entry.options["password"] == 'p"w;'
    assert entry.users == {"alice": "a b", "bob": "plain"}
    assert "node" not in repr(entry)


@pytest.mark.parametrize(
    "text",
    ["", "nonsense", f"{PLAIN} user_alice", f'{PLAIN} user_alice="x"', "com.example.Evil required;", f"{PLAIN} a=b; c"],
)
def test_bad_jaas_does_not_show_its_value(text: str) -> None:
    with pytest.raises(KafkaError) as refused:
        parse_jaas("sasl.jaas.config", text)
    assert "alice" not in refused.value.message


def test_a_listener_stands_above_the_node() -> None:
    settings = Settings(
        {
            "sasl.enabled.mechanisms": "SCRAM-SHA-512",
            "listener.name.inside.sasl.enabled.mechanisms": "plain",
            "listener.name.inside.plain.sasl.jaas.config": f'{PLAIN} user_a="b";',
            "listener.name.inside.connections.max.reauth.ms": "5000",
        }
    )
    inside = listener_security(settings, "INSIDE", "SASL_PLAINTEXT")
    assert inside.mechanisms == ("PLAIN",)
    assert inside.jaas["PLAIN"].users == {"a": "b"}
    assert inside.reauth_ms == 5000
    outside = listener_security(settings, "OUTSIDE", "SASL_PLAINTEXT")
    assert (outside.mechanisms, outside.reauth_ms) == (("SCRAM-SHA-512",), 0)


@pytest.mark.parametrize(
    ("given", "protocol", "says"),
    [
        ({"sasl.enabled.mechanisms": "GSSAPI"}, "SASL_PLAINTEXT", "GSSAPI"),
        ({"sasl.enabled.mechanisms": "PLAIN"}, "SASL_PLAINTEXT", "nobody can log in"),
        ({"sasl.enabled.mechanisms": ""}, "SASL_PLAINTEXT", "nobody could log in"),
        ({}, "SSL", "ssl.keystore.location"),
        ({"sasl.enabled.mechanisms": "EXTERNAL"}, "SASL_PLAINTEXT", "EXTERNAL"),
        ({"sasl.enabled.mechanisms": "EXTERNAL", "ssl.keystore.location": "/x"}, "SASL_SSL", "ssl.client.auth"),
    ],
)
def test_what_cannot_be_kept_is_refused(given: dict[str, str], protocol: str, says: str) -> None:
    with pytest.raises(KafkaError, match=says):
        listener_security(Settings(given), "L", protocol)


def test_a_node_needs_a_login_of_its_own() -> None:
    with pytest.raises(KafkaError, match=r"listener\.name\.l\.plain\.sasl\.jaas\.config"):
        login_entry(Settings({"listener.name.l.plain.sasl.jaas.config": f'{PLAIN} user_a="b";'}), "L", "PLAIN")


def test_the_listener_of_the_brokers() -> None:
    listeners = "A://:9092,SSL://:9093,C://:9094"
    protocols = "A:PLAINTEXT,SSL:SSL,C:SASL_SSL"
    base = {"listeners": listeners, "listener.security.protocol.map": protocols}
    for given, name in (
        ({}, "A"),
        ({"inter.broker.listener.name": "c"}, "C"),
        ({"security.inter.broker.protocol": "SSL"}, "SSL"),
    ):
        found = Settings(base | given).inter_broker_listener()
        assert found is not None and found.name == name


def test_the_listener_of_the_quorum() -> None:
    protocols = {"listener.security.protocol.map": "B:SASL_SSL,CONTROLLER:SSL"}
    for given, expected in (
        ({"listeners": "B://:9092"}, None),  # a controller on the brokers' listener
        ({"listeners": "B://:9092", "process.roles": "broker"}, None),  # and a broker that finds it there
        (
            {"listeners": "B://:9092,CONTROLLER://:9093", "controller.listener.names": "CONTROLLER"},
            ("CONTROLLER", "SSL"),
        ),
        (
            {"listeners": "B://:9092", "controller.listener.names": "CONTROLLER", "process.roles": "broker"},
            ("CONTROLLER", "SSL"),
        ),
    ):
        assert Settings(protocols | given).quorum_listener() == expected
