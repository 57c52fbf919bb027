"""Requests on their way: one at a time to each node for each kind, with a deadline, and a pause after a failure."""

from msgspec import Struct

from barnabas.core.raft.messages import Request


class Pending(Struct, frozen=True):
    request: Request
    deadline_ms: int


class Requests:
    __slots__ = ("_open", "_pause")

    def __init__(self) -> None:
        self._open: dict[tuple[int, type[Request]], Pending] = {}
        self._pause: dict[tuple[int, type[Request]], int] = {}

    def clear(self) -> None:
        """A new role sends requests of its own; answers to the old ones are ignored."""
        self._open.clear()
        self._pause.clear()

    def ready_at(self, node_id: int, kind: type[Request], now_ms: int) -> int:
        """When the next request of this kind may go to this node; `now_ms` or less: at once."""
        key = (node_id, kind)
        pending = self._open.get(key)
        if pending is not None:
            if now_ms < pending.deadline_ms:
                return pending.deadline_ms
            del self._open[key]
        return self._pause.get(key, now_ms)

    def sent(self, node_id: int, request: Request, deadline_ms: int) -> None:
        self._open[node_id, type(request)] = Pending(request, deadline_ms)

    def close(self, node_id: int, request: Request, pause_until_ms: int | None = None) -> bool:
        """True when this very request was open. It no longer is."""
        key = (node_id, type(request))
        pending = self._open.get(key)
        if pending is None or pending.request is not request:
            return False
        del self._open[key]
        if pause_until_ms is None:
            self._pause.pop(key, None)
        else:
            self._pause[key] = pause_until_ms
        return True

    def pause(self, node_id: int, kind: type[Request], until_ms: int) -> None:
        self._pause[node_id, kind] = until_ms

    def connection_lost(self, node_id: int, pause_until_ms: int) -> None:
        for key in [key for key in self._open if key[0] == node_id]:
            del self._open[key]
            self._pause[key] = pause_until_ms
