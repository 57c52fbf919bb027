"""What a node's settings say about the quorum: who votes at first, whom to ask, and what this node is in it.

    neither voters nor bootstrap servers      a quorum of one
    bootstrap servers that name this node     likewise: what Kafka's example file of a single node says
    controller.quorum.voters                  these vote at first; their disks are not known until they tell (KIP-853)
    controller.quorum.bootstrap.servers       the cluster is there already: ask these who leads it

Once the metadata log names the voters, the log is right and the settings only say where this node itself is reached.
"""

import hashlib

from msgspec import Struct

from barnabas.core.raft import Endpoint, RaftConfig, Voter, VoterSet
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import ZERO_UUID, uuid_text
from barnabas.model.settings import Listener, Settings

BROKER, CONTROLLER = "broker", "controller"
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_EVERY_ADDRESS = ("", "0.0.0.0", "::")


class Plan(Struct, frozen=True):
    voters: dict[int, tuple[str, int]]  # as configured; empty where nobody said
    bootstrap: tuple[tuple[str, int], ...]
    roles: frozenset[str]

    @property
    def alone(self) -> bool:
        """A cluster of its own making: nobody else is named."""
        return not self.voters and not self.bootstrap


def plan(settings: Settings, node_id: int, hostname: str = "") -> Plan:
    """KafkaError with one line when the settings contradict each other."""
    voters = parse_voters(settings.list("controller.quorum.voters"))
    bootstrap = tuple(
        _address(item, "controller.quorum.bootstrap.servers")
        for item in settings.list("controller.quorum.bootstrap.servers")
    )
    roles = frozenset(settings.list("process.roles"))
    if CONTROLLER in roles and bootstrap and all(_is_own(address, settings, hostname) for address in bootstrap):
        bootstrap = ()
    if node_id in voters and CONTROLLER not in roles:
        raise _bad(f"process.roles: node {node_id} is in controller.quorum.voters, so it must be a controller")
    if CONTROLLER not in roles and not voters and not bootstrap:
        raise _bad("process.roles=broker needs controller.quorum.voters or controller.quorum.bootstrap.servers")
    return Plan(voters, bootstrap, roles)


def _is_own(address: tuple[str, int], settings: Settings, hostname: str) -> bool:
    """Is this where the node itself serves the quorum? A new node that asks only itself would wait for ever."""
    host, port = address
    listeners = settings.controller_listeners() or settings.client_listeners()
    names = {hostname, *(told.host for told in settings.advertised_listeners())}

    def serves(own: Listener) -> bool:
        # 127.0.0.1 is another node for one that listens on 127.0.0.2 or on an address of the network only.
        local = own.host in (*_EVERY_ADDRESS, *_LOOPBACK, hostname)
        return own.port == port and (host == own.host or host in names or (local and host in _LOOPBACK))

    return any(serves(own) for own in listeners if own.port)


def parse_voters(items: tuple[str, ...]) -> dict[int, tuple[str, int]]:
    """`1@a:9092,2@b:9092,...`"""
    found: dict[int, tuple[str, int]] = {}
    for item in items:
        number, at, address = item.partition("@")
        if not at or not number.strip().isdigit():
            raise _bad(f"controller.quorum.voters: {item!r} is not id@host:port")
        if int(number) in found:
            raise _bad(f"controller.quorum.voters: {number} stands there twice")
        found[int(number)] = _address(address, "controller.quorum.voters")
    return found


def _address(text: str, setting: str) -> tuple[str, int]:
    host, colon, port = text.strip().rpartition(":")
    if not colon or not host or not port.isdigit() or not 0 < int(port) <= 65535:
        raise _bad(f"{setting}: {text!r} is not host:port")
    return host.strip("[]"), int(port)


def _bad(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_CONFIG, message)


def derived_cluster_id(voters: dict[int, tuple[str, int]]) -> str:
    """The same on every node that was given the same voters, so that a new cluster needs no formatting."""
    text = ",".join(f"{number}@{host}:{port}" for number, (host, port) in sorted(voters.items()))
    for attempt in range(1_000):
        found = uuid_text(hashlib.sha256(f"{attempt}:{text}".encode()).digest()[:16])
        if not found.startswith("-"):
            return found
    raise AssertionError("a hash that always begins with a dash")


def initial_voters(plan: Plan, node_id: int, directory_id: bytes, own: Endpoint) -> VoterSet | None:
    """Those that vote as long as the log names none; None for a node that joins a cluster."""
    if plan.voters:
        return VoterSet.of(
            Voter(number, ZERO_UUID, (Endpoint(own.name, host, port),)) for number, (host, port) in plan.voters.items()
        )
    if plan.bootstrap:
        return None
    return VoterSet.of([Voter(node_id, directory_id, (own,))])


def raft_config(
    settings: Settings, plan: Plan, node_id: int, directory_id: bytes, cluster_id: str, own: Endpoint
) -> RaftConfig:
    if node_id in plan.voters:  # where the others were told to find us
        host, port = plan.voters[node_id]
        own = Endpoint(own.name, host, port)
    may_vote = CONTROLLER in plan.roles
    others = [address for number, address in plan.voters.items() if number != node_id] + list(plan.bootstrap)
    return RaftConfig(
        node_id,
        directory_id,
        cluster_id,
        (own,),
        bootstrap_servers=tuple(Endpoint("", host, port) for host, port in others),
        told_voters={number: Endpoint(own.name, host, port) for number, (host, port) in plan.voters.items()},
        controller_listeners=frozenset(name.upper() for name in settings.list("controller.listener.names")),
        auto_join=may_vote and (node_id in plan.voters or settings.bool("controller.quorum.auto.join.enable")),
        election_timeout_ms=settings.int("controller.quorum.election.timeout.ms"),
        election_backoff_max_ms=settings.int("controller.quorum.election.backoff.max.ms"),
        fetch_timeout_ms=settings.int("controller.quorum.fetch.timeout.ms"),
        request_timeout_ms=settings.int("controller.quorum.request.timeout.ms"),
        retry_backoff_ms=settings.int("controller.quorum.retry.backoff.ms"),
        fetch_max_bytes=settings.int("controller.quorum.fetch.max.bytes"),
        fetch_snapshot_max_bytes=settings.int("controller.quorum.fetch.snapshot.max.bytes"),
    )
