"""What a write asks for: the option names of Spark's Kafka connector, and those that only this sink has.

As in the connector, `kafka.*` are settings of the producer by Java's names, and `topic` is for rows that name none. Of
our own: `delivery` (exactly-once, the default of a stream; at-least-once, the default of a batch), and for a batch that
must not be written twice even if its program is run again, `queryId` and `batchId`. A stream's id is Spark's own, which
lies in its checkpoint. An option that is not known is refused: a misspelt one would quietly do something else.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

from barnabas.client.common.connection import bootstrap_or_default, with_profile
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.options import flag, refuse_misspelt, refuse_not_yours, refuse_unknown
from barnabas.pipelines.registry import options as registry
from barnabas.pipelines.sink.values import settings as values
from barnabas.pipelines.source.security import librdkafka_settings_of

EXACTLY_ONCE, AT_LEAST_ONCE = "exactly-once", "at-least-once"
COMPRESSIONS = {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
QUERY_ID = re.compile(r"[A-Za-z0-9._-]{1,120}")

_KNOWN = (
    "topic", "delivery", "queryId", "batchId", "includeHeaders", "checkpointLocation",
    "queryName", "path", "failOnDataLoss", *values.NAMES, *registry.NAMES,
)  # fmt: skip
_USED = (
    "bootstrap.servers", "acks", "compression.type", "batch.size", "buffer.memory", "request.timeout.ms",
    "delivery.timeout.ms", "transaction.timeout.ms",
)  # fmt: skip
_NOT_YOURS = {
    "key.serializer": "keys are bytes or strings",
    "value.serializer": "values are bytes or strings",
    "interceptor.classes": "there is no Java here",
    "partitioner.class": "there is no Java here; give a partition column",
    "transactional.id": "the sink names its transactions itself",
    "enable.idempotence": "it is always on",
}


@dataclass(frozen=True)
class SinkOptions:
    """Travels to the executors with the writer."""

    bootstrap: str
    security: tuple[tuple[str, str], ...]  # by librdkafka's names, sorted
    exactly_once: bool
    topic: str | None = None
    fail_on_data_loss: bool = True
    query_id: str | None = None
    batch_id: int = 0
    compression: int = 0
    batch_bytes: int = 1_000_000  # under message.max.bytes' usual 1 MiB, with room for the header
    buffer_bytes: int = 32 * 1024 * 1024
    request_timeout_s: float = 30.0
    delivery_timeout_s: float = 120.0
    transaction_timeout_ms: int | None = None  # None: the longest that the cluster allows
    client_id: str = "barnabas-spark"
    delivery_timeout_name: str = "kafka.delivery.timeout.ms"  # as whoever waits can set it; empty: not at all

    @property
    def patience(self) -> str:
        """How long something is tried again, for a person."""
        name = f" ({self.delivery_timeout_name})" if self.delivery_timeout_name else ""
        return f"{self.delivery_timeout_s:.0f} s{name}"


def parse_options(given: Mapping[str, str], *, streaming: bool) -> SinkOptions:
    options = {name.lower(): str(value) for name, value in given.items()}
    client = {name[6:]: value for name, value in options.items() if name.startswith("kafka.")}
    refuse_unknown(options, _KNOWN, " for writing")
    refuse_not_yours(client, _NOT_YOURS)
    refuse_misspelt(client, _USED)
    if client.get("acks", "all") not in ("all", "-1"):
        raise PipelineError(f"kafka.acks is all for this sink, not {client['acks']!r}: less may lose rows")
    delivery = options.get("delivery", EXACTLY_ONCE if streaming else AT_LEAST_ONCE)
    if delivery not in (EXACTLY_ONCE, AT_LEAST_ONCE):
        raise PipelineError(f"delivery is {EXACTLY_ONCE} or {AT_LEAST_ONCE}, not {delivery!r}")
    query_id = options.get("queryid")
    _check_ids(options, query_id, delivery, streaming)
    timeout_ms = _number(client, "transaction.timeout.ms", 0, 1)
    bootstrap = bootstrap_or_default(client.get("bootstrap.servers"))
    return SinkOptions(
        bootstrap=bootstrap,
        security=tuple(sorted(_security(with_profile(bootstrap, client)).items())),
        exactly_once=delivery == EXACTLY_ONCE,
        topic=options.get("topic"),
        fail_on_data_loss=flag(options, "failOnDataLoss", True),
        query_id=query_id,
        batch_id=_number(options, "batchId", 0, 0),
        compression=_compression(client),
        batch_bytes=_number(client, "batch.size", 1_000_000, 1),
        buffer_bytes=_number(client, "buffer.memory", 32 * 1024 * 1024, 1),
        request_timeout_s=_number(client, "request.timeout.ms", 30_000, 1) / 1000,
        delivery_timeout_s=_number(client, "delivery.timeout.ms", 120_000, 1) / 1000,
        transaction_timeout_ms=timeout_ms or None,
    )


def _check_ids(options: Mapping[str, str], query_id: str | None, delivery: str, streaming: bool) -> None:
    if query_id is None:
        if "batchid" in options:
            raise PipelineError("batchId needs queryId: together they say which write this is")
        return
    if streaming:
        raise PipelineError("queryId is for a batch; a stream's id is Spark's own and lies in its checkpoint")
    if delivery != EXACTLY_ONCE:
        raise PipelineError(f"queryId needs delivery={EXACTLY_ONCE}")
    if not QUERY_ID.fullmatch(query_id):
        raise PipelineError(f"queryId is 1 to 120 letters, digits, dots, dashes or underscores, not {query_id!r}")


def _compression(client: Mapping[str, str]) -> int:
    name = client.get("compression.type", "none").lower()
    if name not in COMPRESSIONS:
        raise PipelineError(f"kafka.compression.type is one of {', '.join(COMPRESSIONS)}, not {name!r}")
    return COMPRESSIONS[name]


def _security(client: Mapping[str, str]) -> dict[str, str]:
    settings = librdkafka_settings_of(client)
    return {
        name: value for name, value in settings.items() if name.startswith(("ssl.", "sasl.", "security.", "enable.ssl"))
    }


def _number(given: Mapping[str, str], name: str, default: int, least: int) -> int:
    text = given.get(name.lower())
    if text is None:
        return default
    if not text.strip().isdigit() or int(text) < least:
        raise PipelineError(f"{name} is a whole number from {least} on, not {text!r}")
    return int(text)
