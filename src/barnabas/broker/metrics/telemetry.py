"""Receives the metrics that clients push (KIP-714), and keeps the last ones for /metrics.

What is decided is in core/telemetry. Here: the subscriptions follow the metadata image, read in a thread (200 of them
have up to 1,200 patterns to compile); payloads are decompressed and read in a thread, one at a time, and what waits for
that is bounded. A node has a receiver from the first request of a
client on, so one whose clients push nothing pays nothing for it.

Sums are asked for as they are since the client's start, not since its last push (Kafka's broker asks for the latter):
a push that was lost or went to another node then loses nothing, and it is what Prometheus counts by.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from concurrent.futures import Executor
from itertools import compress
from typing import TYPE_CHECKING, Protocol
from weakref import ReferenceType, ref

from barnabas.broker.clock import Clock
from barnabas.broker.metrics.collect.clients import RECEIVERS
from barnabas.broker.network.loop_budget import in_turns
from barnabas.core.cluster.image import MetadataImage
from barnabas.core.telemetry import selectors
from barnabas.core.telemetry.clients import FORGOTTEN_MS, MISSED_PUSHES, ZERO_ID, Clients, Compared, Push
from barnabas.core.telemetry.series import Pushed, series_of
from barnabas.core.telemetry.subscriptions import Subscription, subscriptions
from barnabas.core.telemetry.values import COUNTER, GAUGE, Row, Values, Who
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import uuid_text
from barnabas.model.limits import (
    TELEMETRY_LABEL_MAX_CHARS,
    TELEMETRY_OPENED_MAX_BYTES,
    TELEMETRY_SERIES_PER_CLIENT_MAX,
    TELEMETRY_WAITING_MAX_BYTES,
)
from barnabas.model.settings import Settings
from barnabas.wire.compression import Codec, OpensTooLarge, codec_of, decompress
from barnabas.wire.errors import ProtocolError
from barnabas.wire.otlp import read_metrics

if TYPE_CHECKING:
    from barnabas.broker.network.context import RequestContext
    from barnabas.broker.platform import Platform
    from barnabas.wire.messages import (
        GetTelemetrySubscriptionsRequest,
        GetTelemetrySubscriptionsResponseBody,
        PushTelemetryRequest,
        PushTelemetryResponseBody,
    )

_ACCEPTED = (Codec.ZSTD, Codec.LZ4, Codec.GZIP, Codec.SNAPPY)  # in the order in which a client is to choose
_SWEEP_MS = 10_000
_UNKNOWN = "unknown"  # what Kafka calls the software of a client that has not said


class ReceivingNode(Protocol):
    @property
    def image(self) -> MetadataImage: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def clock(self) -> Clock: ...
    @property
    def platform(self) -> Platform: ...
    @property
    def read_threads(self) -> Executor: ...


def receiver_of(node: ReceivingNode) -> Receiver:
    """Raises ProtocolError where the node takes no metrics, as for an API that it does not serve."""
    receiver = RECEIVERS.get(node)
    if not isinstance(receiver, Receiver):
        if not node.settings.bool("telemetry.receiver.enable"):
            raise ProtocolError("a request about telemetry, which this node does not receive")
        receiver = RECEIVERS[node] = Receiver(node)
    return receiver


class Receiver:
    def __init__(self, node: ReceivingNode) -> None:
        self._node = node
        self._clients = Clients()
        self._values = Values()
        self._configs: object = None  # of the image that the subscriptions are from
        self._subscriptions: list[Subscription] = []
        self._clients.subscriptions_changed(self._subscriptions)  # what is known of a client is known for this list
        self._turn, self._subscriptions_turn = asyncio.Lock(), asyncio.Lock()
        self._waiting_bytes = 0
        self._next_sweep_ms = 0
        self.refused = 0  # pushes that could not be read

    # --- the two requests -------------------------------------------------------------------------------------------

    async def subscription(
        self, request: GetTelemetrySubscriptionsRequest, context: RequestContext
    ) -> GetTelemetrySubscriptionsResponseBody:
        instance_id = request.client_instance_id
        if instance_id == ZERO_ID:
            instance_id = self._node.platform.new_uuid()
        await self._follow_image()
        now_ms = self._begin(instance_id)
        compared = await self._compared(instance_id, _attributes(instance_id, context))
        found = self._clients.get(instance_id, compared, now_ms)
        self._came_on(instance_id, context)
        return {
            "error_code": 0,
            "client_instance_id": instance_id,
            "subscription_id": found.subscription_id,
            "accepted_compression_types": [int(codec) for codec in _ACCEPTED],
            "push_interval_ms": found.interval_ms,
            "telemetry_max_bytes": self._node.settings.int("telemetry.max.bytes"),
            "delta_temporality": False,
            "requested_metrics": list(found.metrics),
        }

    async def push(self, request: PushTelemetryRequest, context: RequestContext) -> PushTelemetryResponseBody:
        instance_id, data = request.client_instance_id, request.metrics
        await self._follow_image()
        now_ms = self._begin(instance_id)
        client = _attributes(instance_id, context)
        wanted = Push(request.subscription_id, request.terminating, request.compression_type, len(data))
        max_bytes = self._node.settings.int("telemetry.max.bytes")
        compared = await self._compared(instance_id, client)
        subscribed = self._clients.push(instance_id, compared, wanted, max_bytes, now_ms)
        self._came_on(instance_id, context)
        if not data:
            return {"error_code": 0}
        try:
            pushed = await self._read(codec_of(request.compression_type), data)
        except KafkaError as error:
            self._clients.failed(instance_id, error.code)
            raise
        kept_ms = FORGOTTEN_MS if request.terminating else max(FORGOTTEN_MS, MISSED_PUSHES * subscribed.interval_ms)
        self._values.keep(instance_id, _who(client), pushed, now_ms, now_ms + kept_ms)
        return {"error_code": 0}

    async def _read(self, codec: Codec, data: bytes) -> Pushed:
        if self._waiting_bytes and self._waiting_bytes + len(data) > TELEMETRY_WAITING_MAX_BYTES:
            raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, "too many pushes wait to be read")
        self._waiting_bytes += len(data)
        try:
            async with self._turn:
                loop = asyncio.get_running_loop()
                return await loop.run_in_executor(self._node.read_threads, _read, codec, data)
        except OpensTooLarge as error:
            self.refused += 1
            raise KafkaError(ErrorCode.TELEMETRY_TOO_LARGE, str(error)) from None
        except ProtocolError as error:
            self.refused += 1
            raise KafkaError(ErrorCode.INVALID_RECORD, str(error)) from None
        finally:
            self._waiting_bytes -= len(data)

    async def _follow_image(self) -> None:
        """The subscriptions are those of the newest image, after this."""
        if self._node.image.configs is self._configs:
            return
        async with self._subscriptions_turn:
            configs = self._node.image.configs
            if configs is not self._configs:
                loop = asyncio.get_running_loop()
                found = await loop.run_in_executor(self._node.read_threads, subscriptions, configs)
                if found != self._subscriptions:  # settings of groups and nodes change too
                    self._subscriptions = found
                    self._clients.subscriptions_changed(found)
                self._configs = configs

    async def _compared(self, instance_id: bytes, client: Mapping[str, str]) -> Compared:
        """In turns: 1,200 patterns that are made to take long take 0.4 s."""
        known = self._subscriptions
        if self._clients.knows(instance_id):
            return Compared(known, ())
        fit = await in_turns(known, lambda each: selectors.fits(each.match, client))
        return Compared(known, list(compress(known, fit)))

    def _begin(self, instance_id: bytes) -> int:
        now_ms = self._node.clock.steady_ms()
        if _is_closed(self._clients.source(instance_id)):
            self._clients.forget(instance_id)  # as in Kafka, when a connection closes
        if now_ms >= self._next_sweep_ms:
            self._sweep(now_ms)
        return now_ms

    def _came_on(self, instance_id: bytes, context: RequestContext) -> None:
        if context.session.connection is not None:
            self._clients.came_on(instance_id, ref(context.session.connection))

    def _sweep(self, now_ms: int) -> None:
        self._clients.forget_silent(now_ms)
        done = self._values.forget_silent(now_ms)
        self._next_sweep_ms = now_ms + _SWEEP_MS if done else now_ms

    # --- what is shown ----------------------------------------------------------------------------------------------

    def rows(self) -> Iterator[Row]:
        now_ms = self._node.clock.steady_ms()
        self._sweep(now_ms)
        clients, values = self._clients, self._values
        for name, kind, number in (
            ("instances", GAUGE, len(clients)),
            ("series", GAUGE, values.count),
            ("pushes_total", COUNTER, values.pushes),
            ("refused_pushes_total", COUNTER, self.refused),
            ("throttled_total", COUNTER, clients.throttled),
            ("unknown_subscriptions_total", COUNTER, clients.unknown_subscriptions),
            ("dropped_series_total", COUNTER, values.dropped_series),
            ("dropped_clients_total", COUNTER, values.dropped_clients),
        ):
            yield Row(f"barnabas_telemetry_{name}", kind, "", (), number)
        yield from values.rows(now_ms)


def _is_closed(source: object) -> bool:
    """`source` is a weak reference to a connection."""
    if not isinstance(source, ReferenceType):
        return False
    connection = source()
    return connection is None or connection.closed


def _read(codec: Codec, data: bytes) -> Pushed:
    """In a thread."""
    opened = decompress(codec, data, TELEMETRY_OPENED_MAX_BYTES)
    return series_of(read_metrics(opened, TELEMETRY_SERIES_PER_CLIENT_MAX))


def _attributes(instance_id: bytes, context: RequestContext) -> dict[str, str]:
    """What selectors of subscriptions look at."""
    session = context.session
    return {
        selectors.INSTANCE_ID: uuid_text(instance_id),
        selectors.CLIENT_ID: (context.client_id or "")[:TELEMETRY_LABEL_MAX_CHARS],
        selectors.SOFTWARE_NAME: (session.software_name or _UNKNOWN)[:TELEMETRY_LABEL_MAX_CHARS],
        selectors.SOFTWARE_VERSION: (session.software_version or _UNKNOWN)[:TELEMETRY_LABEL_MAX_CHARS],
        selectors.SOURCE_ADDRESS: session.client_host,
        selectors.SOURCE_PORT: str(session.client_port),
    }


def _who(client: dict[str, str]) -> Who:
    return Who(
        client[selectors.CLIENT_ID],
        client[selectors.INSTANCE_ID],
        client[selectors.SOFTWARE_NAME],
        client[selectors.SOFTWARE_VERSION],
        client[selectors.SOURCE_ADDRESS],
    )
