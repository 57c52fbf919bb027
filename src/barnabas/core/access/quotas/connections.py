"""How fast connections may come (KIP-612): on the node, on a listener, from an address.

A listener above its rate, or on a node above its rate, takes its connections later, one after the other, as if it did
not accept them before. An address above its rate is refused: its connection is closed when the throttle time is over,
so that the client does not come back at once.
"""

from barnabas.core.access.quotas.windows import RateWindow, Samples
from barnabas.model.limits import CONNECTION_DELAY_MAX_MS, QUOTA_METERS_MAX
from barnabas.model.settings import Settings


class ConnectionRates:
    def __init__(self, samples: Samples) -> None:
        self._samples = samples
        self._node = RateWindow(samples)
        self._listeners: dict[str, RateWindow] = {}
        self._free_ms: dict[str, int] = {}  # when a listener takes the next connection
        self._addresses: dict[str, RateWindow] = {}

    def delay_ms(self, listener: str, listener_rate: int | None, node_rate: int | None, now_ms: int) -> int | None:
        """How long a new connection waits; None: too many wait already. A rate that is None is no limit."""
        if listener_rate is None and node_rate is None:
            return 0
        begins_ms = max(now_ms, self._free_ms.get(listener, 0))
        if begins_ms - now_ms > CONNECTION_DELAY_MAX_MS:
            return None
        time_ms = 0
        if listener_rate is not None:
            window = self._listeners.setdefault(listener, RateWindow(self._samples))
            time_ms = self._recorded(window, listener_rate, begins_ms)
        if node_rate is not None:
            time_ms = max(time_ms, self._recorded(self._node, node_rate, begins_ms))
        self._free_ms[listener] = begins_ms + time_ms
        return begins_ms + time_ms - now_ms

    def refused_ms(self, address: str, rate: float, now_ms: int) -> int:
        """0: the address may connect; else when to close the connection."""
        window = self._addresses.get(address)
        if window is None:
            if len(self._addresses) >= QUOTA_METERS_MAX:
                quiet_ms = now_ms - self._samples.number * self._samples.window_ms
                busy = [(name, known) for name, known in self._addresses.items() if known.last_ms > quiet_ms]
                self._addresses = dict(busy[-QUOTA_METERS_MAX // 2 :])
            window = self._addresses[address] = RateWindow(self._samples)
        time_ms = self._recorded(window, rate, now_ms)
        if time_ms:
            window.record(-1, now_ms)  # it was not accepted
        return time_ms

    def _recorded(self, window: RateWindow, rate: float, now_ms: int) -> int:
        window.record(1, now_ms)
        return min(window.throttle_ms(rate, now_ms), self._samples.window_ms)


def rates_of(settings: Settings) -> ConnectionRates:
    number, seconds = settings.int("quota.window.num"), settings.int("quota.window.size.seconds")
    return ConnectionRates(Samples(number, seconds * 1000))
