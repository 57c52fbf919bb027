"""The S3 sink: objects by topic, partition and hour, each record in exactly one.

A writer gathers records, beyond `write`, until they are worth an object or have waited long enough. A batch, offsets
[first, next) of one partition, becomes one object for each hour that occurs in it (or whatever `layout` says), named by
its first offset. claims.py says how the offsets of a batch are fixed in the bucket before the first of its objects is
written, and why two writers, one of them paused since long ago, never write the same offset twice.

What a writer holds is in two parts: `_head`, a batch whose offsets a claim has fixed, which is written as soon as all
of them are here, and `_open`, what comes after.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from urllib.parse import quote

from barnabas.connect.connectors.s3.batch import Batch, Memory, Rows
from barnabas.connect.connectors.s3.claims import Claim, Claims
from barnabas.connect.connectors.s3.lines import JsonRows
from barnabas.connect.connectors.s3.options import Layout, SinkOptions, read_sink_options
from barnabas.connect.connectors.s3.parquet import ParquetRows
from barnabas.connect.connectors.s3.rows import NOT_JSON, Columns
from barnabas.connect.connectors.s3.store import Bucket
from barnabas.connect.contract import Delivered, Options, Rejected, Sink, Writer
from barnabas.connect.errors import Unavailable

OBJECTS_MAX = 100  # in one batch: records of many hours make many small objects
BATCH = "barnabas-batch"  # an object's metadata: which batch it is of
CREATES_MAX = 10


class S3Sink(Sink):
    def __init__(self, name: str, options: Options) -> None:
        self.name = name
        self._options = read_sink_options(options)
        self._bucket = Bucket(self._options)
        self._memory = Memory(self._options.memory_bytes)

    def open(self, topic: str, partition: int) -> Writer:
        claims = Claims(self._bucket, self.name, topic, partition)
        return S3Writer(self._options, self._bucket, claims, Layout(self._options, topic, partition), self._memory)

    def reset(self, topic: str, partition: int, offset: int) -> None:
        Claims(self._bucket, self.name, topic, partition).reset(offset)


class S3Writer(Writer):
    def __init__(self, options: SinkOptions, bucket: Bucket, claims: Claims, layout: Layout, memory: Memory) -> None:
        self._options, self._bucket, self._claims, self._layout, self._memory = options, bucket, claims, layout, memory
        self._columns = Columns(options.metadata, options.metadata_prefix)
        self._head: tuple[Claim, Batch] | None = None
        self._open: Batch | None = None
        self._durable: int | None = None  # None: nothing has been written here, and nothing given to us
        self._written: Claim | None = None  # the last claim, finished and not marked as such
        self._refused: list[Rejected] = []  # kept when writing fails, since what was taken is not taken again
        last, complete = claims.last()
        if last is not None:
            self._adopt(last, complete, Batch(last.first, self._make))
        else:
            self._durable = claims.started()

    def next_offset(self) -> int | None:
        return self._durable

    def write(self, records: Sequence[Delivered], next_offset: int) -> Sequence[Rejected]:
        if self._open is None:
            first = records[0].place if records else next_offset
            self._open = Batch(first if self._durable is None else self._durable, self._make)
            self._durable = self._open.first
        for record in records:
            if record.place >= self._open.end:
                self._take(record)
                if self._full(self._open):
                    self._settle(now=False)
        self._reach(next_offset)
        self._settle(now=self._memory.holds(id(self), self._held()))
        refused, self._refused = self._refused, []
        return refused

    def flush(self, now: bool) -> int | None:
        self._settle(now)
        if now and self._written is not None and self._head is None:
            with suppress(Unavailable):  # without the mark, the next to come looks for the objects
                self._claims.finished(self._written)
                self._written = None
        return self._durable

    def close(self) -> None:
        self._memory.gone(id(self))

    def _make(self) -> Rows:
        options = self._options
        if options.format == "jsonl":
            return JsonRows(self._columns, options.compression)
        return ParquetRows(self._columns, options.nested, options.columns_max, options.compression)

    def _held(self) -> int:
        return (self._open.bytes if self._open else 0) + (self._head[1].bytes if self._head else 0)

    # Gathering

    def _take(self, record: Delivered) -> None:
        assert self._open is not None
        if self._head is not None:
            self._reach(record.place)
        try:
            row = self._columns.row(record)
            if row is not None:
                self._open.add(record, self._layout.place(record), row)
        except NOT_JSON as problem:
            self._refused.append(Rejected(record, f"s3 cannot write it: {problem}"))
        self._open.end = record.place + 1

    def _reach(self, offset: int) -> None:
        """Everything before `offset` is here. What belongs to a claim goes to the head."""
        assert self._open is not None
        self._open.end = max(self._open.end, offset)
        if self._head is not None and self._head[1].end < self._head[0].next <= self._open.end:
            claim, _ = self._head
            rest = self._open.split(claim.next)
            self._head, self._open = (claim, self._open), rest

    def _full(self, batch: Batch) -> bool:
        options = self._options
        return (
            batch.bytes >= options.object_bytes
            or batch.records >= options.object_records
            or len(batch.rows) >= OBJECTS_MAX
        )

    def _due(self, batch: Batch) -> bool:
        waited = time.monotonic() - batch.since >= self._options.object_seconds
        return self._full(batch) or (batch.end > batch.first and waited)

    # Writing

    def _settle(self, now: bool) -> None:
        """Writes what is due; with `now`, everything that can be."""
        while True:
            if self._head is not None:
                claim, batch = self._head
                if batch.end < claim.next:
                    return  # records of it are still to come
                self._finish(claim, batch)
            if self._open is None or self._open.end == self._open.first or not (now or self._due(self._open)):
                return
            self._claim(self._open)

    def _claim(self, batch: Batch) -> None:
        """Makes this batch the head, or goes on from what somebody else has claimed."""
        if self._claims.empty and (first := self._claims.start(batch.first)) != batch.first:
            self._follow(batch, first)
            return
        names = tuple(sorted(self._name(place, batch.first) for place in batch.rows))
        claim = self._claims.make(batch.first, batch.end, names)
        if claim is not None:
            self._head, self._open = (claim, batch), Batch(batch.end, self._make)
        else:
            self._follow(batch, batch.first)

    def _follow(self, batch: Batch, first: int) -> None:
        """Goes on from the last claim, which somebody else has made, or from where the chain starts."""
        last, complete = self._claims.last()
        known = first if last is None else last.next if complete else last.first
        if known < batch.first:
            raise Unavailable(
                f"s3: another worker is at offset {known} of this partition, before {batch.first}",
                "It is opened again there",
            )
        if last is not None:
            self._adopt(last, complete, batch)
        else:
            self._open, self._durable = batch.split(first), first

    def _adopt(self, claim: Claim, complete: bool, held: Batch) -> None:
        """Goes on from a claim that somebody else has made; what we hold before it is written already."""
        first = claim.next if complete else claim.first
        self._open = held.split(first)
        self._durable = first
        self._head = None if complete else (claim, Batch(first, self._make))
        self._written = claim if complete else None
        self._reach(self._open.end)

    def _finish(self, claim: Claim, batch: Batch) -> None:
        for place in sorted(batch.rows):
            self._create(self._name(place, claim.first), batch.rows[place], claim)
            del batch.rows[place]
        self._head, self._durable, self._written = None, claim.next, claim
        self._claims.tidy()

    def _name(self, place: str, first: int) -> str:
        return self._bucket.path(self._layout.name(place, first))

    def _create(self, name: str, rows: Rows, claim: Claim) -> None:
        batch = f"{self._claims.batches}/{claim.first}-{claim.next}"
        data = rows.encode(batch)
        for _ in range(CREATES_MAX):
            if self._bucket.create(name, data, {BATCH: quote(batch)}):
                return
            about = self._bucket.about(name)
            if about is None:
                continue  # S3 refuses a put beside another one, too, and that one may fail
            found = about.get(BATCH, quote(batch))  # a store that keeps no metadata has to be believed
            if found == quote(batch):
                return
            raise Unavailable(
                f"s3: there is an object {name} of another batch ({found})",
                "Give each connector its own 'prefix', and have {topic} in 'layout' if it reads several",
            )
        raise Unavailable(f"s3: {name} can neither be created nor read", "It is tried again")
