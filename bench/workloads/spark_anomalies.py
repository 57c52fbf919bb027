"""`barnabas pipeline run anomalies`: from a reading that is not normal to its alert consumed.

A hundred sensors read at a fixed rate; one reading in a hundred is far off. Three minutes of readings are there before
the pipeline starts, so that it knows what is normal.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from typing import Any

from ..live_pipeline import LivePipeline, keep_producing, ms
from ..servers import Server
from .spark_metrics import LiveWorkload, live_measures

SENSORS = 100
ODD_OF = 101  # one reading in so many is far off; every sensor's turn comes
BEFORE_MS, BEFORE_EVERY_MS = 180_000, 2_000


class SparkAnomalies(LiveWorkload):
    name = "spark-anomalies"
    title = "Spark: anomalies --now, from reading to alert"
    measures = live_measures("reading produced to its alert consumed", 100, 300)

    def pipeline(self, server: Server) -> LivePipeline:
        from barnabas.pipelines.anomalies import PIPELINE
        from barnabas.pipelines.anomalies.schema import ALERTS

        return LivePipeline(server, PIPELINE, ALERTS, produce, lambda value: ms(value["time"]))


def produce(bootstrap: str, topics: dict[str, str], rate: Any) -> None:
    from barnabas.pipelines.anomalies.generator import READINGS
    from barnabas.pipelines.common.disorder import iso
    from barnabas.pipelines.framework import records

    chance, topic = random.Random(7), topics[READINGS]
    now_ms = int(time.time() * 1000)

    def before() -> Iterator[records.Record]:
        for at_ms in range(now_ms - BEFORE_MS, now_ms, BEFORE_EVERY_MS):
            for sensor in range(SENSORS):
                name, value = f"sensor-{sensor}", round(chance.gauss(20, 0.5), 3)
                told = {"sensor": name, "seq": -at_ms, "time": iso(at_ms), "value": value, "unit": "C"}
                yield records.Record(READINGS, name, told, at_ms)

    records.write(bootstrap, before(), topics.__getitem__)

    def each(producer: Any, number: int, at_ms: int, at: str) -> None:
        sensor = f"sensor-{number % SENSORS}"
        value = chance.gauss(20, 0.5) + (50 if number % ODD_OF == 0 else 0)
        told = f'"sensor":"{sensor}","seq":{number},"time":"{at}","value":{value:.3f},"unit":"C"'
        producer.produce(topic, f"{{{told}}}", sensor)

    keep_producing(bootstrap, rate, each)
