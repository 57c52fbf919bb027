"""Writes the table of APIs in docs/compatibility.md from the table of the node: `python tools/compatibility_page.py`.

A test compares the two (`--check`). The ranges of Apache Kafka 4.3.1 are those of its ApiKeys, stable versions only.
"""

from __future__ import annotations

import sys
from pathlib import Path

from barnabas.wire.apis import SERVED

PAGE = Path(__file__).parent.parent / "docs" / "compatibility.md"
BEGIN, END = "<!-- apis: begin -->", "<!-- apis: end -->"

# fmt: off
KAFKA: tuple[tuple[int, str, int, int], ...] = (
    (0, "Produce", 3, 13), (1, "Fetch", 4, 18), (2, "ListOffsets", 1, 11), (3, "Metadata", 0, 13),
    (8, "OffsetCommit", 2, 10), (9, "OffsetFetch", 1, 10), (10, "FindCoordinator", 0, 6), (11, "JoinGroup", 0, 9),
    (12, "Heartbeat", 0, 4), (13, "LeaveGroup", 0, 5), (14, "SyncGroup", 0, 5), (15, "DescribeGroups", 0, 6),
    (16, "ListGroups", 0, 5), (17, "SaslHandshake", 0, 1), (18, "ApiVersions", 0, 4), (19, "CreateTopics", 2, 7),
    (20, "DeleteTopics", 1, 6), (21, "DeleteRecords", 0, 2), (22, "InitProducerId", 0, 5),
    (23, "OffsetForLeaderEpoch", 2, 4), (24, "AddPartitionsToTxn", 0, 5), (25, "AddOffsetsToTxn", 0, 4),
    (26, "EndTxn", 0, 5), (27, "WriteTxnMarkers", 1, 2), (28, "TxnOffsetCommit", 0, 5), (29, "DescribeAcls", 1, 3),
    (30, "CreateAcls", 1, 3), (31, "DeleteAcls", 1, 3), (32, "DescribeConfigs", 1, 4), (33, "AlterConfigs", 0, 2),
    (34, "AlterReplicaLogDirs", 1, 2), (35, "DescribeLogDirs", 1, 5), (36, "SaslAuthenticate", 0, 2),
    (37, "CreatePartitions", 0, 3), (38, "CreateDelegationToken", 1, 3), (39, "RenewDelegationToken", 1, 2),
    (40, "ExpireDelegationToken", 1, 2), (41, "DescribeDelegationToken", 1, 3), (42, "DeleteGroups", 0, 2),
    (43, "ElectLeaders", 0, 2), (44, "IncrementalAlterConfigs", 0, 1), (45, "AlterPartitionReassignments", 0, 1),
    (46, "ListPartitionReassignments", 0, 0), (47, "OffsetDelete", 0, 0), (48, "DescribeClientQuotas", 0, 1),
    (49, "AlterClientQuotas", 0, 1), (50, "DescribeUserScramCredentials", 0, 0),
    (51, "AlterUserScramCredentials", 0, 0), (55, "DescribeQuorum", 0, 2), (57, "UpdateFeatures", 0, 2),
    (60, "DescribeCluster", 0, 2), (61, "DescribeProducers", 0, 0), (64, "UnregisterBroker", 0, 0),
    (65, "DescribeTransactions", 0, 0), (66, "ListTransactions", 0, 2), (68, "ConsumerGroupHeartbeat", 0, 1),
    (69, "ConsumerGroupDescribe", 0, 1), (71, "GetTelemetrySubscriptions", 0, 0), (72, "PushTelemetry", 0, 0),
    (74, "ListConfigResources", 0, 1), (75, "DescribeTopicPartitions", 0, 0), (76, "ShareGroupHeartbeat", 1, 1),
    (77, "ShareGroupDescribe", 1, 1), (78, "ShareFetch", 1, 2), (79, "ShareAcknowledge", 1, 2),
    (80, "AddRaftVoter", 0, 1), (81, "RemoveRaftVoter", 0, 0), (83, "InitializeShareGroupState", 0, 0),
    (84, "ReadShareGroupState", 0, 0), (85, "WriteShareGroupState", 0, 1), (86, "DeleteShareGroupState", 0, 0),
    (87, "ReadShareGroupStateSummary", 0, 1), (88, "StreamsGroupHeartbeat", 0, 0), (89, "StreamsGroupDescribe", 0, 0),
    (90, "DescribeShareGroupOffsets", 0, 1), (91, "AlterShareGroupOffsets", 0, 0),
    (92, "DeleteShareGroupOffsets", 0, 0),
)
NOTES = {
    0: "0-2 are advertised and refused: older librdkafka compresses only when it sees them (as Kafka does)",
    22: "6 is two-phase commit (KIP-939), which Kafka hides as unstable",
    29: "SECURITY_DISABLED without an authorizer, as in Kafka", 30: "the same", 31: "the same",
    34: "a node has one log directory",
}
# fmt: on


def table() -> str:
    rows = ["| key | API | Kafka 4.3.1 | Barnabas | |", "|---|---|---|---|---|"]
    for key, name, low, high in KAFKA:
        api = SERVED.get(key)
        ours = f"{api.min_version}-{api.max_version}" if api is not None else "no"
        rows.append(f"| {key} | {name} | {low}-{high} | {ours} | {NOTES.get(key, '')} |")
    return "\n".join(rows) + "\n"


def page(text: str) -> str:
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{table()}{END}{after}"


def main() -> int:
    text = PAGE.read_text()
    made = page(text)
    if "--check" in sys.argv[1:]:
        return 0 if made == text else 1
    PAGE.write_text(made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
