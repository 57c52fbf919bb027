"""Requests by API: how many, how long, which errors; connections, failed logins, throttling, stalls of the loop.

Quantiles are those of the last one to two minutes: what was counted is compared with what had been counted then.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping

from barnabas.broker.metrics.counts import ApiCounts, Errors, Times, quantile
from barnabas.broker.metrics.exposition import Sample, family, head, histogram, labels, number
from barnabas.model.errors import ErrorCode

QUANTILES = ("0.50", "0.75", "0.95", "0.99", "0.999")
_WINDOW_SECONDS = 60.0
_NAMES = {code.value: code.name for code in ErrorCode}


def title(name: str) -> str:
    """As Kafka spells an API: list_offsets is ListOffsets."""
    return "".join([part.capitalize() for part in name.split("_")])


class RecentTimes:
    """What had been counted at the beginning of this minute and of the one before."""

    def __init__(self, now: Callable[[], float]) -> None:
        self._now = now
        self._begun = now()
        self._before: dict[Times, list[int]] = {}
        self._current: dict[Times, list[int]] = {}

    def since(self, times: Iterable[Times]) -> dict[Times, list[int]]:
        """Of each, what was counted in the last one to two minutes."""
        times = list(times)
        if self._now() - self._begun >= _WINDOW_SECONDS:
            self._begun = self._now()
            self._before, self._current = self._current, {each: list(each.buckets) for each in times}
        found = {}
        for each in times:
            old = self._before.get(each)
            new = each.buckets
            found[each] = list(new) if old is None else [a - b for a, b in zip(new, old, strict=True)]
        return found


def collect(counts: Mapping[int, ApiCounts], errors: Iterable[Errors], recent: RecentTimes) -> Iterator[str]:
    used = [(f'request="{title(each.name)}"', each) for each in counts.values() if each.requests]
    name = "kafka_network_requestmetrics_requests_total"
    yield family(name, [(f"{{{text}}}", each.requests) for text, each in used])
    yield family("kafka_network_requestmetrics_errors_total", _errors(counts, errors))
    name = "kafka_network_requestmetrics_totaltimems"
    buckets = recent.since([each.times for each in counts.values() if each.requests])
    lines = []
    for text, each in used:
        for share in QUANTILES:
            seconds = quantile(buckets[each.times], float(share))
            if seconds is not None:
                lines.append(f'{name}{{{text},quantile="{share}"}} {number(seconds * 1000)}\n')
        lines.append(f"{name}_sum{{{text}}} {number(each.times.seconds * 1000)}\n")
        lines.append(f"{name}_count{{{text}}} {each.times.count}\n")
    yield head(name) + "".join(lines) if lines else ""
    for at in range(0, len(used), 16):
        made = histogram("barnabas_request_seconds", [(text, each.times) for text, each in used[at : at + 16]])
        yield made if at == 0 else made.removeprefix(head("barnabas_request_seconds"))


def _errors(counts: Mapping[int, ApiCounts], errors: Iterable[Errors]) -> list[Sample]:
    total: dict[tuple[int, int], int] = {}
    for each in errors:
        for key, count in each.counts.items():
            total[key] = total.get(key, 0) + count
    return [
        (labels(request=title(counts[api_key].name), error=_NAMES.get(code, str(code))), count)
        for (api_key, code), count in sorted(total.items())
        if api_key in counts
    ]
