"""Who this node is: its number, its cluster, and the addresses it takes and tells others.

The cluster's id is that of the setting, else that of the data folder; a node with a new disk asks the nodes it was told
of, and only when none of them answers, as on the first day of a cluster, it is derived from the voters, so that all who
were given the same voters agree. A node told of nobody begins a cluster of its own.
"""

import asyncio
import logging
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.peers.table import PeerGone, connect
from barnabas.broker.quorum.membership import Plan, derived_cluster_id
from barnabas.core.cluster.records import Endpoint
from barnabas.core.raft import Endpoint as QuorumEndpoint
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import uuid_text
from barnabas.model.settings import ConfigSource, Settings
from barnabas.model.settings import Listener as Address
from barnabas.wire.apis import DESCRIBE_CLUSTER
from barnabas.wire.codec import ProtocolError

if TYPE_CHECKING:
    from barnabas.broker.node import Node

log = logging.getLogger(__name__)

_ASK_TIMEOUT_MS = 500
_SAY_EVERY = 50  # rounds of asking
_EVERY_ADDRESS = ("", "0.0.0.0", "::")
DEFAULT_NODE_ID = 1


def node_id(node: "Node") -> int:
    """The one that was set; else that of the data folder."""
    configured = node.settings.int("node.id")
    if node.data.node_id is not None and node.settings.source("node.id") is ConfigSource.DEFAULT:
        return node.data.node_id
    return configured if configured >= 0 else DEFAULT_NODE_ID


async def cluster_id(node: "Node", plan: Plan) -> str:
    configured = node.settings["cluster.id"]
    if configured or node.data.cluster_id:
        return str(configured or node.data.cluster_id)
    if plan.alone:
        return uuid_text(node.platform.new_uuid())
    others = [address for number, address in plan.voters.items() if number != node.node_id]
    found = await _asked(node, others + list(plan.bootstrap))
    rounds = 0
    while found is None and not plan.voters:
        if rounds % _SAY_EVERY == 0:
            log.warning(
                "node %d waits for a cluster at its controller.quorum.bootstrap.servers (%s). To found a new cluster, "
                "give every node controller.quorum.voters=1@host:port,2@host:port,... instead",
                node.node_id,
                ", ".join(f"{host}:{port}" for host, port in plan.bootstrap),
            )
        rounds += 1
        await asyncio.sleep(0.1)
        found = await _asked(node, plan.bootstrap)
    return found or derived_cluster_id(plan.voters)


async def _asked(node: "Node", addresses: Sequence[tuple[str, int]]) -> str | None:
    answers = await asyncio.gather(*(_ask(node, host, port) for host, port in addresses))
    return next((answer for answer in answers if answer), None)


async def _ask(node: "Node", host: str, port: int) -> str | None:
    try:
        async with asyncio.timeout(_ASK_TIMEOUT_MS / 1000):
            connection = await connect(node, host, port)
            try:
                body = {"include_cluster_authorized_operations": False}
                answer = await connection.ask(DESCRIBE_CLUSTER, 0, body, _ASK_TIMEOUT_MS)
            finally:
                connection.close()
        return str(answer.cluster_id) or None
    except (PeerGone, ProtocolError, TimeoutError):
        return None


# --- addresses ------------------------------------------------------------------------------------------------------


class Addresses(NamedTuple):
    bound: tuple[Endpoint, ...]  # for clients and brokers, as taken
    told: tuple[Endpoint, ...]  # the same, as others reach them
    quorum: QuorumEndpoint  # where controllers reach this one
    quorum_ports: frozenset[int] | None  # None: the quorum is served wherever clients are


def take_addresses(node: "Node", plan: Plan, settings: Settings) -> Addresses:
    """Before anything is written, so that a taken port leaves no trace; nobody is served yet."""
    bound = tuple(_bind(node, wanted) for wanted in settings.client_listeners()) if node.has_broker else ()
    controller = settings.controller_listeners() if "controller" in plan.roles else []
    quorum_bound = tuple(_bind(node, wanted) for wanted in controller)
    if not bound and not quorum_bound:  # a controller on a client's listener
        bound = tuple(_bind(node, wanted) for wanted in settings.client_listeners())
    told = tuple(_as_told(node, plan, endpoint) for endpoint in bound)
    name = settings["inter.broker.listener.name"]
    if quorum_bound:
        between = _as_told(node, plan, quorum_bound[0])
    else:
        between = next((found for found in told if found.name == str(name).upper()), told[0])
    _check_voter(node, plan, (*told, between))
    return Addresses(
        bound,
        told,
        QuorumEndpoint(between.name, between.host, between.port),
        frozenset(endpoint.port for endpoint in quorum_bound) if quorum_bound else None,
    )


def _check_voter(node: "Node", plan: Plan, told: Sequence[Endpoint]) -> None:
    """The mistake of giving every machine the same `node.id` is found here, not by an election that never ends."""
    voter = plan.voters.get(node.node_id)
    if voter is not None and voter[1] not in {endpoint.port for endpoint in told}:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"controller.quorum.voters has node {node.node_id} at {voter[0]}:{voter[1]}, but it listens on port"
            f" {told[0].port}: is node.id right?",
        )


def _bind(node: "Node", wanted: Address) -> Endpoint:
    host, port = node.listener.bind(wanted.host, wanted.port)
    return Endpoint(wanted.name, wanted.protocol, wanted.host or host, port)


def _as_told(node: "Node", plan: Plan, bound: Endpoint) -> Endpoint:
    """What others are told of a listener: what the operator said, else the address itself, else this machine's name."""
    for told in node.settings.advertised_listeners():
        if told.name == bound.name:
            return Endpoint(bound.name, bound.protocol, told.host or node.platform.hostname(), told.port or bound.port)
    if bound.host not in _EVERY_ADDRESS:
        return bound
    voter = plan.voters.get(node.node_id)
    host = voter[0] if voter is not None else node.platform.hostname()
    return Endpoint(bound.name, bound.protocol, host, bound.port)


def shown(endpoint: Endpoint | QuorumEndpoint) -> str:
    host = "127.0.0.1" if endpoint.host in ("0.0.0.0", "::") else endpoint.host
    return f"[{host}]:{endpoint.port}" if ":" in host else f"{host}:{endpoint.port}"
