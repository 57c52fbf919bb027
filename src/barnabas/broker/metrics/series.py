"""Every series of /metrics: name, type, labels, meaning. HELP and TYPE lines and docs/metrics.md are made from it.

Names beginning with kafka_ are those of the JMX exporter as Strimzi's rules write them, and of kafka_exporter, so that
dashboards and alerts made for them work. Ours begin with barnabas_, except `kafka_consumergroup_lag_seconds`, which
stands beside the lag in records.
"""

from typing import NamedTuple

COUNTER, GAUGE, HISTOGRAM, SUMMARY = "counter", "gauge", "histogram", "summary"
UNTYPED = "untyped"  # a gauge whose name ends like a part of a histogram, which only an untyped one may


class Series(NamedTuple):
    name: str
    kind: str
    labels: str
    meaning: str
    partitions: bool = False  # only with /metrics?partitions=true


def _topic(name: str, meaning: str) -> Series:
    return Series(f"kafka_server_brokertopicmetrics_{name}_total", COUNTER, "topic", meaning)


def _partition(name: str, meaning: str) -> Series:
    return Series(f"kafka_topic_partition_{name}", GAUGE, "topic, partition", meaning, partitions=True)


_ROWS: dict[str, tuple[Series, ...]] = {
    "Topics": (
        _topic("messagesin", "Records appended by producers and coordinators. Without a topic: of all topics."),
        _topic("bytesin", "Bytes of those records, as they are stored. Without a topic: of all topics."),
        _topic("bytesout", "Bytes sent to consumers. Without a topic: of all topics."),
        _topic("totalproducerequests", "Partitions in Produce requests. Without a topic: of all topics."),
        _topic("totalfetchrequests", "Partitions answered in Fetch requests. Without a topic: of all topics."),
        _topic("failedproducerequests", "Partitions in Produce requests that failed for a reason of the node."),
        _topic("failedfetchrequests", "Partitions in Fetch requests that failed for a reason of the node."),
        _topic("replicationbytesin", "Bytes fetched from the leaders of partitions followed here."),
        _topic("replicationbytesout", "Bytes sent to followers."),
        Series("kafka_topic_partitions", GAUGE, "topic", "Partitions of the topic; from the leader of its first one."),
        Series("barnabas_topic_log_bytes", GAUGE, "topic", "Bytes of the topic's logs on this node, open ones."),
        Series(
            "barnabas_topics_summed", GAUGE, "", 'Topics without series of their own, summed under topic="(other)".'
        ),
    ),
    "Partitions of this node": (
        Series("kafka_server_replicamanager_partitioncount", GAUGE, "", "Replicas on this node."),
        Series("kafka_server_replicamanager_leadercount", GAUGE, "", "Partitions led here."),
        Series(
            "kafka_server_replicamanager_underreplicatedpartitions",
            GAUGE,
            "",
            "Partitions led here with fewer in-sync replicas than replicas.",
        ),
        Series(
            "kafka_server_replicamanager_underminisrpartitioncount",
            GAUGE,
            "",
            "Partitions led here with fewer in-sync replicas than min.insync.replicas.",
        ),
        Series(
            "kafka_server_replicamanager_offlinereplicacount",
            GAUGE,
            "",
            "Replicas on this node that could not be opened, or have lost records.",
        ),
        Series(
            "kafka_server_replicamanager_isrshrinks_total",
            COUNTER,
            "",
            "Replicas that left the in-sync ones of partitions led here.",
        ),
        Series("kafka_server_replicamanager_isrexpands_total", COUNTER, "", "Replicas that joined them."),
        Series(
            "barnabas_replication_lag_records",
            GAUGE,
            "follower",
            "Records that a follower lacks, over all partitions led here.",
        ),
        Series(
            "barnabas_replication_lag_bytes",
            GAUGE,
            "follower",
            "Their bytes, by the average size of a record of each partition.",
        ),
        Series(
            "barnabas_replication_lag_seconds",
            GAUGE,
            "follower",
            "How long ago the follower had everything of the partition it is furthest behind in.",
        ),
        Series("barnabas_replica_fetch_seconds", HISTOGRAM, "", "Fetches from leaders, their wait for news included."),
        Series("barnabas_log_flush_seconds", HISTOGRAM, "", "Flushes of logs to the disk (fsync)."),
    ),
    "Every partition (?partitions=true)": (
        _partition("current_offset", "The high watermark; from the partition's leader."),
        _partition("oldest_offset", "Where the log begins; from the partition's leader."),
        _partition("in_sync_replica", "In-sync replicas; from the partition's leader."),
        _partition("leader", "The broker that leads it; from the partition's leader."),
        _partition("under_replicated_partition", "1 where not every replica is in sync; from the partition's leader."),
        Series("kafka_log_log_size", GAUGE, "topic, partition", "Bytes of the log on this node.", partitions=True),
    ),
    "Controller and quorum": (
        Series("kafka_controller_kafkacontroller_activecontrollercount", GAUGE, "", "1 on the active controller."),
        Series(
            "kafka_controller_kafkacontroller_offlinepartitionscount",
            GAUGE,
            "",
            "Partitions without a leader; from the active controller.",
        ),
        Series(
            "kafka_controller_kafkacontroller_globalpartitioncount",
            GAUGE,
            "",
            "Partitions of the cluster; from the active controller.",
        ),
        Series(
            "kafka_controller_kafkacontroller_globaltopiccount",
            GAUGE,
            "",
            "Topics of the cluster; from the active controller.",
        ),
        Series(
            "kafka_controller_kafkacontroller_activebrokercount",
            GAUGE,
            "",
            "Brokers that are not fenced; from the active controller.",
        ),
        Series(
            "kafka_controller_kafkacontroller_fencedbrokercount",
            GAUGE,
            "",
            "Brokers that are fenced; from the active controller.",
        ),
        Series("kafka_brokers", GAUGE, "", "Brokers that are registered; from the active controller."),
        Series(
            "barnabas_controller_elections_total",
            COUNTER,
            "",
            "Partitions that this node, as the active controller, gave another leader.",
        ),
        Series("kafka_server_raftmetrics_current_leader", GAUGE, "", "The leader of the quorum, -1 without one."),
        Series("kafka_server_raftmetrics_current_epoch", GAUGE, "", "The epoch of the quorum."),
        Series("kafka_server_raftmetrics_high_watermark", GAUGE, "", "What of the metadata log is committed."),
        Series("kafka_server_raftmetrics_log_end_offset", GAUGE, "", "Where this node's metadata log ends."),
        Series("kafka_server_raftmetrics_current_state", UNTYPED, "current_state", "1 for the role in the quorum."),
        Series("barnabas_quorum_voters", GAUGE, "", "Voters of the quorum."),
        Series(
            "barnabas_quorum_lag_records",
            GAUGE,
            "replica",
            "Records of the metadata log that a replica lacks; from the quorum's leader.",
        ),
        Series(
            "barnabas_metadata_lag_records",
            GAUGE,
            "",
            "Committed records of the metadata log that this node does not serve from yet.",
        ),
    ),
    "Links from other clusters, of partitions led here": (
        Series("barnabas_link_up", GAUGE, "link", "1 while the source of the link is reached; 0 also when paused."),
        Series("barnabas_link_partitions", GAUGE, "link", "Partitions that the link fills."),
        Series("barnabas_link_failing_partitions", GAUGE, "link", "Those of them that cannot be filled now."),
        Series("barnabas_link_lag_records", GAUGE, "link", "Records of the source that are not here yet."),
        Series(
            "barnabas_link_lag_seconds",
            GAUGE,
            "link",
            "How long ago the partition that is furthest behind had everything; 0 where none is behind.",
        ),
        Series("barnabas_link_bytes_in_total", COUNTER, "link", "Bytes fetched from the source."),
        Series(
            "barnabas_link_records_skipped_total",
            COUNTER,
            "link",
            "Records that were deleted at the source before they were fetched.",
        ),
    ),
    "Requests": (
        Series("kafka_network_requestmetrics_requests_total", COUNTER, "request", "Requests."),
        Series(
            "kafka_network_requestmetrics_errors_total", COUNTER, "request, error", "Errors answered, by their code."
        ),
        Series(
            "kafka_network_requestmetrics_totaltimems",
            SUMMARY,
            "request, quantile",
            "Milliseconds from a request to its answer, over the last one to two minutes. All are timed until there"
            " were 256, then one in 64, which counts for all.",
        ),
        Series("barnabas_request_seconds", HISTOGRAM, "request", "The same in seconds, since the start."),
        Series("kafka_server_socket_server_metrics_connection_count", UNTYPED, "listener", "Connections."),
        Series("barnabas_failed_logins_total", COUNTER, "", "Logins that failed, at listeners and at /metrics."),
        Series("barnabas_throttled_total", COUNTER, "quota, rule", "Answers that told a client to wait."),
        Series("barnabas_throttled_seconds_total", COUNTER, "quota, rule", "For how long they were told to."),
        Series("barnabas_loop_stalls_total", COUNTER, "", "Times that something held the loop longer than 50 ms."),
        Series("barnabas_loop_stall_worst_seconds", GAUGE, "", "The longest of them since the start."),
    ),
    "Groups and transactions coordinated here": (
        Series("kafka_consumergroup_members", GAUGE, "consumergroup", "Members."),
        Series(
            "kafka_consumergroup_current_offset_sum", UNTYPED, "consumergroup, topic", "Committed offsets, added up."
        ),
        Series(
            "kafka_consumergroup_lag_sum",
            UNTYPED,
            "consumergroup, topic",
            "Records behind the committed offsets. Left out while an end offset is unknown.",
        ),
        Series(
            "kafka_consumergroup_lag_seconds",
            GAUGE,
            "consumergroup, topic",
            "The age of the oldest record that was not consumed, 0 where nothing is left. Left out while unknown.",
        ),
        Series(
            "kafka_consumergroup_current_offset",
            GAUGE,
            "consumergroup, topic, partition",
            "The committed offset.",
            partitions=True,
        ),
        Series(
            "kafka_consumergroup_lag",
            GAUGE,
            "consumergroup, topic, partition",
            "Records behind the committed offset.",
            partitions=True,
        ),
        Series("barnabas_groups_summed", GAUGE, "", "Groups and topics without series of their own."),
        Series("barnabas_transactions_open", GAUGE, "", "Transactions that are open or being ended."),
        Series("barnabas_transaction_oldest_seconds", GAUGE, "", "The age of the oldest of them, 0 without one."),
    ),
    "Metrics that clients push (docs/telemetry.md; theirs are kafka_client_...)": (
        Series("barnabas_telemetry_instances", GAUGE, "", "Clients that ask what they are to push."),
        Series("barnabas_telemetry_series", GAUGE, "", "Series of clients that are kept."),
        Series("barnabas_telemetry_pushes_total", COUNTER, "", "Pushes of clients that were taken."),
        Series("barnabas_telemetry_refused_pushes_total", COUNTER, "", "Pushes that could not be read."),
        Series("barnabas_telemetry_throttled_total", COUNTER, "", "Requests that came before their interval was over."),
        Series(
            "barnabas_telemetry_unknown_subscriptions_total",
            COUNTER,
            "",
            "Pushes for subscriptions that had changed meanwhile.",
        ),
        Series(
            "barnabas_telemetry_dropped_series_total",
            COUNTER,
            "",
            "Series that were too many, or of a kind that is not kept.",
        ),
        Series("barnabas_telemetry_dropped_clients_total", COUNTER, "", "Clients whose series gave way to others."),
        Series(
            "barnabas_telemetry_client_info",
            GAUGE,
            "client_id, client_instance_id, software_name, software_version, client_address",
            "1 for each client whose metrics are kept.",
        ),
        Series(
            "barnabas_telemetry_push_age_seconds",
            GAUGE,
            "client_id, client_instance_id",
            "How long ago the client pushed.",
        ),
    ),
    "Node": (
        Series("barnabas_build_info", GAUGE, "version, python, node_id", "1; the versions are in the labels."),
        Series("barnabas_ready", GAUGE, "", "1 when /health/ready says so."),
        Series("barnabas_start_time_seconds", GAUGE, "", "When the node was started, in Unix time."),
        Series("barnabas_problems", GAUGE, "what", "Things that fail now, as barnabas doctor shows them."),
        Series("barnabas_disk_total_bytes", GAUGE, "", "The size of the file system with the data."),
        Series("barnabas_disk_free_bytes", GAUGE, "", "What of it is free."),
        Series(
            "barnabas_disk_full_in_seconds",
            GAUGE,
            "",
            "Until it is full, by its growth in the last hour. Left out where it does not grow, and in the first"
            " minutes.",
        ),
        Series("process_cpu_seconds_total", COUNTER, "", "CPU time of the process."),
        Series("process_resident_memory_bytes", GAUGE, "", "Memory of the process."),
        Series("process_open_fds", GAUGE, "", "Open file descriptors."),
        Series("process_max_fds", GAUGE, "", "How many there may be."),
        Series("barnabas_scrape_seconds", GAUGE, "", "CPU time of the loop's thread for the scrape before this one."),
    ),
}

AREAS = _ROWS
SERIES: dict[str, Series] = {row.name: row for rows in _ROWS.values() for row in rows}
