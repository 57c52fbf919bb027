"""Our text: written by the node's module, read by ours and by Prometheus' own parser, with the same result."""

import pytest
from prometheus_client.parser import text_string_to_metric_families

from barnabas.broker.metrics.counts import Times
from barnabas.broker.metrics.exposition import family, histogram, labels, largest, single
from barnabas.observe.find import metrics_url
from barnabas.observe.samples import parse

STRANGE = ['a"b', "a\\b", "a\nb", "{}", 'x="y",z', "ü€\U0001f600", "a,b=c}", "\x00\x1b[31m", ""]


def written() -> str:
    times = Times()
    for seconds in (0.0002, 0.02, 3.0, 100.0):
        times.add(seconds)
    rows = [(labels(topic=name), number + 0.5) for number, name in enumerate(STRANGE)]
    return (
        single("barnabas_ready", 1)
        + family("kafka_server_brokertopicmetrics_bytesin_total", [("", 7), *rows])
        + histogram("barnabas_log_flush_seconds", [("", times)])
        + histogram("barnabas_request_seconds", [('request="Fetch"', times)])
    )


def test_every_label_comes_back_as_it_was() -> None:
    found = parse(written())
    rows = list(found.rows("kafka_server_brokertopicmetrics_bytesin_total"))
    assert [(each.get("topic"), value) for each, value in rows] == [
        (None, 7.0),
        *((name, number + 0.5) for number, name in enumerate(STRANGE)),
    ]
    assert found.value("barnabas_ready") == 1
    assert found.value("kafka_server_brokertopicmetrics_bytesin_total") == 7
    assert found.value("kafka_server_brokertopicmetrics_bytesin_total", topic="a\nb") == 2.5
    assert found.value("nothing") is None and found.total("nothing") == 0


def test_prometheus_own_parser_reads_the_same() -> None:
    theirs = {
        (sample.name, tuple(sorted(sample.labels.items()))): sample.value
        for each in text_string_to_metric_families(written())
        for sample in each.samples
    }
    found = parse(written())
    ours = {(name, tuple(sorted(each.items()))): value for name in found.names() for each, value in found.rows(name)}
    assert ours == theirs


def test_a_histogram_adds_up() -> None:
    found = parse(written())
    assert found.value("barnabas_log_flush_seconds_count") == 4
    assert found.value("barnabas_log_flush_seconds_bucket", le="+Inf") == 4
    assert found.value("barnabas_log_flush_seconds_bucket", le="5") == 3
    assert found.value("barnabas_log_flush_seconds_bucket", le="0.0001") == 0
    assert found.value("barnabas_log_flush_seconds_sum") == pytest.approx(103.0202)


@pytest.mark.parametrize("line", ["name", "name{a=1 5", "name notanumber", "name{} "])
def test_a_line_that_is_no_sample_is_an_error(line: str) -> None:
    with pytest.raises(ValueError):
        parse(line + "\n")


def test_the_largest_have_series_of_their_own() -> None:
    rows = [(str(number), number) for number in range(10)]
    assert largest(rows, 10) == ({str(number) for number in range(10)}, 0)
    assert largest(rows, 2) == ({"8", "9"}, 8)


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("http://127.0.0.1:9404", "http://127.0.0.1:9404"),
        ("https://0.0.0.0:9404,http://127.0.0.1:1", "https://host.example:9404"),
        ("http://:9404", "http://host.example:9404"),
        ("http://[::]:9404", "http://host.example:9404"),
        ("http://[::1]:9404", "http://[::1]:9404"),
        ("", None),
        (None, None),
        ("ftp://x:1", None),
    ],
)
def test_where_a_node_serves_its_metrics(text: str | None, url: str | None) -> None:
    assert metrics_url(text, "host.example") == url
