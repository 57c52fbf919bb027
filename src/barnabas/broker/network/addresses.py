"""Which address a client is told: the one it reached this node on, unless the operator said otherwise.

A listener on one address or name tells that, as it was written; one on all addresses tells the one that was reached. A
node behind a tunnel, in a container or on a laptop with three networks is then found again by whoever found it once,
without a setting. `advertised.listeners` wins where it is set; another node of the cluster is named by what it
registered.
"""

from typing import Protocol

from barnabas.broker.network.context import RequestContext
from barnabas.broker.network.session import plain_host
from barnabas.broker.roles import ConfiguredView
from barnabas.core.cluster.records import Endpoint

_EVERY_ADDRESS = ("", "0.0.0.0", "::")


class ListeningNode(ConfiguredView, Protocol):
    @property
    def endpoints(self) -> tuple[Endpoint, ...]:
        """The client listeners, as bound."""


def advertised(node: ListeningNode, broker_id: int, context: RequestContext) -> tuple[str, int]:
    """(host, port) of a broker, for the client that asks."""
    reached_host, reached_port = plain_host(context.session.listener_host), context.session.listener_port
    name = _listener_name(node, reached_port)
    if broker_id == node.node_id:
        told = node.settings.advertised_listeners()
        for listener in told:
            if listener.name == name or name is None:
                return listener.host or reached_host, listener.port or reached_port
        own = next((found for found in node.endpoints if found.port == reached_port), None)
        named = own is not None and own.host not in _EVERY_ADDRESS
        return own.host if own is not None and named else reached_host, reached_port
    broker = node.image.brokers.get(broker_id)
    endpoints = broker.endpoints if broker is not None else ()
    endpoint = next((found for found in endpoints if found.name == name), endpoints[0] if endpoints else None)
    if endpoint is None:
        return "", -1
    return reached_host if endpoint.host in _EVERY_ADDRESS else endpoint.host, endpoint.port


def _listener_name(node: ListeningNode, port: int) -> str | None:
    return next((endpoint.name for endpoint in node.endpoints if endpoint.port == port), None)
