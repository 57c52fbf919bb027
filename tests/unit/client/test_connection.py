"""Addresses, settings, and a prompt answer when nobody is there."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any, cast

import pytest

from barnabas import Admin, AsyncConsumer, AsyncProducer, BadSetting, CannotReach, Consumer, Producer
from barnabas.client.common.connection import addresses, bootstrap_or_default, librdkafka_settings


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("host", [("host", 9092)]),
        ("host:1", [("host", 1)]),
        ("a:1, b:2", [("a", 1), ("b", 2)]),
        ("PLAINTEXT://host:9", [("host", 9)]),
        ("[::1]:9", [("::1", 9)]),
        ("::1", [("::1", 9092)]),
        ("[::1]", [("::1", 9092)]),
    ],
)
def test_addresses(text: str, expected: list[tuple[str, int]]) -> None:
    assert addresses(text) == expected


@pytest.mark.parametrize("text", ["", " , ", "host:", "host:port", "host:0", "host:70000", "kafka://host:9092"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(BadSetting):
        addresses(text)


def test_later_settings_win() -> None:
    settings = librdkafka_settings("h:1", {"linger.ms": 5}, {"linger.ms": 6, "acks": 1}, {"linger_ms": 7})
    assert (settings["bootstrap.servers"], settings["linger.ms"], settings["acks"]) == ("h:1", 7, 1)


@pytest.mark.parametrize("given", ["", 9092, ["127.0.0.1:9092"], "kafka://127.0.0.1:9092"])
@pytest.mark.parametrize("client", [Producer, Consumer, Admin, AsyncProducer, AsyncConsumer])
def test_a_bootstrap_that_is_none_is_refused_at_once(client: Callable[..., object], given: object) -> None:
    topics = ["orders"] if client in (Consumer, AsyncConsumer) else []
    with pytest.raises(BadSetting, match="bootstrap"):
        client(*topics, bootstrap=given)


@pytest.mark.parametrize(
    ("setting", "option"),
    [
        ("group_id", "group"),
        ("group.id", "group"),
        ("bootstrap_servers", "bootstrap"),
        ("auto_offset_reset", "start"),
        ("enable_auto_commit", "commit"),
    ],
)
def test_an_option_under_librdkafkas_name_is_refused(setting: str, option: str) -> None:
    """librdkafka alone would know of it: the group was joined, and nothing was ever committed."""
    with pytest.raises(BadSetting, match=rf"is called {option} here: Consumer\({option}=\.\.\.\)"):
        Consumer("orders", connect_timeout=None, **cast(Any, {setting: "x"}))
    with pytest.raises(BadSetting, match=f"is called {option} here"):
        Consumer("orders", connect_timeout=None, config={setting.replace("_", "."): "x"})


def test_a_shared_config_may_hold_settings_of_the_other_client() -> None:
    Producer(connect_timeout=None, config={"group.id": "mailer", "session.timeout.ms": 10_000}).close()


def test_a_config_that_is_no_dictionary() -> None:
    config: Any = "linger.ms=5"
    with pytest.raises(BadSetting, match="config is a dictionary"):
        Producer(connect_timeout=None, config=config)


def test_a_refused_value_is_told_by_the_name_that_was_typed() -> None:
    with pytest.raises(BadSetting) as refused:
        Producer(connect_timeout=None, linger_ms=-1)
    assert str(refused.value) == "producer: linger_ms value -1 is outside allowed range 0..900000"


def test_where_a_client_goes_when_nobody_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BARNABAS_BOOTSTRAP", raising=False)
    assert bootstrap_or_default(None) == "127.0.0.1:9092"
    monkeypatch.setenv("BARNABAS_BOOTSTRAP", "far:1")
    assert bootstrap_or_default(None) == "far:1"
    assert bootstrap_or_default("near:2") == "near:2"


@pytest.fixture
def dead() -> str:
    """An address where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"127.0.0.1:{probe.getsockname()[1]}"


def test_nobody_there(dead: str, capfd: pytest.CaptureFixture[str]) -> None:
    for open_it in (
        lambda: Producer(dead, connect_timeout=0.1),
        lambda: Consumer("t", bootstrap=dead, connect_timeout=0.1),
        lambda: Consumer("t", bootstrap=dead, group="g", connect_timeout=0.1),
        lambda: Admin(dead, connect_timeout=0.1),
    ):
        before = time.monotonic()
        with pytest.raises(CannotReach, match=r"connection refused\. Is a node up\? Try: barnabas up") as caught:
            open_it()
        assert caught.value.address == dead
        assert time.monotonic() - before < 1
    assert capfd.readouterr().err == "", "librdkafka keeps quiet"


def test_a_name_that_is_none() -> None:
    with pytest.raises(CannotReach, match="the name does not resolve"):
        Producer("no-such-host.invalid:9092", connect_timeout=0.1)


@pytest.mark.parametrize(
    "options",
    [
        {"no_such_setting": 1},
        {"acks": 7},
        {"compression": "brotli"},
        {"acks": 1, "idempotent": True},
        {"partitioner": 7},
    ],
)
def test_settings_that_make_no_sense(options: dict[str, object]) -> None:
    with pytest.raises(BadSetting) as caught:
        Producer("127.0.0.1:1", connect_timeout=None, **options)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "options", "message"),
    [
        (Producer, {"lingerms": 3}, "there is no setting 'lingerms'. Did you mean linger_ms?"),
        (Producer, {"linger": 3}, "there is no setting 'linger'. Did you mean linger_ms?"),
        (Producer, {"config": {"socket.timeout": 3}}, "Did you mean socket.timeout.ms?"),
        (Producer, {"group_id": "g"}, "group_id is a setting of a consumer, not of a producer"),
        (Consumer, {"grup": "g"}, "there is no setting 'grup'. Did you mean group?"),
        (Consumer, {"retries": 3}, "retries is a setting of a producer, not of a consumer"),
        (Admin, {"linger_ms": 3}, "linger_ms is a setting of a producer, not of an admin"),
        (Consumer, {"zzz": 3}, "there is no setting 'zzz'"),
    ],
)
def test_an_unknown_setting_comes_with_the_name_it_resembles(
    kind: Callable[..., object], options: dict[str, object], message: str
) -> None:
    topics = ["t"] if kind is Consumer else []
    with pytest.raises(BadSetting) as caught:
        kind(*topics, bootstrap="127.0.0.1:1", connect_timeout=None, **options)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("topics", "options"),
    [
        ([], {}),
        ([""], {}),
        (["t"], {"group": ""}),
        (["t"], {"group": "g", "partitions": [0]}),
        (["t"], {"commit": "never"}),
        (["t"], {"start": "yesterday"}),
        (["t"], {"start": 1.5}),
        (["t"], {"on_error": "ignore"}),
        (["t"], {"protocol": "paxos"}),
        (["t"], {"batch_records": 0}),
        (["t"], {"value_deserializer": "yaml"}),
        (["^("], {}),
        (["t"], {"no_such_setting": 1}),
    ],
)
def test_consumers_that_make_no_sense(topics: list[str], options: dict[str, object]) -> None:
    with pytest.raises(BadSetting):
        Consumer(*topics, bootstrap="127.0.0.1:1", connect_timeout=None, **options)  # type: ignore[arg-type]


def test_async_twins_connect_late() -> None:
    AsyncProducer("127.0.0.1:1")


def test_importing_the_package_loads_no_client() -> None:
    """The broker imports `barnabas` too, and must not pay for librdkafka."""
    code = (
        "import sys, barnabas, barnabas.broker, barnabas.client\n"
        "assert 'confluent_kafka' not in sys.modules\n"
        "from barnabas import Producer, create_message_streams\n"
        "assert 'confluent_kafka' in sys.modules\n"
        "assert all(getattr(barnabas, name) for name in barnabas.__all__)\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_no_name_is_promised_in_vain() -> None:
    import barnabas

    assert sorted(barnabas._HOME_OF) == sorted(barnabas.__all__)
    assert barnabas.__version__
    with pytest.raises(AttributeError):
        barnabas.Nothing  # noqa: B018
