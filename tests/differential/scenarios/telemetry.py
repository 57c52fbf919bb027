"""Telemetry (KIP-714): subscriptions, and which pushes are taken. Kafka has a plug-in that takes what is pushed.

Instance ids are the scenarios' own, so a subscription's id, which is made from it, is the same on both servers.
"""

from __future__ import annotations

import os
import time
from typing import Any

from barnabas.model.ids import uuid_text
from tests.differential.engine import Pair, Side
from tests.differential.registry import scenario
from tests.support.wire import (
    DESCRIBE_CONFIGS,
    GET_TELEMETRY_SUBSCRIPTIONS,
    INCREMENTAL_ALTER_CONFIGS,
    LIST_CONFIG_RESOURCES,
    PUSH_TELEMETRY,
)

CLIENT_METRICS, SET, DELETE, APPEND = 16, 0, 1, 2
NONE, ZSTD = 0, 4
WAIT_SECONDS = 10


def alter(pair: Pair, name: str, question: str, *changes: tuple[str, int, str | None]) -> None:
    configs = [{"name": key, "config_operation": operation, "value": value} for key, operation, value in changes]
    resource = {"resource_type": CLIENT_METRICS, "resource_name": name, "configs": configs}
    body = {"resources": [resource], "validate_only": False}
    pair.call(INCREMENTAL_ALTER_CONFIGS, 1, body, question)


def get(pair: Pair, instance_id: bytes, question: str) -> int:
    """The subscription id, of which both have the same."""
    answer = pair.call(GET_TELEMETRY_SUBSCRIPTIONS, 0, {"client_instance_id": instance_id}, question)[1]
    return int(answer["subscription_id"])


def push(pair: Pair, instance_id: bytes, subscription_id: int, question: str, **more: Any) -> None:
    body = {
        "client_instance_id": instance_id,
        "subscription_id": subscription_id,
        "terminating": False,
        "compression_type": NONE,
        "metrics": b"",
        **more,
    }
    pair.call(PUSH_TELEMETRY, 0, body, question)


def await_metrics(pair: Pair, metrics: list[str]) -> None:
    """Kafka takes a new subscription in the background; every question is of another client."""
    for side in pair.sides:
        deadline = time.monotonic() + WAIT_SECONDS
        while (found := requested(side)) != metrics:
            assert time.monotonic() < deadline, f"{side.label} asks for {found}"
            time.sleep(0.05)


def requested(side: Side) -> list[str]:
    answer = side.client.call(GET_TELEMETRY_SUBSCRIPTIONS, 0, {"client_instance_id": os.urandom(16)})
    return sorted(answer["requested_metrics"])


@scenario(GET_TELEMETRY_SUBSCRIPTIONS)
def get_telemetry_subscriptions(pair: Pair, v: int) -> None:
    def made_up(side: Side, answer: dict[str, Any]) -> None:
        side.save("instance", answer["client_instance_id"])
        side.save("subscription", answer["subscription_id"])

    pair.call(GET_TELEMETRY_SUBSCRIPTIONS, v, {"client_instance_id": bytes(16)}, "a new client", made_up)
    pair.call(GET_TELEMETRY_SUBSCRIPTIONS, v, lambda s: {"client_instance_id": s["instance"]}, "again, too early")
    get(pair, bytes(15) + b"\1", "a reserved id")
    mine, other = os.urandom(16), os.urandom(16)
    get(pair, mine, "no subscription")
    name = pair.fresh("subscription")
    try:
        alter(pair, name, "a subscription", ("metrics", SET, "org.apache.kafka.producer."), ("interval.ms", SET, "200"))
        await_metrics(pair, ["org.apache.kafka.producer."])
        get(pair, mine, "too early, but the subscriptions are others")
        get(pair, other, "another client")
        get(pair, mine, "too early again")
        selected = uuid_text(mine)
        alter(pair, name, "for one client", ("match", SET, f"client_instance_id={selected}, client_id=[a-z-]*"))
        await_metrics(pair, [])
        get(pair, mine, "the client it is for")
        get(pair, other, "a client that it is not for")
        alter(pair, name, "everything", ("metrics", SET, "a.b,*"), ("match", DELETE, None))
        await_metrics(pair, ["*"])
        get(pair, mine, "every metric")
    finally:
        removed = [(key, DELETE, None) for key in ("metrics", "interval.ms", "match")]
        alter(pair, name, "removed", *removed)
        await_metrics(pair, [])


@scenario(PUSH_TELEMETRY)
def push_telemetry(pair: Pair, v: int) -> None:
    mine = os.urandom(16)
    subscription = get(pair, mine, "what to push")
    push(pair, mine, subscription, "the first push")
    push(pair, mine, subscription, "too early")
    push(pair, mine, subscription, "the last push may come early", terminating=True)
    push(pair, mine, subscription, "after the last", terminating=True)
    push(pair, mine, subscription, "after the one after the last")
    mine = os.urandom(16)
    subscription = get(pair, mine, "another client")
    push(pair, mine, subscription + 1, "of another subscription")
    get(pair, mine, "too early, but it was told to ask")
    push(pair, mine, subscription, "too early after that")
    mine = os.urandom(16)
    subscription = get(pair, mine, "a third client")
    push(pair, mine, subscription, "a codec that is none", compression_type=9)
    get(pair, mine, "asked again after the codec")
    mine = os.urandom(16)
    subscription = get(pair, mine, "a fourth client")
    push(pair, mine, subscription, "too large", metrics=bytes((1 << 20) + 1))
    get(pair, mine, "too early after too large")
    mine = os.urandom(16)
    push(pair, mine, 0, "without asking first")
    for number in (0, 1):
        push(pair, number.to_bytes(16, "big"), 0, f"the reserved id {number}")
    mine = os.urandom(16)
    subscription = get(pair, mine, "a client whose connection closes")
    push(pair, mine, subscription, "its last push", terminating=True)
    for side in pair.sides:
        side.reconnect()
    time.sleep(0.2)  # until Kafka has seen that the connection is closed
    get(pair, mine, "on another connection")
    push(pair, mine, subscription, "on another connection")


@scenario(INCREMENTAL_ALTER_CONFIGS, versions=[1])
def subscription_settings(pair: Pair, v: int) -> None:
    name = pair.fresh("settings")

    def ask(question: str, *changes: tuple[str, int, str | None]) -> None:
        alter(pair, name, question, *changes)
        wanted = {"resource_type": CLIENT_METRICS, "resource_name": name, "configuration_keys": None}
        pair.call(DESCRIBE_CONFIGS, 4, {"resources": [wanted], "include_synonyms": True}, f"settings after: {question}")

    nobody = ("match", SET, "client_instance_id=nobody")
    ask("for nobody", nobody, ("metrics", SET, "org.apache.kafka.,a.b"))
    ask("a metric more", ("metrics", APPEND, "c.d"))
    ask("an interval that is no number", ("interval.ms", SET, "soon"))
    for interval in ("99", "100", "3600000", "3600001", "-1", ""):
        ask(f"the interval {interval!r}", ("interval.ms", SET, interval))
    ask("a name that is none", ("no.such.setting", SET, "1"))
    ask("no metrics", ("metrics", SET, ""))
    ask("all metrics", ("metrics", SET, "*"))
    for match in (
        "client_id=a,client_software_name = b.*",
        "client_id",
        "client_id=",
        "client_id=a=b",
        "client_id=a=",
        "=a",
        "other=a",
        "client_id=[",
        "client_id=a,,client_id=b",
        "",
    ):
        ask(f"match {match!r}", ("match", SET, match))
    pair.call(LIST_CONFIG_RESOURCES, 0, {}, "subscriptions")
    ask("removed", *((key, DELETE, None) for key in ("metrics", "interval.ms", "match")))
    pair.call(LIST_CONFIG_RESOURCES, 1, {"resource_types": [CLIENT_METRICS]}, "subscriptions afterwards")
    name = ""
    alter(pair, name, "without a name", ("metrics", SET, "*"))
