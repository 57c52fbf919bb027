"""Who this node is: its number, its cluster, and the addresses it listens on and advertises.

The cluster's id is that of the setting, else that of the data folder; a node with a new disk asks the nodes it was told
of, and only when none of them answers, as on the first day of a cluster, it is derived from the voters, so that all who
were given the same voters agree. A node told of nobody begins a cluster of its own.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

from barnabas.broker.peers.table import PeerConnector
from barnabas.broker.quorum.membership import BROKER, CONTROLLER, Plan, derived_cluster_id
from barnabas.core.cluster.records import Endpoint
from barnabas.core.raft import Endpoint as QuorumEndpoint
from barnabas.link.errors import LinkDown
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import uuid_text
from barnabas.model.settings import ConfigSource, Settings
from barnabas.model.settings import Listener as Address
from barnabas.storage.directory import DataDirectory
from barnabas.wire.apis import DESCRIBE_CLUSTER
from barnabas.wire.codec import ProtocolError

if TYPE_CHECKING:
    from barnabas.wire.messages import DescribeClusterResponse

log = logging.getLogger(__name__)

_ASK_TIMEOUT_MS = 500
_SAY_EVERY = 50  # rounds of asking
_EVERY_ADDRESS = ("", "0.0.0.0", "::")
DEFAULT_NODE_ID = 1


def node_id(settings: Settings, data: DataDirectory) -> int:
    """The one that was set; else that of the data folder."""
    configured = settings.int("node.id")
    if data.node_id is not None and settings.source("node.id") is ConfigSource.DEFAULT:
        return data.node_id
    return configured if configured >= 0 else DEFAULT_NODE_ID


async def cluster_id(
    settings: Settings,
    data: DataDirectory,
    plan: Plan,
    node_id: int,
    connector: PeerConnector,
    new_uuid: Callable[[], bytes],
) -> str:
    configured = settings["cluster.id"]
    if configured or data.cluster_id:
        return str(configured or data.cluster_id)
    if plan.alone:
        return uuid_text(new_uuid())
    others = [address for number, address in plan.voters.items() if number != node_id]
    found = await _asked(connector, others + list(plan.bootstrap))
    rounds = 0
    while found is None and not plan.voters:
        if rounds % _SAY_EVERY == 0:
            log.warning(
                "node %d waits for a cluster at its controller.quorum.bootstrap.servers (%s). To found a new cluster, "
                "give every node controller.quorum.voters=1@host:port,2@host:port,... instead",
                node_id,
                ", ".join(f"{host}:{port}" for host, port in plan.bootstrap),
            )
        rounds += 1
        await asyncio.sleep(0.1)
        found = await _asked(connector, plan.bootstrap)
    return found or derived_cluster_id(plan.voters)


async def _asked(connector: PeerConnector, addresses: Sequence[tuple[str, int]]) -> str | None:
    answers = await asyncio.gather(*(_ask(connector, host, port) for host, port in addresses))
    return next((answer for answer in answers if answer), None)


async def _ask(connector: PeerConnector, host: str, port: int) -> str | None:
    try:
        async with asyncio.timeout(_ASK_TIMEOUT_MS / 1000):
            connection = await connector.connect(host, port)
            try:
                body = {"include_cluster_authorized_operations": False}
                answer: DescribeClusterResponse = await connection.ask(DESCRIBE_CLUSTER, 0, body, _ASK_TIMEOUT_MS)
            finally:
                connection.close()
        return str(answer.cluster_id) or None
    except (LinkDown, ProtocolError, TimeoutError):
        return None


# --- addresses ------------------------------------------------------------------------------------------------------


class Addresses(NamedTuple):
    bound: tuple[Endpoint, ...]  # for clients and brokers, as bound
    advertised: tuple[Endpoint, ...]  # the same, as others reach them
    quorum: QuorumEndpoint  # where controllers reach this one
    quorum_ports: frozenset[int] | None  # None: the quorum is served wherever clients are
    all_bound: tuple[Endpoint, ...]  # the quorum's own too

    @property
    def names(self) -> dict[int, str]:
        """Of all listeners, by port."""
        return {endpoint.port: endpoint.name for endpoint in self.all_bound}


Bind = Callable[[str, int], tuple[str, int]]


def bind_addresses(settings: Settings, plan: Plan, node_id: int, bind: Bind, hostname: str) -> Addresses:
    """Before anything is written, so that a port in use leaves no trace; nobody is served yet."""
    wanted = settings.client_listeners()
    bound = tuple(_bound(bind, listener) for listener in wanted) if BROKER in plan.roles else ()
    controller = settings.controller_listeners() if CONTROLLER in plan.roles else []
    quorum_bound = tuple(_bound(bind, listener) for listener in controller)
    if not bound and not quorum_bound:  # a controller on a client's listener
        bound = tuple(_bound(bind, listener) for listener in wanted)
    voter = plan.voters.get(node_id)
    own_host = voter[0] if voter is not None else hostname
    advertised = tuple(_advertised(settings, endpoint, hostname, own_host) for endpoint in bound)
    preferred = settings.inter_broker_listener()
    if quorum_bound:
        between = _advertised(settings, quorum_bound[0], hostname, own_host)
    else:
        name = None if preferred is None else preferred.name
        between = next((found for found in advertised if found.name == name), advertised[0])
    _check_voter(node_id, plan, (*advertised, between))
    return Addresses(
        bound,
        advertised,
        QuorumEndpoint(between.name, between.host, between.port),
        frozenset(endpoint.port for endpoint in quorum_bound) if quorum_bound else None,
        (*bound, *quorum_bound),
    )


def _check_voter(node_id: int, plan: Plan, advertised: Sequence[Endpoint]) -> None:
    """The mistake of giving every machine the same `node.id` is found here, not by an election that never ends."""
    voter = plan.voters.get(node_id)
    if voter is not None and voter[1] not in {endpoint.port for endpoint in advertised}:
        raise KafkaError(
            ErrorCode.INVALID_CONFIG,
            f"controller.quorum.voters has node {node_id} at {voter[0]}:{voter[1]}, but it listens on port"
            f" {advertised[0].port}: is node.id right?",
        )


def _bound(bind: Bind, wanted: Address) -> Endpoint:
    host, port = bind(wanted.host, wanted.port)
    return Endpoint(wanted.name, wanted.protocol, wanted.host or host, port)


def _advertised(settings: Settings, bound: Endpoint, hostname: str, own_host: str) -> Endpoint:
    """How others reach a listener: as the operator said, else by the address it is bound to, else by this machine's
    name (`own_host`: as the voters have it)."""
    for listener in settings.advertised_listeners():
        if listener.name == bound.name:
            return Endpoint(bound.name, bound.protocol, listener.host or hostname, listener.port or bound.port)
    if bound.host not in _EVERY_ADDRESS:
        return bound
    return Endpoint(bound.name, bound.protocol, own_host, bound.port)


def shown(endpoint: Endpoint | QuorumEndpoint) -> str:
    host = "127.0.0.1" if endpoint.host in ("0.0.0.0", "::") else endpoint.host
    return f"[{host}]:{endpoint.port}" if ":" in host else f"{host}:{endpoint.port}"
