"""A stream that cannot be read, for a reason that is known when its reader is made.

PySpark stops the reader whatever happens, and where making it failed there is none: its own UnboundLocalError is then
all that is shown. So the reason is kept, and told by whatever Spark asks first.
"""

from __future__ import annotations

from typing import NoReturn

from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import ReadLimit, SupportsTriggerAvailableNow

from barnabas.model.json_values import JsonObject
from barnabas.pipelines.errors import PipelineError, reason_first


class RefusedStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, reason: PipelineError) -> None:
        self._reason = reason

    @reason_first
    def initialOffset(self) -> NoReturn:
        raise self._reason

    @reason_first
    def latestOffset(self, start: JsonObject, limit: ReadLimit) -> NoReturn:
        raise self._reason

    @reason_first
    def prepareForTriggerAvailableNow(self) -> NoReturn:
        raise self._reason

    @reason_first
    def partitions(self, start: JsonObject, end: JsonObject) -> NoReturn:
        raise self._reason

    @reason_first
    def read(self, partition: InputPartition) -> NoReturn:
        raise self._reason

    def stop(self) -> None:
        """Nothing was opened."""
