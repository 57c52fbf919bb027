"""The metrics pipeline without Spark: what the generator promises, and the answer on cases done by hand."""

from collections import Counter
from itertools import islice

from barnabas.pipelines.common.disorder import iso, millis
from barnabas.pipelines.framework.records import Record
from barnabas.pipelines.metrics import PIPELINE, answer, generator, later
from barnabas.pipelines.metrics.levels import Promise, levels

BEGIN = 1_790_000_000_000


def request(number: int, time_ms: int, sent_ms: int | None = None, **changed: object) -> Record:
    value = {"id": f"r{number}", "service": "cart", "time": iso(time_ms), "status": 200, "latency_us": 100} | changed
    return Record("requests", "cart", value, time_ms if sent_ms is None else sent_ms)


def test_the_same_seed_gives_the_same_records_in_the_order_they_were_sent() -> None:
    first, second = (list(islice(generator.generate(3, BEGIN, 50), 3000)) for _ in range(2))
    assert first == second
    assert first != list(islice(generator.generate(4, BEGIN, 50), 3000))
    sent = [record.time_ms for record in first]
    assert sent == sorted(sent)


def test_the_generator_makes_every_kind_of_disorder() -> None:
    records = list(islice(generator.generate(3, BEGIN, 50), 6000))
    times = [millis(record.value["time"]) for record in records]
    late = [record.time_ms - time for record, time in zip(records, times, strict=True)]
    assert times != sorted(times)
    assert any(1_000 < each <= answer.ALLOWED_MS for each in late)
    assert any(each > answer.ALLOWED_MS for each in late)
    assert Counter(record.value["id"] for record in records).most_common(1)[0][1] == 2


def test_the_rate_is_what_was_asked_for() -> None:
    records = islice(generator.generate(3, BEGIN, 50), 12_000)
    span_s = max(millis(record.value["time"]) for record in records) - BEGIN
    assert 0.5 < 12_000 / (span_s / 1000) / 50 < 1.6  # the load breathes with the hour


def test_a_window_by_hand() -> None:
    records = [request(number, BEGIN + number * 100, latency_us=(number + 1) * 10) for number in range(11)]
    records[10].value["status"] = 503
    [window] = answer.windows(records)
    assert (window.begin_ms, window.requests, window.errors, window.rate) == (BEGIN, 11, 1, 1.1)
    assert window.error_share == 1 / 11
    assert (window.p50, window.p95) == (0.060, (100 + 10 * 0.5) / 1000)


def test_late_counts_too_late_and_twice_do_not() -> None:
    records = [
        request(1, BEGIN),
        request(2, BEGIN + 9_999, BEGIN + 9_999 + answer.ALLOWED_MS),
        request(3, BEGIN, BEGIN + answer.ALLOWED_MS + 1),
        request(1, BEGIN, BEGIN + 500),
        request(4, BEGIN + 10_000),
    ]
    assert [(window.begin_ms, window.requests) for window in answer.windows(records)] == [
        (BEGIN, 2),
        (BEGIN + 10_000, 1),
    ]


def test_rounding_keeps_eight_bits() -> None:
    assert [answer.rounded(number) for number in (0, 1, 255, 256, 257, 511)] == [0, 1, 255, 257, 257, 511]
    assert all(abs(answer.rounded(number) - number) / number <= 0.004 for number in range(1, 200_000, 7))
    assert len({answer.rounded(number) for number in range(1 << 20)}) <= 256 + 12 * 128


def test_levels_say_how_much_of_the_error_budget_is_gone() -> None:
    records = [request(number, BEGIN + number, status=500 if number < 2 else 200) for number in range(100)]
    [found] = levels(records, Promise(availability=99.0, p95_ms=1))
    assert (found.requests, found.errors, found.windows, found.windows_broken) == (100, 2, 1, 1)
    assert round(found.budget_used, 6) == 2
    assert found.availability == 98


def test_the_page_needs_nothing_from_elsewhere_and_trusts_no_name() -> None:
    records = [request(number, BEGIN + number * 30_000, service="<script>x</script>") for number in range(3)]
    promise = Promise()
    html = later.report(levels(records, promise), answer.windows(records), promise, 5)
    assert "<script" not in html and "http" not in html
    assert "&lt;script&gt;" in html and "5 records came too late" in html
    assert html.count("<svg") == 3


def test_a_day_without_requests_is_a_page_too() -> None:
    assert "no requests in this time" in later.report([], [], Promise(), 0)


def test_a_latency_is_told_with_one_decimal() -> None:
    value = {"service": "search", "rate": 1.5, "error_share": 0.0, "p95": 21.043199999999967}
    assert PIPELINE.tell("service-metrics", value).endswith("p95 21.0 ms")
