"""Faults on order: a test tells a node to fail, delay or cut the next requests of a kind (barnabas.testing).

A node without faults carries None here and pays one comparison a request.
"""

from threading import Lock

from msgspec import Struct

from barnabas.model.errors import ErrorCode


class Fault(Struct, frozen=True):
    api_key: int
    error: ErrorCode | None = None
    delay_ms: int = 0
    disconnect: bool = False


class Faults:
    """Ordered from the test's thread, struck in the node's: hence the lock."""

    def __init__(self) -> None:
        self._orders: list[list[Fault | int]] = []
        self._lock = Lock()

    def order(self, fault: Fault, times: int) -> None:
        with self._lock:
            self._orders.append([fault, times])

    def clear(self) -> None:
        with self._lock:
            self._orders.clear()

    def strike(self, api_key: int) -> Fault | None:
        """The fault that hits this request, if one does."""
        if not self._orders:
            return None
        with self._lock:
            for order in self._orders:
                fault, times = order
                assert isinstance(fault, Fault) and isinstance(times, int)
                if fault.api_key == api_key:
                    if times == 1:
                        self._orders.remove(order)
                    elif times > 1:
                        order[1] = times - 1
                    return fault
        return None
