"""Which client is to push what."""

from __future__ import annotations

import pytest

from barnabas.core.telemetry.selectors import fits, parse_match
from barnabas.core.telemetry.subscriptions import Subscribed, Subscription, subscribed, subscriptions
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.settings import ResourceType

ONE, OTHER = bytes(range(16)), bytes(range(1, 17))
JAVA = {"client_software_name": "apache-kafka-java", "client_software_version": "4.3.1", "client_id": "app-1"}


def configs(**by_name: dict[str, str]) -> dict[tuple[int, str], dict[str, str]]:
    stored = {name: {key.replace("_", "."): value for key, value in each.items()} for name, each in by_name.items()}
    return {(int(ResourceType.CLIENT_METRICS), name): each for name, each in stored.items()}


def fitting(stored: dict[tuple[int, str], dict[str, str]], client: dict[str, str]) -> list[Subscription]:
    return [each for each in subscriptions(stored) if fits(each.match, client)]


def test_the_union_by_the_shortest_interval() -> None:
    stored = configs(
        a={"metrics": "x.,y.", "interval_ms": "5000"},
        b={"metrics": "z.", "match": "client_id=app-.*"},
        c={"metrics": "never.", "match": "client_id=app-.*,client_software_name=librdkafka", "interval_ms": "100"},
    )
    stored[int(ResourceType.GROUP), "g"] = {"metrics": "no."}
    found = subscribed(fitting(stored, JAVA), ONE)
    assert (found.metrics, found.interval_ms) == (("x.", "y.", "z."), 5000)
    assert subscribed(fitting(stored, {"client_id": "b"}), ONE).metrics == ("x.", "y.")
    everything = configs(a={"metrics": "x."}, b={"metrics": "*,y."})
    assert subscribed(fitting(everything, JAVA), ONE).metrics == ("*",)
    assert subscribed([], ONE)[:2] == ((), 300_000)


def test_the_subscription_id() -> None:
    """By the instance, the metrics and the interval; tests/differential compares it with Kafka's."""
    assert subscribed([], ONE) == Subscribed((), 300_000, subscribed([], ONE).subscription_id)
    ids = {subscribed([], each).subscription_id for each in (ONE, OTHER)}
    assert len(ids) == 2 and all(-(1 << 31) <= each < 1 << 31 for each in ids)
    other = subscribed(subscriptions(configs(a={"metrics": "x."})), ONE)
    assert other.subscription_id not in ids


def test_a_stored_subscription_that_cannot_be_read_fits_nobody() -> None:
    stored = configs(a={"metrics": "x.", "match": "client_id=(?=java)"}, b={"metrics": "y.", "interval_ms": "no"})
    assert subscriptions(stored) == []


def test_selectors() -> None:
    match = parse_match(("client_software_name = apache.*", "client_software_version=4[.]3.*"))
    assert fits(match, JAVA) and not fits(match, {**JAVA, "client_software_version": "3.9.0"})
    assert not fits(match, {}) and fits({}, {})
    assert not fits(parse_match(("client_id=app",)), JAVA)  # the whole of it has to fit


@pytest.mark.parametrize("text", ["client_id", "client_id=", "a=b", "client_id=a=b", "=a", "client_id=[", ""])
def test_what_is_no_selector(text: str) -> None:
    with pytest.raises(KafkaError) as caught:
        parse_match((text,))
    assert caught.value.code is ErrorCode.INVALID_CONFIG


def test_a_pattern_is_bounded() -> None:
    with pytest.raises(KafkaError):
        parse_match(("client_id=" + "a" * 2_000,))
    with pytest.raises(KafkaError):
        parse_match(("client_id=((a{1000}){1000}){1000}",))
