"""The tables put together: every setting of a node, a topic and a group, by name."""

from barnabas.model.settings import (
    group,
    metrics,
    node_cluster,
    node_groups,
    node_internal,
    node_log,
    node_network,
    node_remote,
    node_security,
    node_security_ssl,
    node_share_streams,
    node_transactions,
    topic,
)
from barnabas.model.settings.kinds import Setting

NODE_AREAS = {
    "Log": node_log.ROWS,
    "Groups": node_groups.ROWS,
    "Cluster": node_cluster.ROWS,
    "Network": node_network.ROWS,
    "Transactions": node_transactions.ROWS,
    "Security": node_security.ROWS,
    "TLS": node_security_ssl.ROWS,
    "Share and streams groups": node_share_streams.ROWS,
    "Tiered storage": node_remote.ROWS,
    "Internal": node_internal.ROWS,
}
TOPIC_SETTINGS: dict[str, Setting] = {row.name: row for row in topic.ROWS}
METRICS_SETTINGS: dict[str, Setting] = {row.name: row for row in metrics.ROWS}
GROUP_SETTINGS: dict[str, Setting] = {row.name: row for row in group.ROWS}
NODE_SETTINGS: dict[str, Setting] = {row.name: row for rows in NODE_AREAS.values() for row in rows}
