"""Which events count: a rule that looks at one record and at nothing else.

Spark drops an event when the watermark has passed it, and where the watermark stands depends on how the stream happened
to be cut into batches: the same log can give two results. So our pipelines decide first, by the record alone. It counts
when it was sent no more than so long after the event, and not before the event (clocks differ: `SKEW_MS` is forgiven).
The watermark comes after, with more patience than the rule, and only cleans up state. What the rule lets through is
then the same in every run, in a batch, and in plain Python: the streamed result has one right answer.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

SKEW_MS = 1_000
LATE_METRIC = "late."
_WATERMARK_METADATA = "spark.watermarkDelayMs"  # by which Spark knows a column of event time

# How much longer than the rule the watermark waits: room for partitions that are read at different speeds.
PATIENCE = 2
PATIENCE_MS = 30_000


def counts(event_ms: int, sent_ms: int, allowed_ms: int) -> bool:
    """The rule, in plain Python."""
    return event_ms - SKEW_MS <= sent_ms <= event_ms + allowed_ms


def in_time(allowed_ms: int, event: str = "time", sent: str = "_timestamp") -> Column:
    """The rule, as a column."""
    from pyspark.sql import functions as f

    event_ms, sent_ms = f.unix_millis(f.col(event)), f.unix_millis(f.col(sent))
    return sent_ms.between(event_ms - SKEW_MS, event_ms + allowed_ms)


def counting(frame: DataFrame, allowed_ms: int, of: str, event: str = "time", sent: str = "_timestamp") -> DataFrame:
    """Only what counts by the rule. A stream's progress tells how many did not, under a name made of `of`."""
    from pyspark.sql import functions as f

    rule = in_time(allowed_ms, event, sent)
    if frame.isStreaming:
        frame = frame.observe(LATE_METRIC + of, f.count_if(~rule).alias("late"))
    return frame.where(rule)


def watermarked(frame: DataFrame, allowed_ms: int, event: str = "time") -> DataFrame:
    """With a watermark that drops nothing the rule lets through, as long as partitions are not read very unevenly."""
    return frame.withWatermark(event, f"{patience_ms(allowed_ms)} milliseconds")


def as_event_time(column: Column, allowed_ms: int, name: str) -> Column:
    """A column that is worked out from the watermarked one, as the event time of a group: Spark forgets the group when
    the watermark has passed it."""
    return column.alias(name, metadata={_WATERMARK_METADATA: patience_ms(allowed_ms)})


def patience_ms(allowed_ms: int) -> int:
    """How far the watermark stays behind the newest event."""
    return PATIENCE * allowed_ms + PATIENCE_MS


def once_each(frame: DataFrame, identity: str = "id", event: str = "time") -> DataFrame:
    """Without events that were sent twice. An id names one event, which has one time. So on a stream the time is put
    into the key: then Spark forgets an event as soon as the watermark has passed it, half as long as by the id alone,
    and drops a copy that comes after that as late."""
    return frame.dropDuplicates([identity, event] if frame.isStreaming else [identity])
