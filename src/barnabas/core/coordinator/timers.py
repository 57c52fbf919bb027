"""Timers of one shard: a heap that is only touched when a deadline comes nearer or comes due.

Heartbeats push a session's deadline further out many times before it ever fires, so a later deadline is only noted in
the table; the stale heap entry is put right when it reaches the top. Setting a timer again replaces it.
"""

import heapq
from collections.abc import Callable

TimerKey = tuple[str, ...]
Action = Callable[[], None]


class Timers:
    __slots__ = ("_armed", "_heap", "_sequence")

    def __init__(self) -> None:
        self._armed: dict[TimerKey, tuple[int, Action, int]] = {}  # deadline, action, deadline in the heap
        self._heap: list[tuple[int, int, TimerKey]] = []
        self._sequence = 0

    def set(self, key: TimerKey, deadline_ms: int, action: Action) -> None:
        known = self._armed.get(key)
        if known is not None and known[2] <= deadline_ms:
            self._armed[key] = (deadline_ms, action, known[2])
        else:
            self._push(key, deadline_ms, action)

    def cancel(self, key: TimerKey) -> None:
        self._armed.pop(key, None)
        # Cancelled entries stay in the heap until they come up; a heap that is mostly such entries is made anew.
        if len(self._heap) > 64 and len(self._heap) > 4 * len(self._armed):
            self._heap = []
            for other, (deadline_ms, action, _) in list(self._armed.items()):
                self._push(other, deadline_ms, action)

    def is_set(self, key: TimerKey) -> bool:
        return key in self._armed

    def next_deadline_ms(self) -> int | None:
        while self._heap:
            at_ms, _, key = self._heap[0]
            known = self._armed.get(key)
            if known is None or known[2] != at_ms:
                heapq.heappop(self._heap)
            elif known[0] > at_ms:
                heapq.heappop(self._heap)
                self._push(key, known[0], known[1])
            else:
                return at_ms
        return None

    def pop_due(self, now_ms: int) -> Action | None:
        """The earliest action whose time has come, disarmed; None when there is none left."""
        deadline_ms = self.next_deadline_ms()
        if deadline_ms is None or deadline_ms > now_ms:
            return None
        _, _, key = heapq.heappop(self._heap)
        return self._armed.pop(key)[1]

    def _push(self, key: TimerKey, deadline_ms: int, action: Action) -> None:
        self._sequence += 1
        self._armed[key] = (deadline_ms, action, deadline_ms)
        heapq.heappush(self._heap, (deadline_ms, self._sequence, key))
