"""A writer that keeps, beside its books, when each partition's acknowledgements came: the gap a failover leaves."""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

from tests.crash.load import Writer
from tests.support.members import until


class TimedWriter(Writer):
    def __init__(self, bootstrap: str, topic: str, partitions: int, per_second: int, **settings: Any) -> None:
        self.times: dict[int, list[float]] = {partition: [] for partition in range(partitions)}
        quick = {"topic.metadata.refresh.fast.interval.ms": 50, **settings}
        super().__init__(bootstrap, topic, partitions, per_second, **quick)

    def _delivered(self, error: Any, message: Any) -> None:
        super()._delivered(error, message)
        if not error:
            self.times[message.partition()].append(time.monotonic())

    def await_more(self, count: int, seconds: float = 60) -> None:
        """Until so many more have been acknowledged in every partition together."""
        before = len(self.acked)
        until(lambda: len(self.acked) >= before + count, f"{count} more records are acknowledged", seconds)

    def await_partition(self, partition: int, since: float, seconds: float) -> None:
        """Until the partition takes records again, of those written after `since`."""

        def flows() -> bool:
            fresh = [at for at in self.times[partition][-2000:] if at > since + 0.05]
            return len(fresh) > 20

        until(flows, f"partition {partition} takes records again", seconds)

    def gap(self, partition: int, since: float) -> float:
        """The longest silence that ended after `since`."""
        return max((b - a for a, b in pairwise(self.times[partition]) if b > since), default=0.0)
