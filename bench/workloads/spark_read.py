"""Topics into Spark: `format("barnabas")` beside Spark's own connector, on the same node, in the same Spark, in turns.

Values are JSON. `count` counts rows, `sum` adds up a field of the JSON, parsed by Spark's from_json for both, so that
only the reading differs; a last figure lets our source decode the field itself (`valueFormat`). Each query is timed
from the action to its answer, planning and the look-up of offsets included.
"""

from __future__ import annotations

import json
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..clients import blast, create_topic, delete_topic, producer
from ..measures import Better, Measure
from ..meter import Meter
from ..options import Options
from ..servers import Server
from ..workload import RunResult, Workload

RECORDS = {100: 5_000_000, 1024: 1_000_000}
PARTITIONS = 4
FIELDS = "id BIGINT, amount BIGINT"


@dataclass(frozen=True, slots=True)
class ReadCase:
    size: int
    sums: bool

    @property
    def label(self) -> str:
        size = "1 KiB" if self.size == 1024 else f"{self.size} B"
        return f"{size}, {'sum of a JSON field' if self.sums else 'count'}"


class SparkRead(Workload[ReadCase]):
    name = "spark-read"
    title = 'Spark: reading by format("barnabas")'
    warm_up = 0.1
    measures = (
        Measure("connector_per_s", "Spark's connector, records/s", "/s", Better.HIGHER, digits=0),
        Measure("ours_per_s", 'format("barnabas"), records/s', "/s", Better.HIGHER, digits=0),
        Measure("share", "ours / connector", "x", Better.HIGHER, value_goal=1.0, comparable=False),
    )
    decoded = Measure("decoded_per_s", "ours with valueFormat=json, records/s", "/s", Better.HIGHER, digits=0)

    def cases(self) -> Sequence[ReadCase]:
        return [ReadCase(size, sums) for size in (100, 1024) for sums in (False, True)]

    def quick_cases(self) -> Sequence[ReadCase]:
        return [ReadCase(100, False), ReadCase(100, True)]

    def measures_of(self, case: ReadCase) -> Sequence[Measure]:
        return (*self.measures, self.decoded) if case.sums else self.measures

    def prepare(self, server: Server, case: ReadCase, options: Options) -> None:
        key = server.name, str(case.size)
        if key not in self.state:
            self.state[key] = create_topic(server.bootstrap, PARTITIONS)
            records = options.count(RECORDS[case.size])
            blast(producer(server.bootstrap), self.state[key], json_values(case.size), records)

    def finish(self, server: Server) -> None:
        for (owner, _), name in self.state.items():
            if owner == server.name:
                delete_topic(server.bootstrap, name)

    def run(self, server: Server, case: ReadCase, options: Options) -> RunResult:
        from ..spark import bench_session

        spark = bench_session()
        name = self.state[server.name, str(case.size)]
        meter = Meter(server)
        theirs, rows, answer = _timed(spark, "kafka", server, name, case)
        ours, our_rows, our_answer = _timed(spark, "barnabas", server, name, case)
        found = {"connector_per_s": rows / theirs, "ours_per_s": rows / ours, "share": theirs / ours}
        if (rows, answer) != (our_rows, our_answer):
            raise RuntimeError(f"the connector says {rows} and {answer}, ours {our_rows} and {our_answer}")
        if case.sums:
            decoded, _, told = _timed(spark, "barnabas", server, name, case, valueFormat="json", valueSchema=FIELDS)
            found["decoded_per_s"] = rows / decoded
            if told != answer:
                raise RuntimeError(f"decoded by the source it is {told}, not {answer}")
        result = meter.stop(records=(3 if case.sums else 2) * rows, record_bytes=case.size)
        return result | found


def json_values(size: int) -> list[bytes]:
    """A thousand of exactly this size, as a service would write them."""
    values = []
    for number in range(1000):
        value = json.dumps({"id": 10_000 + number, "amount": number % 97, "note": ""})
        values.append(f'{value[:-2]}{"x" * (size - len(value))}"}}'.encode())
    return values


def _timed(
    spark: Any, form: str, server: Server, name: str, case: ReadCase, **options: str
) -> tuple[float, int, int | None]:
    """Seconds, rows, and the sum where one was asked for."""
    reader = spark.read.format(form).option("kafka.bootstrap.servers", server.bootstrap).option("subscribe", name)
    frame = reader.options(**options).load()
    begin = time.perf_counter()
    if not case.sums:
        rows = frame.count()
        return time.perf_counter() - begin, rows, None
    amount = "amount" if options else f"from_json(CAST(value AS STRING), '{FIELDS}').amount"
    rows, total = frame.selectExpr(f"{amount} AS amount").selectExpr("count(*)", "sum(amount)").first()
    return time.perf_counter() - begin, rows, total
