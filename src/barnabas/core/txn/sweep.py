"""Deadlines that are looked at together: no more often than an interval, and never before one has come.

Kafka walks over all transactions every `...cleanup.interval.ms`. Here each deadline has its timer, so an idle shard is
never woken; the interval only keeps one run from following the last too closely.
"""

from collections.abc import Callable

from barnabas.core.coordinator.timers import Timers


class Sweep:
    __slots__ = ("_last_run_ms", "_timers", "interval_ms")

    def __init__(self, interval_ms: int) -> None:
        self.interval_ms = interval_ms
        self._timers = Timers()
        self._last_run_ms: int | None = None

    def set(self, name: str, deadline_ms: int, action: Callable[[], None]) -> None:
        self._timers.set((name,), deadline_ms, action)

    def is_set(self, name: str) -> bool:
        return self._timers.is_set((name,))

    def is_due(self, now_ms: int) -> bool:
        deadline_ms = self.next_deadline_ms()
        return deadline_ms is not None and deadline_ms <= now_ms

    def cancel(self, name: str) -> None:
        self._timers.cancel((name,))

    def next_deadline_ms(self) -> int | None:
        deadline_ms = self._timers.next_deadline_ms()
        if deadline_ms is None or self._last_run_ms is None:
            return deadline_ms
        return max(deadline_ms, self._last_run_ms + self.interval_ms)

    def run(self, now_ms: int) -> None:
        if not self.is_due(now_ms):
            return
        self._last_run_ms = now_ms
        while (action := self._timers.pop_due(now_ms)) is not None:
            action()
