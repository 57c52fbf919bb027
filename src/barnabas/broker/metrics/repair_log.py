"""What was repaired when logs were opened: a line for each of the first partitions, and the sum of all after a start
that followed an unclean stop. From any thread."""

import logging
import threading

from barnabas.broker.metrics.event_log import events
from barnabas.model.ids import TopicPartition
from barnabas.storage.recovery import RecoveryReport

log = logging.getLogger(__name__)

_LINES_MAX = 10


class RepairLog:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._partitions = 0
        self._cut_bytes = 0

    def opened(self, partition: TopicPartition, report: RecoveryReport) -> None:
        if report.quiet:
            return
        with self._lock:
            self._partitions += 1
            self._cut_bytes += report.cut_bytes
            number = self._partitions
        if number <= _LINES_MAX:
            log.warning("%s was repaired: %s", partition, report)
        elif number == _LINES_MAX + 1:
            log.warning("more partitions are repaired: only their number is told from here on")

    def recovered(self, partitions: int, seconds: float) -> None:
        """All logs have been looked at after an unclean stop."""
        repaired = "none had to be repaired"
        if self._partitions:
            repaired = f"{self._partitions:,} repaired, {self._cut_bytes:,} bytes cut that were not written whole"
        events.warning(
            "the node was not stopped cleanly: the logs of %s were checked in %.1f s, %s",
            "1 partition" if partitions == 1 else f"{partitions:,} partitions",
            seconds,
            repaired,
        )
