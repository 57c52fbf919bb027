"""A live tail: the records that come from now on (or from given offsets on), at a rate that a person's screen can take.

What comes faster is passed over, and how many offsets that were is told: the tail then goes on at the end of the log,
so it costs a node no more than what it shows. With a filter, matches count for the rate, and what is looked at is
bounded as well. A leader that dies is waited for, and said meanwhile; a topic that is deleted ends the tail.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping
from dataclasses import dataclass, field

from barnabas.browse.opening import Batch, Opener
from barnabas.browse.record import Record, Unreadable
from barnabas.browse.topic_log import RETRY_S, Again, Answers, Fetched, TopicLog
from barnabas.model.limits import TAIL_EXAMINED_PER_SECOND_MAX, TAIL_RECORDS_PER_SECOND_MAX
from barnabas.wire.visible import visible_batches

POLL_MS = 1_000  # how long a node holds a fetch that finds nothing; the tail says at least so often that it lives
PARTITION_BYTES, ANSWER_BYTES = 64 * 1024, 256 * 1024  # of one fetch: some hundred records
FILTERED_BYTES = (512 * 1024, 1024 * 1024)  # the same of a tail that looks for something
ROUND_S = 0.25  # a tail that had its share of a second goes on after so long
GROWTH_S = 10.0  # how often it is asked whether the topic has more partitions

Keep = Callable[[Record], bool]


@dataclass(slots=True)
class Tailed:
    """What came: `dropped` offsets were passed over since the last one (some may have held no record). `offsets` is
    where a tail that takes over goes on. `trouble` says what is waited for, empty when all is well."""

    records: list[Record] = field(default_factory=list)
    dropped: int = 0
    offsets: dict[int, int] = field(default_factory=dict)
    trouble: str = ""
    unreadable: list[Unreadable] = field(default_factory=list)


class _Allowance:
    """So many a second, and no more than a second's worth at once."""

    def __init__(self, rate: int) -> None:
        self._rate = rate
        self.left: float = rate
        self._at = _now()

    def refill(self) -> None:
        now = _now()
        self.left = min(self._rate, self.left + (now - self._at) * self._rate)
        self._at = now


class Tail:
    def __init__(self, log: TopicLog, opener: Opener, rate: int, keep: Keep | None) -> None:
        self._log = log
        self._opener = opener
        self._keep = keep
        self._shown = _Allowance(max(1, min(rate, TAIL_RECORDS_PER_SECOND_MAX)))
        self._examined = _Allowance(TAIL_EXAMINED_PER_SECOND_MAX)
        self._offsets: dict[int, int] = {}
        self._polls: dict[asyncio.Task[Answers[Fetched]], list[int]] = {}
        self._reasons: dict[int, Again] = {}
        self._failing_since: float | None = None

    async def run(self, only: Iterable[int] | None, offsets: Mapping[int, int] | None) -> AsyncGenerator[Tailed, None]:
        chosen = await self._log.open(only)
        known = {each: at for each, at in (offsets or {}).items() if each in chosen}
        self._offsets = {**await self._log.ends([each for each in chosen if each not in known]), **known}
        grown_at = _now()
        try:
            yield Tailed(offsets=dict(self._offsets))  # from here on nothing is missed
            while True:
                event = await self._round()
                yield event
                if only is None and _now() - grown_at > GROWTH_S:
                    grown_at = _now()
                    await self._log.look_up_again()
                    for each in self._log.known_partitions():
                        self._offsets.setdefault(each, 0)
                if min(self._shown.left, self._examined.left) < 1:
                    await asyncio.sleep(ROUND_S)
        finally:
            for poll in self._polls:
                poll.cancel()
            await asyncio.gather(*self._polls, return_exceptions=True)

    async def _round(self) -> Tailed:
        """Waits until something came, or for a poll's time."""
        event = Tailed()
        self._start_polls()
        if self._polls:
            done, _ = await asyncio.wait(self._polls, timeout=POLL_MS / 1000, return_when=asyncio.FIRST_COMPLETED)
        else:
            done = set()
            await asyncio.sleep(RETRY_S)
        self._shown.refill()
        self._examined.refill()
        for poll in done:
            del self._polls[poll]
            for partition, found in poll.result().items():
                if isinstance(found, Again):
                    self._reasons[partition] = found
                else:
                    self._reasons.pop(partition, None)
                    await self._take(partition, found, event)
        await self._mend()
        event.trouble = "; ".join(f"{self._log.topic}-{each}: {why.reason}" for each, why in self._some_reasons())
        event.offsets = dict(self._offsets)
        event.records.sort(key=lambda record: record.timestamp)
        return event

    def _start_polls(self) -> None:
        polled = {each for partitions in self._polls.values() for each in partitions}
        homes, missing = self._log.leaders(self._offsets.keys() - polled)
        self._reasons |= missing
        sizes = (PARTITION_BYTES, ANSWER_BYTES) if self._keep is None else FILTERED_BYTES
        for node_id, partitions in homes.items():
            ask = self._log.fetching(dict(self._offsets), *sizes, wait_ms=POLL_MS)
            task = asyncio.ensure_future(self._log.ask_one(node_id, partitions, ask))
            self._polls[task] = partitions

    async def _mend(self) -> None:
        """After failures: who leads now? A topic that is not there any more ends it all."""
        if not self._reasons:
            self._failing_since = None
            return
        if self._failing_since is None:
            self._failing_since = _now()
        self._log.give_up(self._reasons, _now() - self._failing_since)
        await asyncio.sleep(RETRY_S)
        await self._log.look_up_again()

    def _some_reasons(self) -> list[tuple[int, Again]]:
        return sorted(self._reasons.items())[:3]

    async def _take(self, partition: int, fetched: Fetched, event: Tailed) -> None:
        position = self._offsets[partition]
        if fetched.gone:
            begins, ends = await self._log.starts([partition]), await self._log.ends([partition])
            self._offsets[partition] = begins[partition] if position < begins[partition] else ends[partition]
            event.dropped += max(0, begins[partition] - position)
            return
        after = self._log.after(fetched, partition, position)
        for at, header in visible_batches(fetched.records, fetched.aborted, position, 1 << 63, check_crc=False):
            room = int(min(self._shown.left, self._examined.left))
            if room < 1:
                self._pass_over(partition, max(position, header.base_offset), max(after, fetched.end), event)
                return
            batch = Batch(self._log.topic, partition, fetched.records, at, header, position, 1 << 63)
            most = room if self._keep is None else int(self._examined.left)
            found = await self._opener.first(batch, most)
            if isinstance(found, Unreadable):
                event.unreadable.append(found)
                continue
            records, more = found
            stopped_at = await self._show(records, event)
            if stopped_at is None and more:
                stopped_at = records[-1].offset + 1
            if stopped_at is not None:
                self._pass_over(partition, stopped_at, max(after, fetched.end), event)
                return
        self._offsets[partition] = after

    async def _show(self, records: list[Record], event: Tailed) -> int | None:
        """Takes those that are wanted; gives the first offset that there was no room for."""
        held_since = _now()
        for record in records:
            if self._shown.left < 1:
                return record.offset
            self._examined.left -= 1
            if self._keep is None or self._keep(record):
                self._shown.left -= 1
                event.records.append(record)
            if self._keep is not None and _now() - held_since > 0.01:
                await asyncio.sleep(0)
                held_since = _now()
        return None

    def _pass_over(self, partition: int, first: int, end: int, event: Tailed) -> None:
        event.dropped += max(0, end - first)
        self._offsets[partition] = max(end, first)


def _now() -> float:
    return asyncio.get_running_loop().time()
