"""The same requests to a real Apache Kafka and to us from clients that may not do everything: every API, every version.

Both servers have the same authorizer and the same rules. On a plain listener everybody is User:ANONYMOUS, so the rules
tell clients apart by their addresses: what a scenario prepares comes from 127.0.0.1, which may do everything, and what
it compares comes from another address. Where a scenario cannot go on because it was refused what it needs, it ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

import tests.differential.scenarios  # noqa: F401  (registers them)
from barnabas.broker.access import STANDARD_AUTHORIZER
from barnabas.model.access import AclOperation, AclPermission, AclResourceType, PatternType
from tests.differential import engine
from tests.differential.conftest import PLUGINS, SETTINGS
from tests.differential.engine import Body, Difference, Pair, Side, Tally
from tests.differential.registry import SCENARIOS, SERVED
from tests.support import kio_codec
from tests.support.members import until
from tests.support.servers import BarnabasNode, KafkaNode
from tests.support.wire import WireClient, await_group_coordinator

pytestmark = [pytest.mark.timeout(600), pytest.mark.xdist_group("rights")]

CREATE_ACLS, DESCRIBE_ACLS = 30, 29
ADMIN = "127.0.0.1"
KINDS = (
    (AclResourceType.TOPIC, "*"),
    (AclResourceType.GROUP, "*"),
    (AclResourceType.CLUSTER, "kafka-cluster"),
    (AclResourceType.TRANSACTIONAL_ID, "*"),
)
_OP = AclOperation
CLIENTS: dict[str, tuple[str, tuple[AclOperation, ...]]] = {
    "nobody": ("127.0.0.2", ()),
    "observer": ("127.0.0.3", (_OP.DESCRIBE, _OP.DESCRIBE_CONFIGS)),
    "reader": ("127.0.0.4", (_OP.READ,)),
}


# Requests that are wrong in themselves, too: one server refuses them for that, the other for want of rights.
WRONG_ANYWAY = {
    "describe_user_scram_credentials": ("every user",),  # which Kafka does not answer: it fails on the missing list
    "produce": ("a length too short to be", "magic 3", "magic -1", "a transactional batch without a producer"),
    "fetch": ("an isolation level that is none",),
    "get_telemetry_subscriptions": ("a reserved id",),  # one for all clients, and Kafka remembers the one before
    "alter_configs": ("null", "an unknown broker", "a broker that is no number"),
    "incremental_alter_configs": (
        "set to null",
        "append null",
        "the same setting twice",
        "an unknown broker",
        "a setting only the file may set",
        "cluster default, bad number",
    ),
}


def _is_wrong_anyway(difference: Difference) -> bool:
    api, _, question = difference.question.partition(": ")
    return question in WRONG_ANYWAY.get(api.split(" ")[0], ())


class Servers(NamedTuple):
    kafka: KafkaNode
    barnabas: BarnabasNode


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Servers]:
    settings = SETTINGS | {"authorizer.class.name": STANDARD_AUTHORIZER, "allow.everyone.if.no.acl.found": "true"}
    made = Servers(
        KafkaNode(tmp_path_factory.mktemp("kafka"), settings, PLUGINS),
        BarnabasNode(tmp_path_factory.mktemp("ours"), settings),
    )
    try:
        for server in made:
            server.start()
            with WireClient(server.bootstrap) as client:
                await_group_coordinator(client)
                _make_rules(client)
        yield made
        assert made.barnabas.alive(), made.barnabas.tail()
    finally:
        for server in made:
            server.stop()


def _make_rules(client: WireClient) -> None:
    wanted = [(ADMIN, AclOperation.ALL)] + [(host, op) for host, ops in CLIENTS.values() for op in ops]
    rules = [
        {
            "resource_type": int(kind),
            "resource_name": name,
            "resource_pattern_type": int(PatternType.LITERAL),
            "principal": "User:ANONYMOUS",
            "host": host,
            "operation": int(operation),
            "permission_type": int(AclPermission.ALLOW),
        }
        for host, operation in wanted
        for kind, name in KINDS
    ]
    answer = client.call(CREATE_ACLS, 3, {"creations": rules})
    assert [result["error_code"] for result in answer["results"]] == [0] * len(rules), answer
    every: dict[str, int | None] = {
        "resource_type_filter": 1,
        "pattern_type_filter": 1,
        "operation": 1,
        "permission_type": 1,
    }
    every |= {"resource_name_filter": None, "principal_filter": None, "host_filter": None}

    def count() -> int:
        return sum(len(resource["acls"]) for resource in client.call(DESCRIBE_ACLS, 3, every)["resources"])

    until(lambda: count() == len(rules), "the rules are known")


class RightsPair(Pair):
    """What is compared is asked from another address."""

    def __init__(self, scenario: str, servers: Servers, tally: Tally, source: str) -> None:
        super().__init__(scenario, servers.kafka.bootstrap, servers.barnabas.bootstrap, tally)
        self._others = [WireClient(side.bootstrap, engine.CALL_TIMEOUT_SECONDS, source=source) for side in self.sides]
        self._source: str | None = source

    def _swap(self) -> None:
        for number, side in enumerate(self.sides):
            side.client, self._others[number] = self._others[number], side.client
            side.source = self._source if side.source is None else None

    def call(
        self,
        api_key: int,
        version: int,
        body: Body,
        question: str = "",
        save: Callable[[Side, Any], None] | None = None,
    ) -> tuple[Any, Any]:
        self._swap()
        try:
            return super().call(api_key, version, body, question, save)
        finally:
            self._swap()

    def check(self, api_key: int, version: int, question: str, kafka: Any, barnabas: Any) -> None:
        if api_key == DESCRIBE_ACLS:
            kafka, barnabas = _sorted_acls(kafka), _sorted_acls(barnabas)
        super().check(api_key, version, question, kafka, barnabas)

    def raw(self, api_key: int, version: int, payload: bytes, flexible: bool, question: str) -> None:
        """Frames that no schema describes are refused before anybody asks who sent them."""

    def close(self) -> None:
        super().close()
        for client in self._others:
            client.close()


def _sorted_acls(answer: Any) -> Any:
    """Kafka tells rules in the order of its tables."""
    if isinstance(answer, dict):
        for resource in answer["resources"]:
            resource["acls"].sort(key=str)
        answer["resources"].sort(key=str)
    return answer


def _run(servers: Servers, api_key: int, source: str) -> tuple[list[Difference], Tally]:
    found: list[Difference] = []
    tally = Tally()
    for scenario in SCENARIOS:
        if scenario.api_key != api_key:
            continue
        pair = RightsPair(scenario.name, servers, tally, source)
        try:
            scenario.run(pair, scenario.version)
        except (KeyError, IndexError, TypeError, AssertionError) as error:  # it was refused what the rest of it needs
            tally.ended.append(f"{scenario.name} v{scenario.version}: {error!r}"[:500])
        finally:
            pair.close()
        found += [each for each in pair.found if not _is_wrong_anyway(each)]
    return found, tally


# What `make test` runs: each is seconds, all of them together are a quarter of an hour (`make rights`).
SHORT = {"metadata", "offset_fetch", "create_topics"}


def _cases() -> Iterator[Any]:
    for client in CLIENTS:
        for api_key in SERVED:
            name = kio_codec.name(api_key)
            is_short = client == "nobody" and name in SHORT
            yield pytest.param(client, api_key, id=f"{client}-{name}", marks=() if is_short else pytest.mark.long)


@pytest.mark.parametrize(("client", "api_key"), _cases())
def test_answers_are_the_same(client: str, api_key: int, servers: Servers) -> None:
    source, _ = CLIENTS[client]
    found, tally = _run(servers, api_key, source)
    if found:  # Kafka spreads metadata in the background: what differs for that reason differs once
        again, _ = _run(servers, api_key, source)
        keys = {(difference.scenario, difference.question, difference.path) for difference in again}
        found = [each for each in found if (each.scenario, each.question, each.path) in keys]
    assert not found, f"{len(found)} differences\n" + "\n".join(str(each) for each in found[:40])
    compared = {version for key, version in tally.compared if key == api_key}
    assert client != "nobody" or compared == set(SERVED[api_key]), f"not every version was asked: {tally.ended}"
