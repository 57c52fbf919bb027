"""`barnabas cluster voters`: who votes in the quorum, and changing that one node at a time (KIP-853)."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Annotated, Protocol, TypeVar

import typer

from barnabas.cli.common import human
from barnabas.cli.common.failure import Failure, usage, warn
from barnabas.cli.common.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap, Yes, confirm, to_paste
from barnabas.cli.common.screen import Column, emit_json, say, table

if TYPE_CHECKING:
    from barnabas.cli.common.cluster import Cluster
    from barnabas.wire.messages import (
        AddRaftVoterResponse,
        DescribeConfigsResponse,
        DescribeQuorumResponse,
        RemoveRaftVoterResponse,
    )

_LEADERLESS_S = 10.0
_FOLLOWS_S = 10.0  # until the leader has heard of a node that is up
_BUSY_S = 10.0  # until another change of the voters is over
_WAIT_MS = 25_000  # for a new voter to catch up: less than the client waits for an answer


@dataclass(frozen=True, slots=True)
class Replica:
    id: int
    directory_id: str
    address: str
    role: str  # leader, voter, observer
    lag: int | None  # records of the metadata log; None: the leader has not heard of it


@dataclass(frozen=True, slots=True)
class Quorum:
    leader: int
    epoch: int
    replicas: list[Replica] = field(default_factory=list)

    @property
    def voters(self) -> list[int]:
        return sorted(each.id for each in self.replicas if each.role != "observer")

    @property
    def observers(self) -> list[int]:
        return sorted(each.id for each in self.replicas if each.role == "observer")

    def get(self, node: int) -> Replica | None:
        return next((each for each in self.replicas if each.id == node), None)

    @property
    def lost_votes(self) -> list[int]:
        """Voters that follow as observers: with a new folder, while their votes belong to the old one."""
        return sorted(set(self.voters) & set(self.observers))


def voters(
    add: Annotated[int | None, typer.Option("--add", metavar="NODE", help="Make this node a voter.")] = None,
    remove: Annotated[int | None, typer.Option("--remove", metavar="NODE", help="Take this node's vote.")] = None,
    yes: Yes = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Show who votes in the quorum, add a voter or remove one.

    A node that joined through controller.quorum.bootstrap.servers follows as an observer until it is added here. Three
    voters survive the loss of one, five the loss of two. Without --yes a removal is asked for.

    \b
    Example:
      barnabas cluster voters
      barnabas cluster voters --add 4
      barnabas cluster voters --remove 2 --yes
    """
    from barnabas.cli.common.cluster import Cluster

    if add is not None and remove is not None:
        raise usage("--add and --remove at once", "The quorum changes by one voter at a time: add first, then remove.")
    with Cluster(bootstrap) as cluster:
        if add is not None:
            add_voter(cluster, add)
        elif remove is not None:
            _remove(cluster, remove, yes)
        found = quorum(cluster)
    if as_json:
        emit_json(asdict(found))
        return
    if add is not None:
        say(f"node {add} is a voter now")
    if remove is not None:
        say(f"node {remove} is no voter now")
    columns = (
        Column("node", True, style="bold"), Column("address", flexible=True), Column("quorum"), Column("behind", True),
        Column("directory"),
    )  # fmt: skip
    rows = (
        [str(each.id), each.address or "-", each.role, "-" if each.lag is None else human.count(each.lag),
         each.directory_id]
        for each in found.replicas
    )  # fmt: skip
    table(columns, rows)


class _Replica(Protocol):
    @property
    def replica_id(self) -> int: ...


R = TypeVar("R", bound=_Replica)


def quorum(cluster: Cluster) -> Quorum:
    from barnabas.cli.common.cluster import refused
    from barnabas.model.ids import METADATA_TOPIC, uuid_text
    from barnabas.wire.apis import DESCRIBE_QUORUM

    asked = {"topics": [{"topic_name": METADATA_TOPIC, "partitions": [{"partition_index": 0}]}]}
    deadline = time.monotonic() + _LEADERLESS_S
    while True:
        answer: DescribeQuorumResponse = cluster.ask_any(DESCRIBE_QUORUM, asked)
        code = answer.error_code or answer.topics[0].partitions[0].error_code
        if not code:
            break
        if time.monotonic() > deadline:
            raise refused(code, "describe the quorum", cluster.bootstrap)
        time.sleep(0.1)  # between two leaders: the one before may be the voter that was removed
    told = answer.topics[0].partitions[0]
    addresses = {
        each.node_id: f"{each.listeners[0].host}:{each.listeners[0].port}"
        for each in getattr(answer, "nodes", ())
        if each.listeners
    }
    end = max((each.log_end_offset for each in told.current_voters), default=0)
    found = Quorum(told.leader_id, told.leader_epoch)
    for role, replicas in (("voter", told.current_voters), ("observer", _newest(told.observers))):
        for each in sorted(replicas, key=lambda replica: int(replica.replica_id)):
            if role == "observer" and each.replica_id not in cluster.brokers:
                continue  # one that has left: the quorum remembers whoever fetched for some minutes
            host, port = cluster.brokers.get(each.replica_id, ("", 0))
            found.replicas.append(
                Replica(
                    each.replica_id,
                    uuid_text(getattr(each, "replica_directory_id", bytes(16))),
                    addresses.get(each.replica_id) or (f"{host}:{port}" if port else ""),
                    "leader" if each.replica_id == told.leader_id else role,
                    end - each.log_end_offset if each.log_end_offset >= 0 else None,
                )
            )
    return found


def _newest(observers: Iterable[R]) -> list[R]:
    """Of a node with a new folder only that one: the leader remembers the old one for some minutes."""
    found: dict[int, R] = {}
    for each in observers:
        known = found.get(each.replica_id)
        if known is None or _fetched_ms(each) > _fetched_ms(known):
            found[each.replica_id] = each
    return list(found.values())


def _fetched_ms(replica: object) -> int:
    return int(getattr(replica, "last_fetch_timestamp", -1))


def candidate(cluster: Cluster, node: int) -> Replica:
    """The node that is to become a voter, or why it cannot."""
    found = _quorum_with(cluster, node)
    replica = found.get(node)
    if node in found.lost_votes:
        problem = f"node {node} has a new folder, and its vote belongs to the old one"
        raise Failure(problem, f"Take that first: {to_paste(f'cluster voters --remove {node}', cluster.bootstrap)}")
    if node in found.voters:
        raise Failure(f"node {node} is a voter already")
    if node not in cluster.brokers:
        others = ", ".join(map(str, found.observers)) or "none"
        raise Failure(f"node {node} does not follow the quorum", f"Start it first. Observers now: {others}.")
    if replica is None:
        raise Failure(
            f"node {node} is up, but does not follow the quorum",
            f"Its log says why it does not fetch from the quorum's leader, node {found.leader}.",
        )
    if not may_vote(cluster, node):
        raise Failure(
            f"node {node} is a broker only", "Give it process.roles=broker,controller, restart it, and add it then."
        )
    return replica


def _quorum_with(cluster: Cluster, node: int) -> Quorum:
    """Waits for a node that is up, but that the leader does not name: a new leader knows a replica once that fetches,
    and the leader whose vote was taken finds the new one only after an election timeout, up to two seconds later."""
    deadline = time.monotonic() + _FOLLOWS_S
    while True:
        found = quorum(cluster)
        if found.get(node) is not None or node not in cluster.brokers or time.monotonic() > deadline:
            return found
        time.sleep(0.1)


def add_voter(cluster: Cluster, node: int) -> None:
    """Returns when a majority of the new voters has the change."""
    from barnabas.model.ids import parse_uuid
    from barnabas.wire.apis import ADD_RAFT_VOTER

    replica = candidate(cluster, node)
    name, host, port = _reached_by_nodes(cluster, node)
    # A node whose controllers' listener is another one says so itself as soon as it votes (UpdateRaftVoter).
    body = {
        "cluster_id": None,
        "timeout_ms": _WAIT_MS,
        "voter_id": node,
        "voter_directory_id": parse_uuid(replica.directory_id),
        "listeners": [{"name": name, "host": host, "port": port}],
        "ack_when_committed": True,
    }
    _checked(cluster, _changed(cluster, ADD_RAFT_VOTER, body), f"make node {node} a voter")


def remove_voter(cluster: Cluster, node: int) -> list[int]:
    """Take a node's vote; gives the voters that are left. One that has none is left as it is."""
    from barnabas.model.errors import ErrorCode
    from barnabas.model.ids import parse_uuid
    from barnabas.wire.apis import REMOVE_RAFT_VOTER

    found = quorum(cluster)
    replica = found.get(node)
    if replica is None or node not in found.voters:
        return found.voters
    if len(found.voters) == 1:
        raise Failure(
            f"node {node} is the only voter of the quorum",
            f"Add another one first: {to_paste('cluster voters --add NODE', cluster.bootstrap)}",
        )
    body = {"cluster_id": None, "voter_id": node, "voter_directory_id": parse_uuid(replica.directory_id)}
    answer = _changed(cluster, REMOVE_RAFT_VOTER, body)
    if answer.error_code != ErrorCode.VOTER_NOT_FOUND:
        _checked(cluster, answer, f"take back the vote of node {node}")
    return [each for each in found.voters if each != node]


def _remove(cluster: Cluster, node: int, yes: bool) -> None:
    found = quorum(cluster)
    if node not in found.voters:
        raise Failure(f"node {node} is no voter", f"Voters are {', '.join(map(str, found.voters))}.")
    confirm(f"Take the vote of node {node}?", yes)
    named = node in cluster.brokers and _named_by_settings(cluster, node)
    others = promotable(cluster)  # asked before: a new leader of the quorum has not seen yet who follows it
    left = remove_voter(cluster, node)
    if named:
        warn(rejoins(node))
    if text := too_few_voters(left, others, cluster.bootstrap):
        warn(text)


def rejoins(node: int) -> str:
    return (
        f"controller.quorum.voters of node {node} names it, so it asks for its vote again when it is restarted: write "
        "controller.quorum.bootstrap.servers=HOST:PORT,... there instead."
    )


def too_few_voters(left: list[int], others: list[int], bootstrap: str) -> str:
    """What to tell about a quorum of so many voters; nothing when it survives the loss of one."""
    if len(left) >= 3:
        return ""
    who = f"voter, node {left[0]}" if len(left) == 1 else f"voters, nodes {' and '.join(map(str, left))}"
    when = "when it is down" if len(left) == 1 else "when one of them is down"
    node = others[0] if others else "NODE"
    first = "" if others else "start one more broker and controller, then "
    return (
        f"the quorum has {len(left)} {who}, left: {when}, nothing about the cluster can be changed. "
        f"To make another node a voter, {first}run: {to_paste(f'cluster voters --add {node}', bootstrap)}"
    )


def promotable(cluster: Cluster) -> list[int]:
    """Nodes that follow the quorum, are controllers and do not vote."""
    return [node for node in quorum(cluster).observers if may_vote(cluster, node)]


def may_vote(cluster: Cluster, node: int) -> bool:
    try:
        roles = _setting(cluster, node, "process.roles")
    except Failure:
        return False  # it is down
    return "controller" in [each.strip() for each in roles.split(",")]


def _named_by_settings(cluster: Cluster, node: int) -> bool:
    try:
        named = _setting(cluster, node, "controller.quorum.voters")
    except Failure:
        return False  # it is down
    return any(each.strip().partition("@")[0] == str(node) for each in named.split(","))


def _reached_by_nodes(cluster: Cluster, node: int) -> tuple[str, str, int]:
    """The listener on which nodes speak to each other; it may want TLS where that of this command does not."""
    name = _setting(cluster, node, "inter.broker.listener.name") or "PLAINTEXT"
    told = _setting(cluster, node, "advertised.listeners") or _setting(cluster, node, "listeners")
    for item in told.split(","):
        named, _, address = item.strip().partition("://")
        host, _, port = address.rpartition(":")
        if named.upper() == name.upper() and host.strip("[]") and port.isdigit():
            return name, host.strip("[]"), int(port)
    return name, *cluster.brokers[node]


def _setting(cluster: Cluster, node: int, name: str) -> str:
    from barnabas.wire.apis import DESCRIBE_CONFIGS

    asked = {"resources": [{"resource_type": 4, "resource_name": str(node), "configuration_keys": [name]}]}
    told: DescribeConfigsResponse = cluster.ask(node, DESCRIBE_CONFIGS, asked)
    found = told.results[0].configs
    return str(found[0].value or "") if found else ""


def _changed(
    cluster: Cluster, api_key: int, body: Mapping[str, object]
) -> AddRaftVoterResponse | RemoveRaftVoterResponse:
    """Asked again while another change is under way, as of a node that has just started and tells its address. That is
    refused at once; a change that was begun is answered, or given up, after more than the time in which this asks."""
    from barnabas.model.errors import ErrorCode

    deadline = time.monotonic() + _BUSY_S
    while True:
        answer: AddRaftVoterResponse | RemoveRaftVoterResponse = cluster.ask_any(api_key, body)
        if answer.error_code != ErrorCode.REQUEST_TIMED_OUT or time.monotonic() > deadline:
            return answer
        time.sleep(0.1)


def _checked(cluster: Cluster, answer: AddRaftVoterResponse | RemoveRaftVoterResponse, doing: str) -> None:
    from barnabas.cli.common.cluster import refused

    if answer.error_code:
        failure = refused(answer.error_code, doing, cluster.bootstrap)
        if answer.error_message:
            failure.message += f" ({answer.error_message})"
        raise failure
