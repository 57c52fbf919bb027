"""`kafka.*` options as librdkafka's settings: Java's names are taken, so that a query of the connector moves unchanged.

client/common/kafka_names.py translates those of security. What librdkafka does not know at all (settings of Java's
consumer such as `max.poll.records`) is left out.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.client.common.kafka_names import TOKEN_LOGIN, UnusableSetting, librdkafka_names
from barnabas.link.sasl import MECHANISMS
from barnabas.pipelines.errors import PipelineError

_RENAMED = {"request.timeout.ms": "socket.timeout.ms"}
_LEFT_OUT = {
    "max.poll.records", "fetch.max.wait.ms", "fetch.min.bytes", "max.partition.fetch.bytes", "receive.buffer.bytes",
    "send.buffer.bytes", "default.api.timeout.ms", "metadata.max.age.ms", "connections.max.idle.ms",
    "session.timeout.ms", "heartbeat.interval.ms", "max.poll.interval.ms", "client.dns.lookup", "check.crcs",
    "group.protocol", "exclude.internal.topics",
}  # fmt: skip
PLAIN = "plaintext"
ONLY_LIBRDKAFKA = {"ssl.certificate.pem", "ssl.key.pem", "ssl.keystore.location", "ssl.engine.location"}


def librdkafka_settings_of(client: Mapping[str, str]) -> dict[str, str]:
    """The settings for every librdkafka handle of this read, apart from the bootstrap."""
    known = {_RENAMED.get(name, name): value for name, value in client.items() if name not in _LEFT_OUT}
    try:
        found = librdkafka_names(known)
    except UnusableSetting as error:
        raise PipelineError(f"kafka.{error}") from None
    if TOKEN_LOGIN in found:
        raise PipelineError("kafka.sasl.jaas.config: librdkafka cannot log in with a delegation token (tokenauth)")
    return found


def is_spoken_here(settings: Mapping[str, str]) -> bool:
    """Whether our own fetcher can log in with these; librdkafka reads else (Kerberos, OAuth, keys not in files)."""
    protocol = settings.get("security.protocol", PLAIN).lower()
    mechanism = settings.get("sasl.mechanism", settings.get("sasl.mechanisms", "")).upper()
    if protocol.startswith("sasl") and not (mechanism in MECHANISMS and "sasl.username" in settings):
        return False
    return not (protocol.endswith("ssl") and ONLY_LIBRDKAFKA & set(settings))
