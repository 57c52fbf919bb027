"""Where the nodes of a cluster serve their metrics: each broker's `metrics.listeners`, as DescribeConfigs tells it."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from barnabas.client.errors import BarnabasError
from barnabas.model.errors import KafkaError
from barnabas.model.settings.listeners import parse_listeners

if TYPE_CHECKING:
    from barnabas.client.admin.admin import Admin
    from barnabas.client.admin.descriptions import NodeInfo

SETTING = "metrics.listeners"
_WILDCARDS = ("", "0.0.0.0", "::")


class FoundNode(NamedTuple):
    """`url`: None where the node serves none, and then `why`."""

    node_id: int
    host: str
    port: int
    url: str | None
    why: str = ""


def metrics_url(text: str | None, host: str) -> str | None:
    """The first of the listeners, reached on `host` where it listens on every address; None where there is none."""
    items = [item.strip() for item in (text or "").split(",") if item.strip()]
    try:
        found = parse_listeners(SETTING, items, {"HTTP": "http", "HTTPS": "https"})
    except KafkaError:
        return None
    for listener in found:
        where = host if listener.host in _WILDCARDS else listener.host
        return f"{listener.protocol}://{f'[{where}]' if ':' in where else where}:{listener.port}"
    return None


def find_nodes(admin: "Admin") -> list[FoundNode]:
    """Asks each broker, side by side: one that has just died answers only by the admin's timeout."""
    brokers = admin.cluster().nodes
    with ThreadPoolExecutor(max(len(brokers), 1), "find") as threads:
        return list(threads.map(partial(_found, admin), brokers))


def _found(admin: "Admin", broker: "NodeInfo") -> FoundNode:
    try:
        setting = admin.configs("broker", broker.id).get(SETTING)
    except BarnabasError as error:
        return FoundNode(broker.id, broker.host, broker.port, None, str(error))
    url = metrics_url(setting.value if setting is not None else None, broker.host)
    return FoundNode(broker.id, broker.host, broker.port, url, "" if url else f"it has no {SETTING}")
