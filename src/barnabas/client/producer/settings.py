"""A producer's options as librdkafka's settings, and the combinations that make no sense.

A transactional producer is idempotent and waits for all in-sync replicas, always. Its records must be given up before
the cluster gives up their transaction, so `delivery_timeout` ends with `transaction_timeout` at the latest.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.client.common.connection import librdkafka_settings
from barnabas.client.common.setting_names import check_given
from barnabas.client.errors import BadSetting

TOPIC_WAIT_MS = 5_000  # a topic that is not there by then is not being created: the record fails, and says why
COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")
TRANSACTION_TIMEOUT_S = 60.0


def producer_settings(
    bootstrap: str,
    acks: object,
    linger_ms: float,
    batch_bytes: int,
    compression: str | None,
    idempotent: bool | None,
    delivery_timeout: float,
    transactional_id: str | None,
    transaction_timeout: float,
    config: Mapping[str, object] | None,
    extra: Mapping[str, object],
) -> dict[str, object]:
    if acks not in ("all", -1, 0, 1):
        raise BadSetting(f'acks is "all", 1 or 0, not {acks!r}')
    if compression is not None and compression not in COMPRESSIONS:
        raise BadSetting(f"compression is one of {', '.join(COMPRESSIONS)}, not {compression!r}")
    for name, seconds in (("delivery_timeout", delivery_timeout), ("transaction_timeout", transaction_timeout)):
        if not isinstance(seconds, (int, float)):
            raise BadSetting(f"{name} is a number of seconds, not {seconds!r}")
    ours: dict[str, object] = {
        "acks": acks,
        "linger.ms": linger_ms,
        "batch.size": batch_bytes,
        "compression.type": compression or "none",
        "enable.idempotence": acks in ("all", -1) if idempotent is None else idempotent,
        "partitioner": "murmur2_random",
        "message.timeout.ms": int(delivery_timeout * 1000),
        "topic.metadata.propagation.max.ms": TOPIC_WAIT_MS,
    }
    if transactional_id is not None:
        ours |= _transactional(transactional_id, transaction_timeout, delivery_timeout, ours)
    check_given("producer", config, extra)
    return librdkafka_settings(bootstrap, ours, config, extra)


def _transactional(
    transactional_id: str, timeout_s: float, delivery_timeout_s: float, ours: Mapping[str, object]
) -> dict[str, object]:
    if not isinstance(transactional_id, str) or not transactional_id:
        raise BadSetting(f"a transactional_id is a name, not {transactional_id!r}")
    if ours["acks"] not in ("all", -1) or not ours["enable.idempotence"]:
        raise BadSetting('transactions need acks="all" and idempotence: leave both out')
    if not timeout_s > 0:
        raise BadSetting(f"transaction_timeout is a number of seconds, not {timeout_s!r}")
    return {
        "transactional.id": transactional_id,
        "transaction.timeout.ms": int(timeout_s * 1000),
        "message.timeout.ms": int(min(timeout_s, delivery_timeout_s) * 1000),
        # When its last connection breaks, librdkafka would start anew and forget the broker that coordinates the group;
        # a transaction's offsets then wait for that broker for ever (its issue 5511).
        "metadata.recovery.strategy": "none",
    }
