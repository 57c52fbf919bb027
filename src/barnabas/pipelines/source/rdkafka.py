"""The other way to read a split: librdkafka's consumer, for logins that our own fetcher does not speak.

Slower (a Python object for each record; figures in docs/spark.md), and the same to everybody above: it makes the same
`Records`, by putting keys and values one behind the other into a buffer of its own.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from itertools import chain

import numpy as np
from confluent_kafka import TIMESTAMP_LOG_APPEND_TIME, Consumer, KafkaError, KafkaException, TopicPartition

from barnabas.client.common.connection import librdkafka_settings, open_handle
from barnabas.client.common.rdkafka import ConsumerHandle, RawMessage
from barnabas.client.errors import translate
from barnabas.pipelines.common.arrays import Ints
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.source.decoding import Records
from barnabas.pipelines.source.leader import PATIENCE_S
from barnabas.pipelines.source.loss import lost
from barnabas.pipelines.source.options import SourceOptions
from barnabas.pipelines.source.planning import Range
from barnabas.pipelines.source.security import librdkafka_settings_of

AT_A_TIME = 20_000
POLL_S = 0.2


def read_by_librdkafka(split: Range, options: SourceOptions) -> Iterator[Records]:
    consumer = _open(split, options)
    try:
        offset = split.start
        heard = time.monotonic()
        while offset < split.end:
            messages = consumer.consume(AT_A_TIME, POLL_S)
            wanted, offset, ended = _sort(messages, split, offset, options)
            if wanted:
                yield _records(wanted)
            if ended:
                return
            if messages:
                heard = time.monotonic()
            elif time.monotonic() - heard > PATIENCE_S:
                raise PipelineError(f"cannot read {split.topic}-{split.partition}: no answer from {options.bootstrap}")
    except KafkaException as error:
        raise PipelineError(str(translate(error, f"read {split.topic}", options.bootstrap))) from None
    finally:
        consumer.close()


def _open(split: Range, options: SourceOptions) -> ConsumerHandle:
    ours = {
        "group.id": options.group,
        "enable.auto.commit": False,
        "enable.partition.eof": True,
        "auto.offset.reset": "error",
        "isolation.level": "read_committed" if options.read_committed else "read_uncommitted",
        "queued.max.messages.kbytes": 65_536,
    }
    settings = librdkafka_settings(options.bootstrap, ours, librdkafka_settings_of(options.client), {})
    consumer: ConsumerHandle = open_handle(Consumer, settings, f"read {split.topic}")
    start = split.start
    try:
        low, _ = consumer.get_watermark_offsets(TopicPartition(split.topic, split.partition), PATIENCE_S)
        if low > start:
            lost(f"{split.topic}-{split.partition} does not hold offset {start} any more, it begins at {low}", options)
            start = low
        consumer.assign([TopicPartition(split.topic, split.partition, start)])
    except BaseException:
        consumer.close()
        raise
    return consumer


def _sort(
    messages: list[RawMessage], split: Range, offset: int, options: SourceOptions
) -> tuple[list[RawMessage], int, bool]:
    """The records of the split among these, the offset to go on from, and whether the end has been reached."""
    wanted: list[RawMessage] = []
    for message in messages:
        error = message.error()
        if error is None:
            if message.offset() >= split.end:
                return wanted, offset, True
            wanted.append(message)
            offset = message.offset() + 1
        elif error.code() == KafkaError._PARTITION_EOF:
            # Behind the last record there may be control records, or a gap that compaction left.
            offset = max(offset, message.offset())
        elif error.code() in (KafkaError._AUTO_OFFSET_RESET, KafkaError.OFFSET_OUT_OF_RANGE):
            lost(f"{split.topic}-{split.partition} does not hold offset {offset} any more", options)
            return wanted, offset, True
        elif not error.retriable():
            told = translate(KafkaException(error), f"read {split.topic}-{split.partition}", options.bootstrap)
            raise PipelineError(str(told))
    return wanted, offset, False


def _records(messages: list[RawMessage]) -> Records:
    keys = [message.key() for message in messages]
    values = [message.value() for message in messages]
    key_sizes, key_bytes = _sizes(keys)
    value_sizes, value_bytes = _sizes(values)
    # Interleaved, so that the places ascend for keys and for values, as `gather` wants them.
    pairs = chain.from_iterable(zip(key_bytes, value_bytes, strict=True))
    buffer = np.frombuffer(b"".join(pairs) or b"\0", np.uint8)
    lengths = np.maximum(key_sizes, 0) + np.maximum(value_sizes, 0)
    ends = np.cumsum(lengths)
    key_starts = ends - lengths
    stamps = [message.timestamp() for message in messages]
    return Records(
        buffer,
        np.array([message.offset() for message in messages], np.int64),
        np.array([stamp for _, stamp in stamps], np.int64),
        np.array([kind == TIMESTAMP_LOG_APPEND_TIME for kind, _ in stamps], bool),
        key_starts,
        key_sizes,
        key_starts + np.maximum(key_sizes, 0),
        value_sizes,
        ends,
        [message.headers() for message in messages],
    )


def _sizes(parts: list[bytes | None]) -> tuple[Ints, list[bytes]]:
    sizes = np.array([-1 if part is None else len(part) for part in parts], np.int64)
    return sizes, [part or b"" for part in parts]
