"""The tables put together: every setting of a node, a topic, a group and a link, by name."""

from barnabas.model.settings import group, metrics, topic
from barnabas.model.settings import link as links
from barnabas.model.settings.kinds import Setting
from barnabas.model.settings.node import (
    audit,
    cluster,
    internal,
    log,
    network,
    remote,
    security,
    security_ssl,
    share_streams,
    transactions,
)
from barnabas.model.settings.node import groups as node_groups

NODE_AREAS = {
    "Log": log.ROWS,
    "Groups": node_groups.ROWS,
    "Cluster": cluster.ROWS,
    "Network": network.ROWS,
    "Transactions": transactions.ROWS,
    "Security": security.ROWS,
    "TLS": security_ssl.ROWS,
    "Audit": audit.ROWS,
    "Share and streams groups": share_streams.ROWS,
    "Tiered storage": remote.ROWS,
    "Internal": internal.ROWS,
}
TOPIC_SETTINGS: dict[str, Setting] = {row.name: row for row in topic.ROWS}
METRICS_SETTINGS: dict[str, Setting] = {row.name: row for row in metrics.ROWS}
LINK_SETTINGS: dict[str, Setting] = {row.name: row for row in links.ROWS}
GROUP_SETTINGS: dict[str, Setting] = {row.name: row for row in group.ROWS}
NODE_SETTINGS: dict[str, Setting] = {row.name: row for rows in NODE_AREAS.values() for row in rows}
_SECRETS = tuple(row.name for row in (*NODE_SETTINGS.values(), *LINK_SETTINGS.values()) if row.sensitive)


def is_secret(name: str) -> bool:
    """Of a node or a link: also that of one listener or mechanism (`listener.name.X.plain.sasl.jaas.config`)."""
    return name in _SECRETS or name.endswith(tuple(f".{secret}" for secret in _SECRETS))
