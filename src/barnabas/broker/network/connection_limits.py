"""How many connections the node takes and how fast: in all, on a listener, from an address (KIP-402, KIP-612).

Where brokers have a listener of their own, clients cannot keep them out: its connections, and those of the controllers'
listeners, count neither against `max.connections` nor against the node's rate, and when the node is full the client
connection that has been idle for longest gives way to them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker import clock
from barnabas.broker.network import descriptors
from barnabas.core.access.quotas.rules import QuotaRules
from barnabas.model import limits
from barnabas.model.settings import ConfigSource, Settings

if TYPE_CHECKING:
    from barnabas.core.access.quotas.connections import ConnectionRates

_LOOPBACK = frozenset({"127.0.0.1", "::1", "::ffff:127.0.0.1"})
_NO_LIMIT = 2**31 - 1
_COUNT, _PER_ADDRESS, _RATE = "max.connections", "max.connections.per.ip", "max.connection.creation.rate"


class Admission(NamedTuple):
    """`refused`: why the connection is closed, after `seconds`. Without, nothing is read from it for `seconds`."""

    refused: str = ""
    seconds: float = 0.0


ADMITTED = Admission()


class ConnectionLimits:
    """`quotas` gives the rules for addresses, as they are now."""

    def __init__(self, settings: Settings, quotas: Callable[[], QuotaRules]) -> None:
        self._quotas = quotas
        self._rates: ConnectionRates | None = None  # until there is a limit
        self._count = 0
        self._by_address: Counter[str] = Counter()
        self._by_listener: Counter[str] = Counter()
        self.apply(settings)

    def apply(self, settings: Settings) -> None:
        """All of them may change while the node runs."""
        self._settings = settings
        self.most = min(settings.int(_COUNT), limits.CONNECTIONS_MAX)
        files = descriptors.connections_max()
        self._why = "open files, ulimit -n" if files < self.most else _COUNT
        self.most = min(self.most, files)
        is_set = settings.source(_PER_ADDRESS) is not ConfigSource.DEFAULT
        self._per_address = settings.int(_PER_ADDRESS) if is_set else None
        self._overrides = settings.addresses("max.connections.per.ip.overrides")
        self._node_rate = _limit(settings.int(_RATE))
        self._of_listeners: dict[str, tuple[int | None, int | None]] = {}
        brokers, clients = settings.inter_broker_listener(), settings.client_listeners()
        self._of_nodes = {listener.name for listener in settings.controller_listeners()}
        if brokers is not None and len(clients) > 1:
            self._of_nodes.add(brokers.name)

    def is_of_nodes(self, listener: str) -> bool:
        return listener in self._of_nodes

    @property
    def is_full(self) -> bool:
        return self._count > self.most

    def by_listener(self) -> list[tuple[str, int]]:
        return sorted(self._by_listener.items())

    def begin(self, listener: str, address: str) -> Admission:
        """Count a new connection in, and say what becomes of it."""
        self._count += 1
        self._by_address[address] += 1
        self._by_listener[listener] += 1
        most, rate = self._of_listener(listener)
        if self.is_full and not self.is_of_nodes(listener):
            return Admission(f"the node has {self.most} connections already ({self._why})")
        if most is not None and self._by_listener[listener] > most:
            return Admission(f"listener {listener} has {most} connections already ({_COUNT})")
        if self._by_address[address] > (most := self._most_from(address)):
            return Admission(f"this address has {most} connections already ({_PER_ADDRESS})")
        now_ms, quotas = int(clock.source.monotonic() * 1000), self._quotas()
        if quotas.limits_addresses and (allowed := quotas.connection_rate(address)) is not None:
            refused_ms = self._measured().refused_ms(address, allowed, now_ms)
            if refused_ms:
                return Admission(f"this address may open {allowed:g} connections a second", refused_ms / 1000)
        node_rate = None if self.is_of_nodes(listener) else self._node_rate
        if rate is None and node_rate is None:
            return ADMITTED
        delay_ms = self._measured().delay_ms(listener, rate, node_rate, now_ms)
        if delay_ms is None:
            return Admission(f"too many new connections wait on listener {listener} already ({_RATE})")
        return Admission("", delay_ms / 1000)

    def _measured(self) -> ConnectionRates:
        if self._rates is None:
            from barnabas.core.access.quotas.connections import rates_of  # only a node that needs it imports it

            self._rates = rates_of(self._settings)
        return self._rates

    def end(self, listener: str, address: str) -> None:
        self._count -= 1
        for table, key in ((self._by_address, address), (self._by_listener, listener)):
            table[key] -= 1
            if not table[key]:
                del table[key]

    def _of_listener(self, name: str) -> tuple[int | None, int | None]:
        """(how many connections, how many a second) its own settings allow."""
        found = self._of_listeners.get(name)
        if found is None:
            texts = [self._settings.listener_text(name, setting) for setting in (_COUNT, _RATE)]
            values = [self._settings.listener_int(name, s) for s in (_COUNT, _RATE)]
            most, rate = (None if text is None else _limit(value) for text, value in zip(texts, values, strict=True))
            found = self._of_listeners[name] = most, rate
        return found

    def _most_from(self, address: str) -> int:
        """What the operator set holds for all; the built-in one spares this machine, whose clients share an address."""
        if (override := self._overrides.get(address)) is not None:
            return override
        if self._per_address is not None:
            return self._per_address
        return self.most if address in _LOOPBACK else limits.CONNECTIONS_PER_ADDRESS_MAX


def _limit(value: int) -> int | None:
    return None if value >= _NO_LIMIT else value
