"""How soon an order is found in OpenSearch after it was written to PostgreSQL: one after the other is searched for."""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING

import msgspec

from barnabas.connect.connectors.opensearch.client import TimedOut
from barnabas.connect.errors import ConnectError

if TYPE_CHECKING:
    from barnabas.cli.demo.bus.producing.shop import Shop
    from barnabas.cli.demo.bus.servers.opensearch import OpenSearch
    from barnabas.connect.connectors.opensearch.client import Client

_LOOK_S = 0.1
_REST_S = 0.5  # between one found and the next
_GIVE_UP_S = 30.0


class _Found(msgspec.Struct):
    count: int = 0


class SearchProbe:
    def __init__(self, opensearch: OpenSearch, shop: Shop) -> None:
        self.last: tuple[int, float] | None = None  # an order, and the seconds until it was found
        self.seconds: list[float] = []
        self._opensearch, self._shop = opensearch, shop
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def close(self) -> None:
        self._ending.set()
        if self._thread.is_alive():
            self._thread.join(30)

    def _run(self) -> None:
        client, before = self._opensearch.client(), self._shop.newest
        try:
            while not self._ending.wait(_REST_S):
                newest = self._shop.newest
                if newest is not None and newest != before:
                    before = newest
                    self._look_for(client, *newest)
        finally:
            client.close()

    def _look_for(self, client: Client, order: int, written_at: float) -> None:
        """`written_at` is when PostgreSQL had committed it."""
        while time.monotonic() - written_at < _GIVE_UP_S and not self._ending.is_set():
            if self._is_found(client, order):
                self.last = (order, time.monotonic() - written_at)
                self.seconds.append(self.last[1])
                return
            self._ending.wait(_LOOK_S)

    def _is_found(self, client: Client, order: int) -> bool:
        try:
            reply = client.request("GET", f"/{self._opensearch.orders}/_count?q=id:{order}")
            return reply.status == 200 and msgspec.json.decode(reply.body, type=_Found).count == 1
        except (ConnectError, TimedOut, msgspec.DecodeError):
            return False  # the count at the end tells


def found_in(probe: SearchProbe) -> str:
    if probe.last is None:
        return ""
    return f"order {probe.last[0]:,} was found in OpenSearch {probe.last[1]:.1f} s after it was written"
