"""Produce: good batches, every way a batch can be bad, sequence numbers; producer ids."""

from __future__ import annotations

import time
from typing import Any

import cramjam

from tests.differential.engine import Pair, Side
from tests.differential.registry import scenario
from tests.support.wire import FETCH, INIT_PRODUCER_ID, PRODUCE, batch, fetch_body, legacy_message, produce_body, record

DAY_MS = 86_400_000


class Asker:
    """Produces to one topic by name or id, as the version wants it."""

    def __init__(self, pair: Pair, v: int, topic: str) -> None:
        self.pair, self.v, self.topic = pair, v, topic

    def __call__(self, question: str, data: Any, **more: Any) -> None:
        def body(side: Side) -> dict[str, Any]:
            made = data(side) if callable(data) else data
            return produce_body(self.topic, made, topic_id=side.saved.get(f"id of {self.topic}", b"\3" * 16), **more)

        self.pair.call(PRODUCE, self.v, body, question)

    def written(self) -> None:
        def body(side: Side) -> dict[str, Any]:
            return fetch_body(self.topic, 0, topic_id=side[f"id of {self.topic}"])

        self.pair.call(FETCH, 13, body, f"what was written to {self.topic.rstrip('0123456789-')}")


@scenario(PRODUCE)
def produce(pair: Pair, v: int) -> None:
    ask = Asker(pair, v, pair.topic(pair.fresh("produced"), 2))
    now = int(time.time() * 1000)
    one = batch([b"one", b"two"], timestamp=now)
    ask("two records, acks all", one)
    ask("two records, acks 1", one, acks=1)
    ask("an odd number of acks", one, acks=2)
    ask("acks minus two", one, acks=-2)
    ask("another partition", one, partition=1)
    ask("a partition that is none", one, partition=7)
    ask("a negative partition", one, partition=-1)
    if v == 13:  # Kafka does not answer this one, which takes its time to find out
        ask("no records at all", None)
    ask("empty records", b"")
    ask("a wrong CRC", batch(timestamp=now, bad_crc=True))
    ask("a length too short to be", batch(timestamp=now, length_error=-80))
    ask("a length that says more than is there", batch(timestamp=now, length_error=9))
    ask("a length that says less than is there", batch(timestamp=now, length_error=-1))
    ask("half a batch", one[: len(one) // 2])
    ask("ten bytes", one[:10])
    ask("magic 3", batch(timestamp=now, magic=3))
    ask("magic 1, new layout", batch(timestamp=now, magic=1))
    ask("magic -1", batch(timestamp=now, magic=-1))
    for magic in (0, 1):
        ask(f"a message of format {magic}", legacy_message(b"old", magic))
    ask("a count too high", batch([b"x"], timestamp=now, count=2))
    ask("a count too low", batch([b"x", b"y"], timestamp=now, count=1))
    ask("a count of zero", batch([b"x"], timestamp=now, count=0))
    ask("a negative count", batch([b"x"], timestamp=now, count=-1))
    ask("a last offset too high", batch([b"x"], timestamp=now, last_offset_delta=3))
    ask("a last offset below zero", batch([b"x"], timestamp=now, last_offset_delta=-1))
    ask("two batches at once", one + one)
    ask("a control batch", batch([b"x"], timestamp=now, attributes=0x20))
    ask("a transactional batch without a producer", batch([b"x"], timestamp=now, attributes=0x10))
    ask("a codec that is none", batch([b"x"], timestamp=now, attributes=5))
    ask("a base offset and epoch of its own", batch([b"x"], timestamp=now, base_offset=77, leader_epoch=5))
    ask("old timestamps", batch([b"x"], timestamp=now - 3000 * DAY_MS))
    ask("no timestamps", batch([b"x"], timestamp=-1))
    ask("a timestamp in an hour and more", batch([b"x"], timestamp=now + 3_700_000))
    ask("a max timestamp below the records'", batch([b"x"], timestamp=now, max_timestamp=now - 5000))
    ask("null value", batch([None], keys=[b"k"], timestamp=now))
    for codec, pack in ((1, cramjam.gzip.compress), (3, lz4), (4, cramjam.zstd.compress)):
        packed = bytes(pack(record(0, b"first") + record(1, b"second")))
        ask(f"codec {codec}", batch([b"", b""], timestamp=now, attributes=codec, payload=packed))
    ask.written()
    unknown = Asker(pair, v, pair.fresh("never"))
    unknown("an unknown topic", one)
    Asker(pair, v, "bad name")("a bad topic name", one)


@scenario(PRODUCE)
def produce_batches_that_only_opening_shows_bad(pair: Pair, v: int) -> None:
    """A broker that never opens a compressed batch cannot see these; a reader does. The topics are thrown away."""
    now = int(time.time() * 1000)
    Asker(pair, v, pair.topic(pair.fresh("closed")))("a batch and rubbish", batch(timestamp=now) + b"rubbish")
    for codec, pack in ((1, cramjam.gzip.compress), (3, lz4), (4, cramjam.zstd.compress)):
        ask = Asker(pair, v, pair.topic(pair.fresh("closed")))
        packed = bytes(pack(record(0, b"first") + record(1, b"second")))
        ask(
            f"codec {codec}, a count too high",
            batch([b"", b""], timestamp=now, attributes=codec, payload=packed, count=3, last_offset_delta=2),
        )
        ask(
            f"codec {codec}, cut",
            batch([b"", b""], timestamp=now, attributes=codec, payload=packed[: len(packed) // 2]),
        )
        ask(f"codec {codec}, not compressed at all", batch([b"x"], timestamp=now, attributes=codec))


def lz4(data: bytes) -> bytes:
    compressor = cramjam.lz4.Compressor(content_checksum=False, block_linked=False)
    compressor.compress(data)
    return bytes(compressor.finish())


@scenario(PRODUCE)
def produce_under_topic_settings(pair: Pair, v: int) -> None:
    now = int(time.time() * 1000)
    small = Asker(pair, v, pair.topic(pair.fresh("small"), 1, max_message_bytes="200"))
    small("too large", batch([b"x" * 300], timestamp=now))
    small("just fits", batch([b"x" * (200 - 61 - 11)], timestamp=now))
    small("one too many", batch([b"x" * (200 - 61 - 9)], timestamp=now))
    compacted = Asker(pair, v, pair.topic(pair.fresh("compacted"), 1, cleanup_policy="compact"))
    compacted("no key", batch([b"x"], timestamp=now))
    compacted("one of three without a key", batch([b"x", b"y", b"z"], keys=[b"a", None, b"c"], timestamp=now))
    compacted("keys", batch([b"x", None], keys=[b"a", b"b"], timestamp=now))
    compacted.written()
    stamped = Asker(pair, v, pair.topic(pair.fresh("stamped"), 1, message_timestamp_type="LogAppendTime"))
    stamped("the server's time", batch([b"x"], timestamp=now - 50 * DAY_MS))
    stamped("the server's time, a record of the future", batch([b"x"], timestamp=now + 50 * DAY_MS))
    strict = Asker(
        pair,
        v,
        pair.topic(
            pair.fresh("strict"), 1, message_timestamp_before_max_ms="1000", message_timestamp_after_max_ms="1000"
        ),
    )
    strict("too old", batch([b"x"], timestamp=now - 60_000))
    strict("too new", batch([b"x"], timestamp=now + 60_000))
    strict("two of three too old", batch([b"x", b"y", b"z"], timestamp=now - 60_000))
    for codec in ("gzip", "snappy", "lz4", "zstd", "uncompressed"):
        packed = Asker(pair, v, pair.topic(pair.fresh(f"packed-{codec}"), 1, compression_type=codec))
        packed(f"compressed by the server in {codec}", batch([b"abc" * 30] * 5, timestamp=now))


@scenario(PRODUCE)
def produce_in_sequence(pair: Pair, v: int) -> None:
    """An idempotent producer: next, duplicate, gap, older epoch, newer epoch."""
    ask = Asker(pair, v, pair.topic(pair.fresh("sequenced")))
    now = int(time.time() * 1000)
    pair.call(
        INIT_PRODUCER_ID,
        4,
        {"transactional_id": None, "transaction_timeout_ms": 60000, "producer_id": -1, "producer_epoch": -1},
        "an id",
        save=lambda side, answer: side.save("producer", answer["producer_id"]),
    )

    def numbered(first: int, count: int = 2, epoch: int = 0, **more: Any) -> Any:
        return lambda s: batch(
            [b"x"] * count, timestamp=now, producer_id=s["producer"], producer_epoch=epoch, base_sequence=first, **more
        )

    ask("the first", numbered(0))
    ask("the next", numbered(2))
    ask("the last again", numbered(2))
    ask("the first again", numbered(0))
    ask("a gap", numbered(9))
    ask("overlapping", numbered(3))
    for first in (4, 6, 8, 10, 12):
        ask(f"on with {first}", numbered(first))
    ask("one too old to be remembered", numbered(0))
    ask("a newer epoch, not from zero", numbered(5, epoch=1))
    ask("a newer epoch", numbered(0, epoch=1))
    ask("the older epoch", numbered(14))
    ask("a negative sequence", numbered(-1, epoch=1))
    ask(
        "an id nobody drew, from zero",
        batch([b"x"], timestamp=now, producer_id=424242, producer_epoch=0, base_sequence=0),
    )
    ask(
        "an id nobody drew, not from zero",
        batch([b"x"], timestamp=now, producer_id=434343, producer_epoch=0, base_sequence=5),
    )
    ask("two batches at once", lambda s: numbered(2, 1, 1)(s) + numbered(3, 1, 1)(s))
    ask.written()


@scenario(INIT_PRODUCER_ID)
def init_producer_id(pair: Pair, v: int) -> None:
    def ask(question: str, name: str | None = None, producer: int = -1, epoch: int = -1, **more: Any) -> None:
        body = {
            "transactional_id": name,
            "transaction_timeout_ms": 60000,
            "producer_id": producer,
            "producer_epoch": epoch,
            **more,
        }
        pair.call(INIT_PRODUCER_ID, v, body, question)

    ask("an idempotent producer")
    ask("an empty transactional id", "")
    if v >= 3:
        ask("an id without an epoch", producer=5)
        ask("an epoch without an id", epoch=5)
        ask("a negative id", producer=-7)
