"""A cluster at a moment, from two scrapes."""

from barnabas.observe.overview import Scrape, overview
from barnabas.observe.samples import parse

_TIMES = 'kafka_network_requestmetrics_totaltimems{{request="{0}",quantile="0.99"}} {1}\n'


def p99_of(text: str) -> float | None:
    metrics = {1: parse("barnabas_ready 1\n" + text)}
    (node,) = overview(Scrape(0.0, metrics), Scrape(2.0, metrics)).nodes
    return node.p99_ms


def test_one_slow_request_at_the_start_is_no_percentile_of_a_node() -> None:
    slow = _TIMES.format("ListGroups", 964)
    assert p99_of(slow) is None
    assert p99_of(slow + _TIMES.format("Produce", 3.5)) == 3.5


def problems_of(text: str, before: str = "", failed: dict[int, str] | None = None) -> list[str]:
    now = {1: parse("barnabas_ready 1\nkafka_controller_kafkacontroller_activecontrollercount 1\n" + text)}
    return overview(Scrape(0.0, {1: parse(before)}), Scrape(2.0, now, failed or {})).problems


def test_what_is_wrong_is_told_in_words() -> None:
    assert problems_of("") == []
    assert problems_of("kafka_controller_kafkacontroller_offlinepartitionscount 3") == ["3 partitions have no leader"]
    assert problems_of("kafka_server_replicamanager_underreplicatedpartitions 2") == [
        "2 partitions lack an in-sync replica"
    ]
    assert problems_of("barnabas_disk_free_bytes 4\nbarnabas_disk_total_bytes 100") == [
        "node 1: 4.0 % of its disk are free"
    ]
    assert problems_of("barnabas_disk_full_in_seconds 7200") == ["node 1: its disk is full in 2.0 h at this rate"]
    assert problems_of('barnabas_problems{what="flush"} 5') == [
        "node 1: flush fails (5); barnabas doctor on it says why"
    ]
    assert problems_of("barnabas_loop_stalls_total 7", "barnabas_loop_stalls_total 5") == [
        "node 1: something held its loop 2 times just now"
    ]
    assert problems_of("", failed={2: "refused"}) == ["node 2 does not answer: refused"]


def test_a_cluster_without_a_controller_and_a_node_that_is_not_ready() -> None:
    now = {1: parse("barnabas_ready 0\n")}
    seen = overview(Scrape(0.0, now), Scrape(1.0, now))
    assert seen.problems == ["no node is the active controller", "node 1 is not ready"]
    assert seen.nodes[0].why == "not ready"


def test_topics_are_sorted_by_what_they_move_and_groups_by_how_late_they_are() -> None:
    old = 'kafka_server_brokertopicmetrics_bytesin_total{topic="quiet"} 10\n'
    new = (
        'kafka_server_brokertopicmetrics_bytesin_total{topic="quiet"} 10\n'
        'kafka_server_brokertopicmetrics_bytesin_total{topic="busy"} 400\n'
        'kafka_server_brokertopicmetrics_messagesin_total{topic="busy"} 40\n'
        'barnabas_topic_log_bytes{topic="busy"} 5000\n'
        'kafka_consumergroup_current_offset_sum{consumergroup="late",topic="busy"} 1\n'
        'kafka_consumergroup_lag_sum{consumergroup="late",topic="busy"} 7\n'
        'kafka_consumergroup_lag_seconds{consumergroup="late",topic="busy"} 9.5\n'
        'kafka_consumergroup_members{consumergroup="late"} 2\n'
        'kafka_consumergroup_current_offset_sum{consumergroup="new",topic="busy"} 1\n'
    )
    seen = overview(Scrape(0.0, {1: parse(old)}), Scrape(2.0, {1: parse(new)}))
    assert [(row.topic, row.bytes_in, row.messages_in, row.log_bytes) for row in seen.topics] == [
        ("busy", 200.0, 20.0, 5000),
        ("quiet", 0.0, 0.0, 0),
    ]
    assert [(row.group, row.lag, row.seconds, row.members) for row in seen.groups] == [
        ("late", 7, 9.5, 2),
        ("new", None, None, 0),
    ]


def test_a_node_that_does_not_answer_is_down_with_the_reason() -> None:
    seen = overview(Scrape(0.0, {}), Scrape(1.0, {}, {2: "it does not answer"}))
    assert [(row.node, row.up, row.why) for row in seen.nodes] == [(2, False, "it does not answer")]
