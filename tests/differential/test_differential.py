"""The same requests to a real Apache Kafka and to us: every API, every version served, good requests and errors."""

from __future__ import annotations

import os

import pytest

import tests.differential.scenarios  # noqa: F401  (registers them)
from tests.differential.differences import DELIBERATE
from tests.differential.engine import Difference, Pair, Tally
from tests.differential.registry import SCENARIOS, SERVED, Scenario
from tests.support import kio_codec
from tests.support.figures import Figure
from tests.support.servers import KafkaNode
from tests.support.wire import API_VERSIONS, PRODUCE, WireClient

INIT_PRODUCER_ID = 22
DESCRIBE_LINKS, DESCRIBE_SCRAM_KEYS = 10_000, 10_001

pytestmark = [pytest.mark.timeout(180), pytest.mark.xdist_group("differential")]


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.id)
def test_answers_are_the_same(scenario: Scenario, kafka: KafkaNode, node: KafkaNode, tally: Tally) -> None:
    found = run(scenario, kafka, node, tally)
    if found:
        # Apache Kafka spreads new metadata in the background, so a topic made a moment ago may not be known everywhere
        # in it. What differs
        # for that reason differs once; what differs for a reason of ours differs again.
        again = {(d.question, d.path) for d in run(scenario, kafka, node, tally)}
        found = [d for d in found if (d.question, d.path) in again]
    assert not found, f"{len(found)} differences\n" + "\n".join(str(d) for d in found[:40])


def run(scenario: Scenario, kafka: KafkaNode, node: KafkaNode, tally: Tally) -> list[Difference]:
    pair = Pair(scenario.name, kafka.bootstrap, node.bootstrap, tally)
    try:
        scenario.run(pair, scenario.version)
    finally:
        pair.close()
    return pair.found


def test_what_is_advertised_is_what_kafka_advertises(kafka: KafkaNode, node: KafkaNode) -> None:
    """Not every API yet, but of each one the very range of Kafka, and nothing that is not compared here."""
    ranges = []
    for server in (kafka, node):
        with WireClient(server.bootstrap) as client:
            body = {"client_software_name": "barnabas-tests", "client_software_version": "1"}
            keys = client.call(API_VERSIONS, 4, body)["api_keys"]
            ranges.append({k["api_key"]: (k["min_version"], k["max_version"]) for k in keys})
    theirs, ours = ranges
    assert ours[INIT_PRODUCER_ID] == (0, 6), "6 is two-phase commit (KIP-939), which Kafka hides as unstable"
    ours[INIT_PRODUCER_ID] = theirs[INIT_PRODUCER_ID]
    for key in (DESCRIBE_LINKS, DESCRIBE_SCRAM_KEYS):
        assert ours.pop(key) == (0, 0), "our own: clients pass over keys that they do not know"
    assert {key: found for key, found in ours.items() if theirs.get(key) != found} == {}
    assert ours.keys() >= SERVED.keys()
    assert {k: (min(v), max(v)) for k, v in SERVED.items() if k != PRODUCE} == {
        k: ours[k] for k in SERVED if k != PRODUCE
    }
    assert ours[PRODUCE] == (0, max(SERVED[PRODUCE])), "0 to 2 are advertised for old librdkafka, and refused"


def own_server_is_kafka() -> bool:
    """Two Apache Kafkas are compared, which differ nowhere."""
    return os.environ.get("BARNABAS_TEST_SERVER") == "kafka"


def test_every_api_and_version_was_compared(
    request: pytest.FixtureRequest, tally: Tally, figure: Figure, capsys: pytest.CaptureFixture[str]
) -> None:
    """Last: the tally. Only meaningful after all scenarios, so a run of a few of them leaves it out."""
    ran = len([item for item in request.session.items if getattr(item, "function", None) is test_answers_are_the_same])
    if ran < len(SCENARIOS):
        pytest.skip("not all scenarios were asked for")
    missing = [
        (kio_codec.name(key), v) for key, versions in SERVED.items() for v in versions if (key, v) not in tally.compared
    ]
    unmet = [f"{known.question} {known.path}" for number, known in enumerate(DELIBERATE) if number not in tally.used]
    figure(
        "differential",
        compared=sum(tally.compared.values()),
        apis=len({key for key, _ in tally.compared}),
        versions=len(tally.compared),
        rules=len(tally.used),
    )
    with capsys.disabled():
        print(f"\ndifferential: {tally.summary()}")
        for (words, question), count in sorted(tally.in_words.items()):
            print(f"differential: kafka: {words}, {count} times: {question}")
    assert not missing, missing
    assert not unmet or own_server_is_kafka(), f"rows of differences.DELIBERATE that no scenario needs: {unmet}"
    assert sum(tally.compared.values()) >= 600
