"""Where we answer otherwise than Apache Kafka on purpose. Short, and each row has its reason; whatever is not here is
a fault.

`question` and `path` are shell patterns over "api_name vN: what is asked" and over the path of the field in the
answer ("[" and "]" of list places are written "(" and ")" because brackets mean something in patterns).
"""

from __future__ import annotations

import fnmatch
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Known:
    question: str
    path: str
    reason: str
    kafka: Any = ...  # only when Kafka's value is this one
    barnabas: Any = ...

    def covers(self, difference: Any) -> bool:
        path = difference.path.replace("[", "(").replace("]", ")")
        return (
            fnmatch.fnmatchcase(difference.question, self.question)
            and fnmatch.fnmatchcase(path, self.path)
            and (self.kafka is ... or self.kafka == difference.kafka)
            and (self.barnabas is ... or self.barnabas == difference.barnabas)
        )


DELIBERATE: list[Known] = [
    # What is not served yet.
    Known(
        "api_versions *",
        "api_keys*",
        "share and streams groups are not served yet, so not advertised",
    ),
    Known("api_versions *", "finalized_features*", "share and streams groups are not turned on"),
    Known("describe_quorum *", "nodes(0).listeners(0).name", "one listener serves clients and controllers"),
    # Where Kafka says nothing, or fails inside.
    Known("*", "*error_message", "we say why where Kafka leaves it out", None, "<text>"),
    Known(
        "produce v13: no records at all",
        "",
        "Kafka fails inside and leaves the client waiting; every request of ours gets an answer",
        "no answer in 5 s",
    ),
    Known("alter_configs v2: the same resource twice", "", "the same", "no answer in 5 s"),
    Known(
        "incremental_alter_configs *: unknown operation",
        "*error_code",
        "Kafka fails inside; we say the request is invalid",
        -1,
        42,
    ),
    Known("metadata *: neither name nor id", "*error_code", "the same", -1),
    Known("produce *: a codec that is none", "*.error_code", "the same; we name the codec as the reason", -1, 76),
    Known(
        "produce v?: a codec that is none",
        "*.log_start_offset",
        "the same; before version 7 Kafka fails earlier inside",
    ),
    # By design.
    Known(
        "produce *: codec ?, *",
        "*",
        "a compressed batch is never opened for an ordinary produce, so only its reader finds it damaged",
    ),
    Known(
        "describe_configs *: three resources, one twice, one unknown",
        "results",
        "a resource named twice is described once: a small request must not make a large answer",
    ),
    Known(
        "offset_fetch *: three groups",
        "groups(?).topics*",
        "a group asked for twice is answered twice, each as asked; Kafka gives the first answer both times",
    ),
    Known(
        "consumer_group_heartbeat v1: a regular expression",
        "member_epoch",
        "the expression is resolved at once; Kafka does it beside the request and moves the epoch later",
        1,
        2,
    ),
    Known(
        "get_telemetry_subscriptions *",
        "delta_temporality",
        "sums since the client's start survive a push that was lost, and are what Prometheus counts by",
        True,
        False,
    ),
    # Transactions.
    Known("add_partitions_to_txn v5: no transactions", "", "every request of ours gets an answer", "no answer in 5 s"),
    Known(
        "init_producer_id *: a zombie, while the other's transaction is open",
        "error_code",
        "a zombie that names the producer it was is refused at once; Kafka first aborts the live one's transaction",
        51,
    ),
    Known("describe_transactions *: the zombie's harm to the transaction", "*", "the same: none here"),
    Known("write_txn_markers *: of an epoch before", "*.error_code", "Kafka fails inside; we name the reason", -1, 47),
    Known(
        "write_txn_markers *: no partitions", "markers", "a marker without partitions is answered; Kafka drops it", []
    ),
]
