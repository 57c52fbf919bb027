"""Which settings of librdkafka belong to which client, and what a misspelled one probably was.

librdkafka accepts a producer's setting on a consumer (and the other way round) with a line in its log that nobody sees.
A keyword argument is written by hand for this one client, so here it is refused. A `config` dictionary may be shared
by several clients, so there librdkafka decides. Refused in both: what this library has an option of its own for.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Mapping
from typing import Literal

from barnabas.client.errors import BadSetting

Kind = Literal["producer", "consumer", "admin"]


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PRODUCER = _names(
    """
    acks batch.num.messages batch.size compression.codec compression.level compression.type
    delivery.report.only.error delivery.timeout.ms enable.gapless.guarantee enable.idempotence linger.ms
    message.send.max.retries message.timeout.ms partitioner produce.offset.report
    queue.buffering.backpressure.threshold queue.buffering.max.kbytes queue.buffering.max.messages
    queue.buffering.max.ms queuing.strategy request.required.acks request.timeout.ms retries
    sticky.partitioning.linger.ms transaction.timeout.ms transactional.id
    """
)
_CONSUMER = _names(
    """
    allow.auto.create.topics auto.commit.interval.ms auto.offset.reset check.crcs coordinator.query.interval.ms
    enable.auto.commit enable.auto.offset.store enable.partition.eof fetch.error.backoff.ms fetch.max.bytes
    fetch.message.max.bytes fetch.min.bytes fetch.queue.backoff.ms fetch.wait.max.ms group.id group.instance.id
    group.protocol group.protocol.type group.remote.assignor heartbeat.interval.ms isolation.level
    max.partition.fetch.bytes max.poll.interval.ms partition.assignment.strategy queued.max.messages.kbytes
    queued.min.messages session.timeout.ms
    """
)
_SHARED = _names(
    """
    bootstrap.servers broker.address.family broker.address.ttl client.dns.lookup client.id client.rack
    connections.max.idle.ms debug enable.metrics.push log.connection.close max.in.flight
    max.in.flight.requests.per.connection message.max.bytes metadata.max.age.ms metadata.recovery.strategy
    receive.message.max.bytes reconnect.backoff.max.ms reconnect.backoff.ms retry.backoff.max.ms retry.backoff.ms
    sasl.mechanism sasl.mechanisms sasl.password sasl.username security.protocol socket.keepalive.enable
    socket.timeout.ms ssl.ca.location ssl.certificate.location ssl.key.location ssl.key.password
    statistics.interval.ms topic.metadata.refresh.interval.ms
    """
)


_KNOWN = _PRODUCER | _CONSUMER | _SHARED

# Settings that the library keeps itself. Under librdkafka's name only librdkafka would know: a group that is joined and
# never committed, an address that errors do not show.
_OWN = {
    "auto.offset.reset": "start",
    "bootstrap.servers": "bootstrap",
    "enable.auto.commit": "commit",
    "enable.auto.offset.store": "commit",
    "enable.partition.eof": "follow",
    "group.id": "group",
    "group.instance.id": "instance_id",
    "group.protocol": "protocol",
    "metadata.broker.list": "bootstrap",
}
# The names in librdkafka's refusals, and the options they come from.
_OPTIONS = {
    "batch.size": "batch_bytes",
    "compression.codec": "compression",
    "enable.idempotence": "idempotent",
    "isolation.level": "isolation_level",
    "message.timeout.ms": "delivery_timeout (in ms)",
    "queue.buffering.max.ms": "linger_ms",
    "transaction.timeout.ms": "transaction_timeout (in ms)",
}
_QUOTED = re.compile(r'"([a-z.]+)"')


def check_given(kind: Kind, config: Mapping[str, object] | None, keywords: Iterable[str]) -> None:
    """Raises for what this client would not use, or would use without this library knowing."""
    if config is not None and not isinstance(config, Mapping):
        raise BadSetting(f"{kind}: config is a dictionary of librdkafka's settings, not {config!r}")
    keywords = list(keywords)
    _refuse_foreign(kind, keywords)
    for each in (*(config or ()), *keywords):
        name = each.replace("_", ".")
        if name in _OWN and (kind == "consumer" or _OWN[name] == "bootstrap"):
            raise BadSetting(f"{kind}: {each} is called {_OWN[name]} here: {kind.capitalize()}({_OWN[name]}=...)")


def _refuse_foreign(kind: Kind, keywords: Iterable[str]) -> None:
    """Raises for a keyword that is another client's setting: this one would never use it."""
    foreign = {"producer": _CONSUMER, "consumer": _PRODUCER, "admin": _PRODUCER | _CONSUMER}[kind]
    for keyword in keywords:
        name = keyword.replace("_", ".")
        if name in foreign:
            owner = "consumer" if name in _CONSUMER else "producer"
            raise BadSetting(f"{kind}: {keyword} is a setting of a {owner}, not of {_article(kind)}")


def in_our_words(reason: str) -> str:
    """librdkafka's refusal of a value, with the option's name in this library in place of its own."""
    text = _QUOTED.sub(lambda quoted: _OPTIONS.get(quoted[1], quoted[0]), reason.strip())
    text = re.sub("configuration property ", "", text, flags=re.IGNORECASE)
    return f"{text[:1].lower()}{text[1:]}"


def suggestion(name: str, options: Iterable[str]) -> str:
    """ ". Did you mean linger_ms?", or nothing. `options` are this library's own keyword arguments."""
    wanted = name.replace(".", "_")
    shown = {each.replace(".", "_"): each for each in (*sorted(_KNOWN - _OWN.keys()), *options)}
    close = difflib.get_close_matches(wanted, shown, 1, cutoff=0.7)
    if not close:  # a name that lacks its unit
        close = [each for each in shown if each.startswith(f"{wanted}_")][:1]
    return f". Did you mean {shown[close[0]]}?" if close else ""


def _article(kind: Kind) -> str:
    return f"an {kind}" if kind == "admin" else f"a {kind}"
