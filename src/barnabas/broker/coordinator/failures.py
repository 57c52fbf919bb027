"""When a coordinator shard fails: how often it has, and when it may be loaded again.

A shard whose code raised something else than a KafkaError has changed its state in memory without writing all of it
down, or the other way round. It is dropped and loaded again from its log. The first time that happens at once: most
failures belong to one request, and the other groups of the shard should not wait for it. A shard that fails again
within `FORGET_MS` (its log cannot be replayed, or a client repeats the request) waits longer each time, so that loading
it over and over does not take the node's time from the other shards.
"""

from msgspec import Struct

FIRST_BACKOFF_MS = 500
MAX_BACKOFF_MS = 30_000
FORGET_MS = 60_000  # a shard that has worked for so long after a failure begins anew


class _Failed(Struct):
    times: int
    at_ms: int
    not_before_ms: int


class ShardFailures:
    def __init__(self) -> None:
        self.total = 0  # since the node started, over all shards
        self._by_index: dict[int, _Failed] = {}

    def note(self, index: int, now_ms: int, *, at_once: bool) -> int:
        """The shard has failed; gives how long it stays unloaded. `at_once` spares the first failure the wait."""
        self.total += 1
        known = self._by_index.get(index)
        times = 1 if known is None or now_ms - known.not_before_ms > FORGET_MS else known.times + 1
        waits = times - 1 if at_once else times
        backoff_ms = min(FIRST_BACKOFF_MS << min(waits - 1, 16), MAX_BACKOFF_MS) if waits else 0
        self._by_index[index] = _Failed(times, now_ms, now_ms + backoff_ms)
        return backoff_ms

    def waits(self, index: int, now_ms: int) -> bool:
        known = self._by_index.get(index)
        return known is not None and now_ms < known.not_before_ms

    def forget(self, index: int) -> None:
        """The shard begins anew, under another leader epoch or after it was loaded by its own account."""
        self._by_index.pop(index, None)
