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
