"""Which rule makes clients wait, from two scrapes."""

from __future__ import annotations

from barnabas.console.clusters.throttling import Throttled, throttled_between
from barnabas.observe.overview import Scrape
from barnabas.observe.samples import Metrics, parse


def scraped(*rows: tuple[str, int, float]) -> Metrics:
    text = "".join(
        f'barnabas_throttled_total{{quota="produce",rule="{rule}"}} {times}\n'
        f'barnabas_throttled_seconds_total{{quota="produce",rule="{rule}"}} {seconds}\n'
        for rule, times, seconds in rows
    )
    return parse(text)


def test_over_all_nodes_those_that_wait_now_first() -> None:
    before = Scrape(10.0, {1: scraped(("alice", 10, 1.0), ("bob", 7, 0.7)), 2: scraped(("alice", 5, 0.5))}, {})
    after = Scrape(
        12.0,
        {1: scraped(("alice", 10, 1.0), ("bob", 11, 1.1)), 2: scraped(("alice", 6, 0.6)), 3: scraped(("eve", 90, 9.0))},
        {},
    )
    assert throttled_between(before, after) == [
        Throttled("produce", "bob", 2.0, 11, 1.1),
        Throttled("produce", "alice", 0.5, 16, 1.6),
        Throttled("produce", "eve", 0.0, 90, 9.0),  # a node that was not scraped before says nothing about now
    ]


def test_a_node_that_was_restarted_counts_from_nothing() -> None:
    before, after = (Scrape(at, {1: scraped(("alice", times, 1.0))}, {}) for at, times in ((10.0, 100), (11.0, 3)))
    assert throttled_between(before, after) == [Throttled("produce", "alice", 0.0, 3, 1.0)]
    assert throttled_between(Scrape(1.0, {}, {}), Scrape(2.0, {}, {})) == []
