"""The last values that each client instance pushed, bounded for the node as a whole, and as rows for /metrics.

A client has the series of its last push; those of the push before that are not in it are gone, unless they count (a
client that was asked for increases leaves out what did not grow). When a push does not fit any more, the client that
pushed longest ago is dropped. Its own next push brings it back, so nobody is kept out by who came first.
"""

from collections import OrderedDict
from collections.abc import Iterator
from typing import NamedTuple

from msgspec import Struct

from barnabas.core.telemetry.series import Labels, Pushed, Sample
from barnabas.model.limits import (
    TELEMETRY_CLIENTS_MAX,
    TELEMETRY_SERIES_MAX,
    TELEMETRY_SERIES_PER_CLIENT_MAX,
    TELEMETRY_TEXT_MAX_BYTES,
)
from barnabas.wire.otlp import Kind

GAUGE, COUNTER, UNTYPED = "gauge", "counter", "untyped"
_INFO = "barnabas_telemetry_client_info"
_AGE = "barnabas_telemetry_push_age_seconds"
_FORGOTTEN_AT_ONCE = 5_000  # clients and series, 1 to 5 us each


class Row(NamedTuple):
    """One line of /metrics; the rows of a name follow each other."""

    name: str
    kind: str
    help: str  # of what clients pushed; what the node says of itself is in its table of series
    labels: Labels
    value: float


class Who(NamedTuple):
    """The client, as the node knows it."""

    client_id: str
    instance_id: str
    software_name: str
    software_version: str
    address: str


class _Client(Struct):
    who: Who
    series: dict[str, dict[Labels, Sample]]
    count: int
    text_bytes: int
    pushed_ms: int
    forgotten_ms: int


class Values:
    def __init__(self) -> None:
        self._clients: OrderedDict[bytes, _Client] = OrderedDict()  # who pushed longest ago stands first; a dict would
        # look for the first one behind all that were taken out before
        self._names: dict[str, dict[bytes, None]] = {}  # which clients have a metric
        self._kinds: dict[str, str] = {}
        self.count = 0
        self.text_bytes = 0
        self.pushes = 0
        self.dropped_series = 0
        self.dropped_clients = 0

    def __len__(self) -> int:
        return len(self._clients)

    def keep(self, instance_id: bytes, who: Who, pushed: Pushed, now_ms: int, forgotten_ms: int) -> None:
        self.pushes += 1
        self.dropped_series += pushed.dropped
        before = self._take_out(instance_id)
        client = _Client(who, pushed.series, pushed.series_count, pushed.text_bytes, now_ms, forgotten_ms)
        if before is not None:
            _add_up(client, before)
        while self._clients and not self._has_room(client):
            self._take_out(next(iter(self._clients)))
            self.dropped_clients += 1
        if not self._has_room(client):
            self.dropped_series += client.count
            return
        self._put_in(instance_id, client)

    def forget_silent(self, now_ms: int) -> bool:
        """Whether all of them are gone: many clients at once take several calls."""
        room = _FORGOTTEN_AT_ONCE
        for instance_id in [key for key, each in self._clients.items() if each.forgotten_ms <= now_ms]:
            if room <= 0:
                return False
            client = self._take_out(instance_id)
            room -= 1 + (client.count if client is not None else 0)
        return True

    def rows(self, now_ms: int) -> Iterator[Row]:
        """Clients may push while this goes on: each name's rows are of one moment."""
        for name in list(self._names):
            kind = self._kinds.get(name, UNTYPED)
            for instance_id in list(self._names.get(name, ())):
                client = self._clients.get(instance_id)
                if client is None:
                    continue
                own = _own_labels(client.who)
                for labels, sample in list(client.series.get(name, {}).items()):
                    yield Row(name, kind, "Pushed by the client (KIP-714).", own + labels, sample.value)
        clients = list(self._clients.values())
        for client in clients:
            who = client.who
            labels = (
                *_own_labels(who),
                ("software_name", who.software_name),
                ("software_version", who.software_version),
                ("client_address", who.address),
            )
            yield Row(_INFO, GAUGE, "", labels, 1)
        for client in clients:
            age = max(now_ms - client.pushed_ms, 0) / 1000
            yield Row(_AGE, GAUGE, "", _own_labels(client.who), age)

    # --- the index ---------------------------------------------------------------------------------------------------

    def _has_room(self, client: _Client) -> bool:
        return (
            len(self._clients) < TELEMETRY_CLIENTS_MAX
            and self.count + client.count <= TELEMETRY_SERIES_MAX
            and self.text_bytes + client.text_bytes <= TELEMETRY_TEXT_MAX_BYTES
        )

    def _put_in(self, instance_id: bytes, client: _Client) -> None:
        self._clients[instance_id] = client
        self.count += client.count
        self.text_bytes += client.text_bytes
        for name, samples in client.series.items():
            self._names.setdefault(name, {})[instance_id] = None
            kind = _kind(samples)
            if self._kinds.setdefault(name, kind) != kind:
                self._kinds[name] = UNTYPED  # two clients do not agree what it is

    def _take_out(self, instance_id: bytes) -> _Client | None:
        client = self._clients.pop(instance_id, None)
        if client is None:
            return None
        self.count -= client.count
        self.text_bytes -= client.text_bytes
        for name in client.series:
            having = self._names[name]
            del having[instance_id]
            if not having:
                del self._names[name], self._kinds[name]
        return client


def _own_labels(who: Who) -> Labels:
    return (("client_id", who.client_id), ("client_instance_id", who.instance_id))


def _kind(samples: dict[Labels, Sample]) -> str:
    kinds = {GAUGE if sample.kind is Kind.GAUGE else COUNTER for sample in samples.values()}
    return kinds.pop() if len(kinds) == 1 else UNTYPED


def _add_up(client: _Client, before: _Client) -> None:
    """Increases are added to what was known; a counter that is not in this push stays as it was."""
    for name, samples in client.series.items():
        known = before.series.get(name, {})
        for labels, sample in samples.items():
            if sample.kind is Kind.INCREASE and (old := known.get(labels)) is not None:
                samples[labels] = Sample(Kind.INCREASE, old.value + sample.value)
    for name, known in before.series.items():
        for labels, old in known.items():
            if client.count >= TELEMETRY_SERIES_PER_CLIENT_MAX:
                return
            if old.kind is Kind.INCREASE and labels not in client.series.get(name, {}):
                client.series.setdefault(name, {})[labels] = old
                client.count += 1
                client.text_bytes += len(name) + sum(len(key) + len(value) for key, value in labels)
