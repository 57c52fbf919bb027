"""Whether a request of a client instance is taken: Kafka's rules, at exact times."""

from __future__ import annotations

import pytest

from barnabas.core.telemetry import clients as clients_module
from barnabas.core.telemetry.clients import FORGOTTEN_MS, ONE_ID, ZERO_ID, Clients, Compared, Push
from barnabas.core.telemetry.subscriptions import Subscribed, Subscription, subscribed
from barnabas.model.errors import ErrorCode, KafkaError

ME, MAX_BYTES, INTERVAL = bytes(range(16)), 1000, 300_000


def taken(clients: Clients, now_ms: int, **more: int) -> ErrorCode:
    """A push, which is right but for what `more` says."""
    number = more.get("subscription_id", right_id(clients))
    push = Push(number, bool(more.get("terminating", 0)), more.get("codec", 0), more.get("size", 0))
    return pushed(clients, ME, push, now_ms)


def pushed(clients: Clients, instance_id: bytes, push: Push, now_ms: int) -> ErrorCode:
    try:
        clients.push(instance_id, compared(clients), push, MAX_BYTES, now_ms)
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE


def compared(clients: Clients) -> Compared:
    """All of them fit."""
    return Compared(clients._subscriptions, clients._subscriptions)


def right_id(clients: Clients) -> int:
    return subscription(clients, ME)


def subscription(clients: Clients, instance_id: bytes) -> int:
    return subscribed(clients._subscriptions, instance_id).subscription_id


def got(clients: Clients, now_ms: int) -> ErrorCode:
    try:
        assert isinstance(clients.get(ME, compared(clients), now_ms), Subscribed)
    except KafkaError as error:
        return error.code
    return ErrorCode.NONE


THROTTLED = ErrorCode.THROTTLING_QUOTA_EXCEEDED


def test_the_intervals() -> None:
    clients = Clients()
    assert got(clients, 1000) is ErrorCode.NONE
    assert got(clients, 1001) is THROTTLED
    assert taken(clients, 1002) is ErrorCode.NONE, "the first push after a get may come at once"
    assert taken(clients, 1001 + INTERVAL) is THROTTLED
    assert taken(clients, 1002 + INTERVAL) is ErrorCode.NONE
    assert got(clients, 1001 + 2 * INTERVAL) is THROTTLED
    assert got(clients, 1002 + 2 * INTERVAL) is ErrorCode.NONE
    assert clients.throttled == 3


def test_a_push_without_a_get() -> None:
    """A client that comes from another node has its subscription already."""
    assert taken(Clients(), 0) is ErrorCode.NONE


def test_the_last_push() -> None:
    clients = Clients()
    assert taken(clients, 1000) is ErrorCode.NONE
    assert taken(clients, 1001, terminating=True) is ErrorCode.NONE, "the last one may come early"
    assert taken(clients, 1002, terminating=True) is ErrorCode.INVALID_REQUEST


@pytest.mark.parametrize(
    ("more", "code", "asks_again"),
    [
        ({"subscription_id": 5}, ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.NONE),
        ({"codec": 5}, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, ErrorCode.NONE),
        ({"codec": -1}, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, ErrorCode.NONE),
        ({"size": MAX_BYTES + 1}, ErrorCode.TELEMETRY_TOO_LARGE, THROTTLED),
    ],
)
def test_refusals_and_whether_the_client_may_ask_again(
    more: dict[str, int], code: ErrorCode, asks_again: ErrorCode
) -> None:
    clients = Clients()
    assert got(clients, 1000) is ErrorCode.NONE
    assert taken(clients, 1001, **more) is code
    assert got(clients, 1002) is asks_again
    assert taken(clients, 1003) is THROTTLED, "the refused push counts for the interval"


def test_reserved_ids() -> None:
    push = Push(0, False, 0, 0)
    assert all(pushed(Clients(), each, push, 0) is ErrorCode.INVALID_REQUEST for each in (ZERO_ID, ONE_ID))


def test_new_subscriptions_begin_anew() -> None:
    clients = Clients()
    old = right_id(clients)
    assert taken(clients, 1000, terminating=True) is ErrorCode.NONE
    clients.subscriptions_changed([Subscription(("a",), 100, {})])
    assert taken(clients, 1001, subscription_id=old) is ErrorCode.UNKNOWN_SUBSCRIPTION_ID
    assert got(clients, 1002) is ErrorCode.NONE
    assert taken(clients, 1101) is ErrorCode.NONE


def test_who_is_silent_is_forgotten() -> None:
    clients = Clients()
    clients.subscriptions_changed([Subscription(("a",), 30_000, {})])
    assert got(clients, 1000) is ErrorCode.NONE
    clients.forget_silent(1000 + 90_000 - 1)
    assert ME in clients
    clients.forget_silent(1000 + 90_000)
    assert ME not in clients
    clients.subscriptions_changed([Subscription(("a",), 100, {})])
    assert got(clients, 1000) is ErrorCode.NONE
    clients.forget_silent(1000 + FORGOTTEN_MS - 1)
    assert ME in clients


def test_too_many_clients(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clients_module, "TELEMETRY_CLIENTS_MAX", 3)
    clients = Clients()
    ids = [bytes([number]) * 16 for number in range(4)]
    for each in ids[1:]:
        clients.get(each, compared(clients), 1000)
    with pytest.raises(KafkaError):
        clients.get(ids[1], compared(clients), 1001)  # throttled, and heard of
    clients.get(ids[0], compared(clients), 1002)
    assert [each in clients for each in ids] == [True, True, False, True], "who was silent longest has given way"
