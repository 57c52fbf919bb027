"""What each client has used of its quotas, and for how long it is throttled.

A meter measures what all clients together use that share a quota (rules.py has who does). `Meters.of` gives a client
the meters that hold for it under the rules of the moment; when rules change, meters keep what they have measured.
Clients choose their ids as they like, so the number of meters is bounded: those without recent use give way, then the
oldest.
"""

from collections.abc import Iterator
from typing import NamedTuple

from barnabas.core.access.quotas.rules import (
    CONSUMER_BYTE_RATE,
    CONTROLLER_MUTATION_RATE,
    PRODUCER_BYTE_RATE,
    REQUEST_PERCENTAGE,
    Entity,
    Limit,
    QuotaRules,
)
from barnabas.core.access.quotas.windows import RateWindow, Samples, TokenBucket
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.limits import QUOTA_ENTITIES_MAX, QUOTA_METERS_MAX
from barnabas.model.settings import Settings

QUOTA_EXCEEDED = "The throttling quota has been exceeded."
LATELY_MS = 10_000
_PERCENT = 100.0


class Throttled(NamedTuple):
    """Who was throttled, by which quota, for how long, and how long ago. None: whichever."""

    key: str
    rule: Entity
    limit: float
    user: str | None
    client_id: str | None
    time_ms: int
    ago_ms: int
    used: float  # a second, by now


class Meter:
    __slots__ = ("key", "limit", "throttled_ms", "time_ms", "total", "window")

    def __init__(self, key: str, limit: Limit, samples: Samples, total: list[int] | None = None) -> None:
        """`total`: how often clients of the rule were throttled, and for how many milliseconds."""
        self.key = key
        self.limit = limit
        self.total = total or [0, 0]
        self.window = RateWindow(samples)
        self.time_ms = 0  # for how long a client was throttled at last, and when
        self.throttled_ms = 0

    def use(self, amount: float, now_ms: int, most_ms: int | None = None) -> int:
        """Count it; gives how long to throttle, in milliseconds."""
        self.window.record(amount, now_ms)
        time_ms = self.window.throttle_ms(self.limit.value, now_ms)
        if time_ms and most_ms is not None:
            time_ms = min(time_ms, most_ms)
        if time_ms:
            self.time_ms, self.throttled_ms = time_ms, now_ms
            self.total[0] += 1
            self.total[1] += time_ms
        return time_ms

    def take_back(self, amount: float, now_ms: int) -> None:
        self.window.record(-amount, now_ms)


class ClientMeters:
    """The quotas of one client under one set of rules; None where it has none of that kind."""

    __slots__ = ("_samples", "fetch", "limited", "produce", "request", "rules")

    def __init__(
        self,
        rules: QuotaRules,
        samples: Samples,
        limited: bool,
        produce: Meter | None,
        fetch: Meter | None,
        request: Meter | None,
    ) -> None:
        self.rules = rules
        self.limited = limited  # by any quota, that of partitions included
        self._samples = samples
        self.produce = produce
        self.fetch = fetch
        self.request = request

    def produced(self, size: int, now_ms: int) -> int:
        return 0 if self.produce is None else self.produce.use(size, now_ms)

    def worked(self, seconds: float, now_ms: int) -> int:
        """Time of the event loop that the client's requests took; never throttled for longer than a sample."""
        return 0 if self.request is None else self.request.use(seconds * _PERCENT, now_ms, self._samples.window_ms)

    def fetched(self, size: int, seconds: float, now_ms: int) -> int:
        """An answer of `size` bytes is ready; above 0 it must not be sent, and does not count."""
        time_ms = 0 if self.fetch is None else self.fetch.use(size, now_ms)
        longest_ms = max(time_ms, self.worked(seconds, now_ms))
        if longest_ms and self.fetch is not None:
            self.fetch.take_back(size, now_ms)
        return longest_ms

    @property
    def fetch_max_bytes(self) -> int | None:
        """More in one answer would be throttled for ever: what the quota allows over all samples but one."""
        if self.fetch is None:
            return None
        number, window_ms = self._samples
        return int(min(self.fetch.limit.value * max(number - 1, 1) * window_ms / 1000, 2**31 - 1))


class Meters:
    def __init__(self, samples: Samples) -> None:
        self._samples = samples
        self._by_client: dict[tuple[str, str | None, str | None], Meter] = {}
        self.totals: dict[tuple[str, Entity], list[int]] = {}  # by quota and rule: how often, how many milliseconds

    def __len__(self) -> int:
        return len(self._by_client)

    def of(self, rules: QuotaRules, user: str, client_id: str, now_ms: int) -> ClientMeters:
        keys = (PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE, REQUEST_PERCENTAGE)
        found = [self._meter(rules, key, user, client_id, now_ms) for key in keys]
        limited = any(found) or rules.limit(CONTROLLER_MUTATION_RATE, user, client_id) is not None
        return ClientMeters(rules, self._samples, limited, *found)

    def _meter(self, rules: QuotaRules, key: str, user: str, client_id: str, now_ms: int) -> Meter | None:
        limit = rules.limit(key, user, client_id)
        if limit is None:
            return None
        place = (key, limit.user, limit.client_id)
        meter = self._by_client.get(place)
        if meter is None:
            if len(self._by_client) >= QUOTA_METERS_MAX:
                self._make_room(now_ms)
            meter = self._by_client[place] = Meter(key, limit, self._samples)
        meter.limit = limit
        if len(self.totals) >= QUOTA_ENTITIES_MAX:  # of rules that are gone
            self.totals.clear()
        meter.total = self.totals.setdefault((key, limit.rule), [0, 0])
        return meter

    def _make_room(self, now_ms: int) -> None:
        quiet_ms = now_ms - self._samples.number * self._samples.window_ms
        self._by_client = {k: meter for k, meter in self._by_client.items() if meter.window.last_ms > quiet_ms}
        for place in list(self._by_client)[: max(len(self._by_client) - QUOTA_METERS_MAX // 2, 0)]:
            del self._by_client[place]

    def throttled(self, now_ms: int) -> Iterator[Throttled]:
        """Those that are, or were within a few seconds: a client far above its quota is so again and again."""
        for meter in self._by_client.values():
            if meter.time_ms and meter.throttled_ms + meter.time_ms + LATELY_MS > now_ms:
                limit, used, ago_ms = meter.limit, meter.window.measure(now_ms)[0], now_ms - meter.throttled_ms
                who = (limit.user, limit.client_id)
                yield Throttled(meter.key, limit.rule, limit.value, *who, meter.time_ms, ago_ms, used)


class Mutations:
    """The partitions that clients create and delete (KIP-599), at the active controller."""

    def __init__(self, samples: Samples) -> None:
        self._samples = samples
        self._buckets: dict[tuple[str | None, str | None], TokenBucket] = {}

    def charge(self, rules: QuotaRules, user: str, client_id: str, *, strict: bool, now_ms: int) -> "Charge | None":
        """For one request; None: the client has no quota."""
        limit = rules.limit(CONTROLLER_MUTATION_RATE, user, client_id)
        if limit is None:
            return None
        place = (limit.user, limit.client_id)
        bucket = self._buckets.get(place)
        if bucket is None:
            if len(self._buckets) >= QUOTA_METERS_MAX:
                self._make_room(now_ms)
            bucket = self._buckets[place] = TokenBucket(self._samples)
        return Charge(bucket, limit.value, now_ms, strict=strict)

    def _make_room(self, now_ms: int) -> None:
        quiet_ms = now_ms - self._samples.number * self._samples.window_ms
        self._buckets = {k: bucket for k, bucket in self._buckets.items() if bucket.last_ms > quiet_ms}
        for place in list(self._buckets)[: max(len(self._buckets) - QUOTA_METERS_MAX // 2, 0)]:
            del self._buckets[place]


def mutations_of(settings: Settings) -> Mutations:
    number, seconds = (settings.int(f"controller.quota.window.{name}") for name in ("num", "size.seconds"))
    return Mutations(Samples(number, seconds * 1000))


class Charge:
    """Of one request. A strict one is refused item by item once no tokens are left; any other is only throttled."""

    __slots__ = ("_bucket", "_now_ms", "_rate", "_strict", "throttle_ms")

    def __init__(self, bucket: TokenBucket, rate: float, now_ms: int, *, strict: bool) -> None:
        self._bucket = bucket
        self._rate = rate
        self._now_ms = now_ms
        self._strict = strict
        self.throttle_ms = 0

    def __call__(self, partitions: int) -> None:
        if self._strict:
            self.throttle_ms = self._bucket.throttle_ms(self._rate, self._now_ms)
            if self.throttle_ms:
                raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, QUOTA_EXCEEDED)
            self._bucket.take(partitions, self._rate, self._now_ms)
        else:
            self._bucket.take(partitions, self._rate, self._now_ms)
            self.throttle_ms = self._bucket.throttle_ms(self._rate, self._now_ms)
