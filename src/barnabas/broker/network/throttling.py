"""Client quotas, where requests are dispatched: count what a client uses, and throttle it (KIP-219).

The answer leaves at once and says for how long the client is throttled; for that time nothing more is read from its
connection. What a client has sent already waits in its socket, so one above its quota costs the others nothing. The
dispatcher asks here only while the cluster has a quota of a client.

| what       | measured as                                                     |
|------------|-----------------------------------------------------------------|
| Produce    | the bytes of the request, when it has arrived                   |
| Fetch      | the bytes of the answer; over the quota an empty one is sent    |
| any        | the time of the event loop: handlers, and each step of a coroutine |
| partitions created, deleted | by the active controller (controller/driver.py), which says so in its answer |

Nodes are exempt: their own requests, followers' fetches, and whatever comes in an Envelope.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Coroutine, Generator
from typing import TYPE_CHECKING, Any

from barnabas.broker import clock
from barnabas.core.access.quotas.meters import ClientMeters, Meters
from barnabas.core.access.quotas.rules import NO_QUOTAS, entity_text
from barnabas.core.access.quotas.windows import Samples
from barnabas.model.limits import METRICS_RULES_MAX
from barnabas.wire.apis import CREATE_PARTITIONS, CREATE_TOPICS, DELETE_TOPICS, FETCH, PRODUCE, SERVED
from barnabas.wire.throttle_time import throttle_time, with_throttle_time

if TYPE_CHECKING:
    from barnabas.broker.metrics.health import Health
    from barnabas.broker.network.connection import Connection, Reply
    from barnabas.broker.network.dispatch import Dispatcher
    from barnabas.broker.network.session import Session
    from barnabas.model.settings import Settings

    Work = Coroutine[Any, Any, Reply]  # what a coroutine gives and takes while it runs is between it and asyncio
    Steps = Generator[Any, None, Reply]  # likewise

_LENGTH, _CLIENT_ID = 8, 10  # where the client id begins in a request, and its length before it
_LISTED_MAX = 1_000  # throttled clients told in status.json
_MUTATIONS = frozenset({CREATE_TOPICS, DELETE_TOPICS, CREATE_PARTITIONS})
_EXEMPT = frozenset(api.key for api in SERVED.values() if api.between_nodes)


class SessionMeters:
    """The meters of a connection's client, as long as it is the same client under the same rules."""

    __slots__ = ("_connection", "_throttling", "begun", "client_id", "id_end", "meters", "principal")

    def __init__(self, throttling: Throttling, meters: ClientMeters, session: Session, client_id: bytes) -> None:
        self._throttling = throttling
        self._connection = session.connection
        self.meters = meters
        self.principal = session.principal
        self.client_id = client_id  # as a request has it, behind its length
        self.id_end = _LENGTH + len(client_id)
        self.begun = 0.0  # when the request that is being handled was

    def fetched(self, size: int, seconds: float) -> int:
        """An answer to a consumer is ready: how long to throttle the client; above 0 it gets an empty one."""
        time_ms = self.meters.fetched(size, seconds, int(clock.source.monotonic() * 1000))
        if time_ms and self._connection is not None:
            self._throttling.mute(self._connection, time_ms)
        return time_ms


class Throttling:
    def __init__(self, settings: Settings, health: Health) -> None:
        samples = Samples(settings.int("quota.window.num"), settings.int("quota.window.size.seconds") * 1000)
        self._meters = Meters(samples)
        self.rules = NO_QUOTAS
        self._health = health
        health.figures["quotas"] = self.status

    def handle(self, dispatcher: Dispatcher, connection: Connection, frame: memoryview) -> Reply | Awaitable[Reply]:
        session = connection.session
        found = session.meters
        if (
            found is None
            or frame[_LENGTH : found.id_end] != found.client_id
            or found.principal is not session.principal
            or found.meters.rules is not self.rules
        ):
            found = self._begin(session, frame)
        meters = found.meters
        if not meters.limited:
            return dispatcher.handle(connection, frame, counted=True)
        api_key = int.from_bytes(frame[:2], "big")
        if api_key in _EXEMPT:
            return dispatcher.handle(connection, frame, counted=True)
        found.begun = begun = clock.source.monotonic()
        if api_key == FETCH:  # the handler counts it: before it answers
            return dispatcher.handle(connection, frame, counted=True)
        size = len(frame)
        version = int.from_bytes(frame[2:4], "big")
        result = dispatcher.handle(connection, frame, counted=True)
        now = clock.source.monotonic()
        now_ms = int(now * 1000)
        time_ms = meters.produced(size, now_ms) if api_key == PRODUCE and meters.produce is not None else 0
        if type(result) is not bytes and isinstance(result, Coroutine):
            if meters.request is None and not time_ms and api_key not in _MUTATIONS:
                return result
            return self._later(connection, meters, api_key, version, result, time_ms, now - begun)
        if meters.request is not None and result is not None:  # not without an answer (acks=0), as in Kafka
            time_ms = max(time_ms, meters.worked(now - begun, now_ms))
        if not time_ms:
            return result
        self.mute(connection, time_ms)
        if isinstance(result, asyncio.Future):
            return _told_later(result, api_key, version, time_ms)
        return with_throttle_time(api_key, version, result, time_ms) if isinstance(result, bytes) else result

    def _begin(self, session: Session, frame: memoryview) -> SessionMeters:
        length = max(int.from_bytes(frame[_LENGTH:_CLIENT_ID], "big", signed=True), 0)
        client_id = bytes(frame[_CLIENT_ID : _CLIENT_ID + length])
        user, now_ms = session.principal.name, int(clock.source.monotonic() * 1000)
        meters = self._meters.of(self.rules, user, client_id.decode(errors="replace"), now_ms)
        session.meters = SessionMeters(self, meters, session, bytes(frame[_LENGTH : _CLIENT_ID + length]))
        return session.meters

    async def _later(
        self,
        connection: Connection,
        meters: ClientMeters,
        api_key: int,
        version: int,
        work: Work,
        time_ms: int,
        seconds: float,
    ) -> Reply:
        timed = _Timed(work)
        reply = await timed
        if reply is not None:
            time_ms = max(time_ms, meters.worked(seconds + timed.seconds, int(clock.source.monotonic() * 1000)))
        if isinstance(reply, bytes):
            if api_key in _MUTATIONS:
                time_ms = max(time_ms, throttle_time(api_key, version, reply))
            if time_ms:
                reply = with_throttle_time(api_key, version, reply, time_ms)
        if time_ms:
            self.mute(connection, time_ms)
        return reply

    def mute(self, connection: Connection, time_ms: int) -> None:
        connection.mute(time_ms / 1000)
        self._health.changed()

    def totals(self) -> list[tuple[str, str, int, int]]:
        """Beyond METRICS_RULES_MAX rules they are summed."""
        found: dict[tuple[str, str], list[int]] = {}
        for (key, rule), (count, time_ms) in self._meters.totals.items():
            place = (key, entity_text(rule))
            if len(found) >= METRICS_RULES_MAX and place not in found:
                place = (key, "(other)")
            total = found.setdefault(place, [0, 0])
            total[0], total[1] = total[0] + count, total[1] + time_ms
        return [(key, rule, count, time_ms) for (key, rule), (count, time_ms) in sorted(found.items())]

    def status(self) -> dict[str, object]:
        """Who is throttled by which rule now (`barnabas quota list --now`)."""
        throttled: list[dict[str, object]] = []
        for each in self._meters.throttled(int(clock.source.monotonic() * 1000)):
            if len(throttled) == _LISTED_MAX:
                break
            throttled.append(each._asdict() | {"rule": dict(each.rule)})
        return {"throttled": throttled, "meters": len(self._meters)}


def _told_later(inner: asyncio.Future[Reply], api_key: int, version: int, time_ms: int) -> asyncio.Future[Reply]:
    """The answer to a request that waits for its commit, with the throttle time in it."""
    outer: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()

    def done(_: asyncio.Future[Reply]) -> None:
        if outer.done():
            return
        if inner.cancelled():
            outer.cancel()
        elif error := inner.exception():
            outer.set_exception(error)
        else:
            reply = inner.result()
            outer.set_result(
                with_throttle_time(api_key, version, reply, time_ms) if isinstance(reply, bytes) else reply
            )

    inner.add_done_callback(done)
    outer.add_done_callback(lambda _: inner.cancel())
    return outer


class _Timed(Awaitable["Reply"]):
    """A coroutine whose steps are timed: what it waits for is not its client's use of the loop."""

    def __init__(self, work: Work) -> None:
        self._work = work
        self.seconds = 0.0

    def __await__(self) -> Steps:
        work, now = self._work, clock.source.monotonic
        thrown: BaseException | None = None
        while True:
            begun = now()
            try:
                waited = work.send(None) if thrown is None else work.throw(thrown)
            except StopIteration as end:
                reply: Reply = end.value
                return reply
            finally:
                self.seconds += now() - begun
            try:
                yield waited
                thrown = None
            except BaseException as error:  # whatever was thrown into the task is the coroutine's
                thrown = error
