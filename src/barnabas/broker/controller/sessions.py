"""Watches the brokers for the active controller: which are there, and which must be fenced (KIP-631). It also gives
leaderships back to the preferred replicas, every `leader.imbalance.check.interval.seconds`, and removes delegation
tokens that have expired, every `delegation.token.expiry.check.interval.ms`.

A broker keeps one connection to the active controller for its registration and its heartbeats. When that connection
closes, its process is gone or cannot reach us: it is fenced in the same moment, and if it lives it is unfenced by its
next heartbeat. A broker that is only silent is fenced after `broker.session.timeout.ms`.

A new controller has no such connections yet. Every live broker beats as soon as it knows the new leader; those that
do not are probed once: a refused connection means that the process is gone, perhaps together with the old controller.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Coroutine
from typing import TYPE_CHECKING

from barnabas.broker.clock import wall_ms
from barnabas.broker.metrics.event_log import events
from barnabas.core.cluster.controller import Controller
from barnabas.core.cluster.records import Record
from barnabas.link.errors import LinkDown, Unreachable
from barnabas.model.errors import KafkaError

if TYPE_CHECKING:
    from barnabas.broker.controller.driver import ControllerDriver
    from barnabas.broker.network.connection import Connection

log = logging.getLogger(__name__)

_CHECK_SECONDS = 0.5


class BrokerSessions:
    """`own_broker`: the broker of this node, None where it is a controller only. `probe(broker_id)` raises LinkDown."""

    def __init__(
        self,
        controller: "ControllerDriver",
        own_broker: int | None,
        probe: Callable[[int], Awaitable[None]],
        steady_ms: Callable[[], int],
    ) -> None:
        self._controller = controller
        self._own_broker = own_broker
        self._connect_to = probe
        self._steady_ms = steady_ms
        self._connections: dict[int, Connection] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: dict[asyncio.Task[None], None] = {}
        self._last_check = 0.0
        self._next_balance = 0.0
        self._next_expiry = 0.0

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._last_check = loop.time()
        self._connections.clear()
        self._timer = loop.call_later(_CHECK_SECONDS, self._check)
        self._next_balance = loop.time() + self._balance_seconds
        self._next_expiry = loop.time()  # a new controller looks at once: its predecessor may have been away
        self._spawn(self._submit(Controller.finish_predecessor))
        for broker in self._controller.machine.image.live_brokers():
            if broker.broker_id != self._own_broker:
                self._spawn(self._probe(broker.broker_id, broker.broker_epoch))

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for task in list(self._tasks):
            task.cancel()
        self._connections.clear()

    # --- connections ------------------------------------------------------------------------------------------------

    def broker_connected(self, broker_id: int, broker_epoch: int, connection: "Connection | None") -> None:
        """A broker has registered or sent a heartbeat on this connection; None: it is the broker of this node."""
        if connection is None or self._connections.get(broker_id) is connection:
            return
        self._connections[broker_id] = connection
        connection.on_close(lambda: self._closed(broker_id, broker_epoch, connection))

    def connected(self, broker_id: int) -> bool:
        connection = self._connections.get(broker_id)
        return connection is not None and not connection.closed

    def _closed(self, broker_id: int, broker_epoch: int, connection: "Connection") -> None:
        if self._connections.get(broker_id) is not connection:
            return  # it has another one by now
        del self._connections[broker_id]
        if self._controller.is_active:
            self._spawn(self._fence(broker_id, broker_epoch, "its connection closed"))

    async def _probe(self, broker_id: int, broker_epoch: int) -> None:
        try:
            await self._connect_to(broker_id)
        except LinkDown as error:
            if isinstance(error, Unreachable) and not self.connected(broker_id):
                await self._fence(broker_id, broker_epoch, f"it cannot be reached ({error})")

    async def _fence(self, broker_id: int, broker_epoch: int, why: str) -> None:
        broker = self._controller.machine.image.brokers.get(broker_id)
        if not self._controller.is_active or broker is None or broker.fenced or broker.broker_epoch != broker_epoch:
            return
        events.info("broker %d is to be fenced: %s", broker_id, why)
        await self._submit(Controller.fence_broker, broker_id, broker_epoch)

    # --- silence ----------------------------------------------------------------------------------------------------

    def _check(self) -> None:
        """Fence brokers that are silent for too long. If this check itself comes late, this process was held up, and
        nobody is fenced for that."""
        loop, machine = asyncio.get_running_loop(), self._controller.machine
        now, now_ms = loop.time(), self._steady_ms()
        if now - self._last_check > 2 * _CHECK_SECONDS:
            for broker in machine.image.live_brokers():
                machine.sessions.touch(broker.broker_id, now_ms)
        self._last_check = now
        if self._own_broker is not None:
            machine.sessions.touch(self._own_broker, now_ms)
        if len(machine.image.brokers) > 1:
            timeout_ms = machine.settings.int("broker.session.timeout.ms")
            if machine.sessions.expired(machine.image, now_ms, timeout_ms):
                self._spawn(self._submit(Controller.fence_expired, now_ms))
        if now >= self._next_balance:
            self._next_balance = now + self._balance_seconds
            if machine.settings.bool("auto.leader.rebalance.enable"):
                self._spawn(self._submit(Controller.balance_leaders))
        if machine.image.tokens and now >= self._next_expiry:
            self._remove_expired_tokens(now)
        self._timer = loop.call_later(_CHECK_SECONDS, self._check)

    def _remove_expired_tokens(self, now: float) -> None:
        machine, now_ms = self._controller.machine, wall_ms()
        if any(token.has_expired(now_ms) for token in machine.image.tokens.values()):
            self._spawn(self._submit(Controller.remove_expired_tokens, now_ms))  # some; the next check finds the rest
        else:
            self._next_expiry = now + machine.settings.int("delegation.token.expiry.check.interval.ms") / 1000

    @property
    def _balance_seconds(self) -> float:
        return self._controller.machine.settings.int("leader.imbalance.check.interval.seconds")

    async def _submit(self, decide: Callable[..., tuple[list[Record], object]], *args: int) -> None:
        try:
            await self._controller.submit(decide, *args)
        except KafkaError as error:
            log.info("%s was not written: %s", decide.__name__, error.message)

    def _spawn(self, work: Coroutine[object, None, None]) -> None:
        task = asyncio.ensure_future(work)
        self._tasks[task] = None
        task.add_done_callback(lambda done: self._tasks.pop(done, None))
