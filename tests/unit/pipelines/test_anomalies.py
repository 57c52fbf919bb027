"""The anomalies pipeline without Spark: the watch of one sensor, also in a TwsTester, and the plain answers."""

from itertools import islice
from random import Random

import pytest

from barnabas.pipelines.anomalies import answer, generator, later
from barnabas.pipelines.anomalies.baseline import ALLOWED_MS, KEEP_MS, LEAST_READINGS, Rule, thousandths
from barnabas.pipelines.anomalies.watch import Memory, watched
from barnabas.pipelines.common.disorder import millis
from barnabas.pipelines.common.lateness import counts
from barnabas.pipelines.errors import PipelineError

BEGIN = 1_790_000_000_000
RULE = Rule(threshold=6.0, least=1)


def calm(count: int, begin_ms: int = BEGIN) -> list[tuple[int, int, int]]:
    """One reading a second, swaying between 995 and 1005."""
    return [(begin_ms + number * 1000, number, 995 + number % 11) for number in range(count)]


def test_a_jump_is_an_alert_and_sway_is_not() -> None:
    memory = Memory()
    assert watched(memory, "s", calm(120), RULE) == []
    [alert] = watched(memory, "s", [(BEGIN + 120_000, 120, 1100)], RULE)
    assert (alert.sensor, alert.seq, alert.value) == ("s", 120, 1.1)
    assert 0.999 < alert.mean < 1.001 and alert.score > 20


def test_a_reading_told_twice_is_one_alert() -> None:
    memory = Memory()
    watched(memory, "s", calm(120), RULE)
    odd = (BEGIN + 120_000, 120, 1100)
    assert len(watched(memory, "s", [odd, odd], RULE)) == 1
    assert watched(memory, "s", [odd], RULE) == []


def test_too_little_is_known_at_first() -> None:
    assert watched(Memory(), "s", [*calm(LEAST_READINGS - 1), (BEGIN + 60_000, 99, 9999)], RULE) == []


def test_what_comes_in_another_order_and_in_other_batches_gives_the_same_alerts() -> None:
    records = list(islice(generator.generate(5, BEGIN, 40), 8000))
    want = answer.alerts(records, RULE)
    assert len(want) > 20
    got = []
    memories: dict[str, Memory] = {}
    chance = Random(1)
    place = 0
    while place < len(records):
        size = chance.randint(1, 700)
        by_sensor: dict[str, list[tuple[int, int, int]]] = {}
        for record in records[place : place + size]:
            value = record.value
            if record.topic == generator.READINGS and counts(millis(value["time"]), record.time_ms, ALLOWED_MS):
                reading = millis(value["time"]), value["seq"], thousandths(value["value"])
                by_sensor.setdefault(value["sensor"], []).append(reading)
        for sensor, readings in by_sensor.items():
            chance.shuffle(readings)
            memory = Memory.of(memories[sensor].text()) if sensor in memories else Memory()
            got += watched(memory, sensor, readings, RULE)
            memories[sensor] = memory
        place += size
    assert sorted(got) == want


def test_what_is_remembered_does_not_grow() -> None:
    memory = Memory()
    sizes = []
    for hour in range(3):
        watched(memory, "s", calm(3600, BEGIN + hour * 3_600_000), RULE)
        sizes.append(len(memory.text()))
    assert sizes[1] == pytest.approx(sizes[2], rel=0.1)
    assert min(memory.buckets) >= memory.newest_ms - KEEP_MS


def test_the_processor_keeps_its_memory_in_spark_state() -> None:
    pytest.importorskip("pyspark")
    from pyspark.sql import Row
    from pyspark.sql.streaming.tws_tester import TwsTester

    from barnabas.pipelines.anomalies.now import Watch

    def rows(readings: list[tuple[int, int, int]]) -> list[Row]:
        return [Row(time_ms=time_ms, seq=seq, milli=milli) for time_ms, seq, milli in readings]

    tester = TwsTester(Watch(RULE))
    assert tester.test("a", rows(calm(120))) == []
    assert tester.test("b", rows(calm(120))) == []
    [alert] = tester.test("a", rows([(BEGIN + 120_000, 120, 1100)]))
    assert (alert["sensor"], alert["seq"], alert["value"]) == ("a", 120, 1.1)
    assert tester.test("a", rows([(BEGIN + 120_000, 120, 1100)])) == []
    kept = tester.peekValueState("memory", "b")
    assert kept is not None and Memory.of(kept[0]).newest_ms == BEGIN + 119_000


def test_the_back_test_counts_by_hand() -> None:
    records = list(islice(generator.generate(5, BEGIN, 40), 12_000))
    quiet, loud = answer.back_test(records, [3.0, 10.0], Rule())
    assert quiet.incidents == loud.incidents == len(answer.incidents(records)) > 3
    assert quiet.alerts > loud.alerts > 0
    assert quiet.recall == 1 and quiet.precision < loud.precision
    assert answer.alerts(records, Rule(threshold=10.0)).__len__() == loud.alerts


def test_the_best_threshold_is_the_quietest_of_the_best() -> None:
    tried = [
        answer.Tried(at, alerts, good, 4, seen) for at, alerts, good, seen in ((3, 9, 6, 4), (5, 4, 4, 4), (6, 4, 4, 4))
    ]
    assert later.best(tried) == tried[2]
    assert later.best([answer.Tried(3, 5, 0, 0, 0)]) is None
    assert "6 (best)" in later.report(tried, 6, 0)


@pytest.mark.parametrize("text", ["", "x", "3,,4", "0", "-1", "inf"])
def test_thresholds_that_are_none_are_refused_in_one_line(text: str) -> None:
    with pytest.raises(PipelineError, match="must be numbers above 0"):
        later.thresholds_of(text)


def test_a_back_test_without_incidents_or_alerts_says_that_it_says_nothing() -> None:
    without = [answer.Tried(threshold, 0, 0, 0, 0) for threshold in (3.0, 5.0)]
    assert "precision and recall say nothing" in later.lines(without, 5.0)[-1]
    assert "0.000" not in later.report(without, 5.0, 0)
    quiet = [answer.Tried(threshold, 0, 0, 2, 0) for threshold in (3.0, 5.0)]
    assert "no threshold gave an alert" in later.lines(quiet, 5.0)[-1]
