"""The other cluster, as options name it."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
from confluent_kafka import KafkaError

from barnabas.client.common.connection import addresses
from barnabas.client.common.kafka_names import UnusableSetting, librdkafka_names
from barnabas.client.errors import BarnabasError
from barnabas.connect.cluster.connection import Cluster
from barnabas.connect.errors import BadOption
from barnabas.connect.options import Secret


class ClusterOptions(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    bootstrap: str
    settings: dict[str, Secret] = {}

    def __repr__(self) -> str:  # the one that comes with a Struct has the secrets
        return f"{type(self).__name__}(...)"


# What the connector stands on. With others it would lose or repeat records.
_OURS = (
    "bootstrap.servers",
    "group.id",
    "enable.auto.commit",
    "enable.auto.offset.store",
    "auto.offset.reset",
    "isolation.level",
    "transactional.id",
    "enable.idempotence",
    "acks",
    "enable.partition.eof",
)


def other_cluster(options: ClusterOptions, on_error: Callable[[KafkaError], None] | None = None) -> Cluster:
    for name in options.settings:
        if name in _OURS:
            raise BadOption(f"option 'settings' of kafka: {name} is set by the connector", "Leave it out")
    try:
        addresses(options.bootstrap)
        settings: dict[str, object] = dict(librdkafka_names(options.settings))
        if on_error is not None:
            settings["error_cb"] = on_error
        return Cluster(options.bootstrap, settings)
    except (BarnabasError, UnusableSetting) as problem:
        raise BadOption(f"kafka: {problem}") from None
