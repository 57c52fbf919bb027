"""A partition that a link fills and this node leads: how far it is, and what was last said about it."""

from barnabas.broker.clock import wall_ms
from barnabas.broker.partition.partition import HostedPartition

UNKNOWN = -1


class Linked:
    __slots__ = (
        "bytes_in",
        "caught_up_ms",
        "error",
        "partition",
        "skipped",
        "source_broker",
        "source_end",
        "source_epoch",
        "source_topic_id",
    )

    def __init__(self, partition: HostedPartition, source_topic_id: bytes) -> None:
        self.partition = partition
        self.source_topic_id = source_topic_id
        self.source_broker = UNKNOWN  # that leads it there, and is fetched from
        self.source_epoch = UNKNOWN  # of that leader
        self.source_end = UNKNOWN  # the high watermark there, as last heard
        self.caught_up_ms = UNKNOWN  # when we last had all of it
        self.bytes_in = 0
        self.skipped = 0  # records that were gone at the source before they were fetched
        self.error = ""

    @property
    def end_offset(self) -> int:
        """Up to where its records are here to stay. What followers do not have yet a failover may take, so whoever
        promotes must not count on it."""
        opened = self.partition.opened
        return 0 if opened is None else opened.high_watermark

    def heard(self, source_end: int) -> None:
        self.source_end = source_end
        self.error = ""
        opened = self.partition.opened
        if (0 if opened is None else opened.log.log_end_offset) >= source_end:  # its followers have it in a moment
            self.caught_up_ms = wall_ms()
