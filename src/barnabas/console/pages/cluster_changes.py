"""Changes of a cluster: spread partitions, empty a node, take it out, elect preferred leaders, settings of nodes.

Whatever moves data is planned first: the plan is a GET, and the change names every move of it with the replicas that
the partition had then. Where the cluster has changed since, nothing is moved.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from barnabas.console.clusters import placing, reading
from barnabas.console.clusters.facts import Facts
from barnabas.console.clusters.moving import Planned
from barnabas.console.clusters.settings import BROKER, change_settings
from barnabas.console.pages.cluster import EVERY_NODE, node_of
from barnabas.console.problems import NotFound, Problem, refused
from barnabas.console.web.bodies import Int32, Int64
from barnabas.console.web.calls import Call, Route
from barnabas.link.codes import name_of
from barnabas.model.errors import ErrorCode
from barnabas.operate.placement.nouns import Partition, led_elsewhere
from barnabas.operate.placement.plan import Move, NoRoom, plan
from barnabas.wire.apis import REMOVE_RAFT_VOTER, UNREGISTER_BROKER

if TYPE_CHECKING:
    from barnabas.wire.messages import RemoveRaftVoterResponse, UnregisterBrokerResponse

_PARTITIONS_MAX = 100_000  # of a plan: 10 MB of JSON
_AT_ONCE_MAX = 1_000


class _Move(msgspec.Struct):
    topic: str
    partition: Int32
    replicas: list[Int32]
    new_replicas: list[Int32]
    bytes: Int64 = 0


class _Moves(msgspec.Struct):
    title: str
    moves: list[_Move]
    at_once: int = 10
    throttle: Int64 | None = None  # bytes a second and node


class _Partition(msgspec.Struct):
    topic: str
    partition: Int32


class _Partitions(msgspec.Struct):
    partitions: list[_Partition]


class _Settings(msgspec.Struct):
    changes: dict[str, str | None]


async def plan_moves(call: Call) -> object:
    """What balance, or with `drain` emptying a node, would move; nothing is changed."""
    facts = await _now(call)
    told = call.text("drain")
    leaving = frozenset({call.number("drain", -1)} if told else ())
    if leaving - set(facts.nodes):
        raise NotFound(f"there is no node {told}", f"There are {', '.join(map(str, sorted(facts.nodes)))}.")
    brokers, partitions = placing.brokers_of(facts), placing.partitions_of(facts)
    stuck = [each for each in partitions if each.leader < 0 and leaving & set(each.replicas)]
    if stuck:
        more = f" and {len(stuck) - 1} more" if len(stuck) > 1 else ""
        raise Problem(
            f"{stuck[0].name}{more} cannot be moved: no replica that has all records is up",
            "Start its node first; if that is lost for ever, delete the topic.",
            409,
        )
    sizes = await placing.read_replica_sizes(call.nodes, [each.id for each in brokers if each.up])
    movable = [each for each in partitions if each.leader >= 0]
    preferred = await placing.read_preferred_racks(call.nodes, brokers, list(facts.topics))
    try:
        moves = await asyncio.to_thread(plan, brokers, movable, sizes, leaving, preferred)
    except NoRoom as error:
        raise Problem(str(error), "Add a node first, or give those topics fewer replicas.", 409) from None
    elections = [] if leaving else led_elsewhere(brokers, partitions)
    return {
        "title": f"Empty node {told}" if told else "Balance",
        "moves": [_told(move) for move in moves],
        "bytes": sum(move.bytes * len(move.added) for move in moves),
        "elections": [{"topic": each.topic, "partition": each.index} for each in elections],
        "after": _after(facts, partitions, moves),
    }


async def _now(call: Call) -> Facts:
    facts = Facts()
    await reading.read_cluster(call.nodes, facts)
    return facts


def _told(move: Move) -> dict[str, object]:
    return {
        "topic": move.partition.topic,
        "partition": move.partition.index,
        "replicas": move.partition.replicas,
        "new_replicas": move.replicas,
        "bytes": move.bytes,
        "moved_bytes": move.bytes * len(move.added),
    }


def _after(facts: Facts, partitions: Sequence[Partition], moves: Sequence[Move]) -> list[dict[str, int]]:
    """Replicas and preferred leaders of each node, now and when all is moved."""
    new = {(move.partition.topic, move.partition.index): move.replicas for move in moves}
    rows = {
        node: {"id": node, "replicas": 0, "leaders": 0, "new_replicas": 0, "new_leaders": 0} for node in facts.nodes
    }
    for each in partitions:
        for prefix, replicas in (("", each.replicas), ("new_", new.get((each.topic, each.index), each.replicas))):
            for place, node in enumerate(replicas):
                if node in rows:
                    rows[node][f"{prefix}replicas"] += 1
                    rows[node][f"{prefix}leaders"] += not place
    return [rows[node] for node in sorted(rows)]


async def start_moves(call: Call) -> object:
    asked = await call.body(_Moves)
    if not asked.moves:
        raise Problem("there is nothing to move")
    if len(asked.moves) > _PARTITIONS_MAX:
        raise Problem(f"at most {_PARTITIONS_MAX} partitions at once")
    if not 1 <= asked.at_once <= _AT_ONCE_MAX or (asked.throttle is not None and asked.throttle < 1):
        raise Problem(f"partitions at once are 1 to {_AT_ONCE_MAX}, a throttle is at least a byte a second")
    facts = await _now(call)
    _as_planned(facts, asked.moves)
    call.names += [asked.title[:100], f"{len(asked.moves)} partitions"]
    moves = [
        Planned(each.topic, each.partition, tuple(each.replicas), tuple(each.new_replicas), max(0, each.bytes))
        for each in asked.moves
    ]
    call.connection.mover.start(asked.title[:100], moves, asked.at_once, asked.throttle)
    return {}


def _as_planned(facts: Facts, moves: Sequence[_Move]) -> None:
    current = {(topic.name, each.index): each.replicas for topic in facts.topics.values() for each in topic.partitions}
    for each in moves:
        if current.get((each.topic, each.partition)) != tuple(each.replicas):
            raise Problem(f"{each.topic}-{each.partition} has changed since it was planned", "Plan again.", 409)
        if not each.new_replicas or len(set(each.new_replicas)) != len(each.new_replicas):
            raise Problem(f"{each.topic}-{each.partition} needs replicas, each on a node of its own")
        if unknown := sorted(set(each.new_replicas) - set(facts.nodes)):
            raise Problem(f"there is no node {unknown[0]}", "Plan again.", 409)


async def stop_moves(call: Call) -> object:
    call.connection.mover.stop()
    return {}


async def cancel_moves(call: Call) -> object:
    """Takes back moves that are under way, whoever has begun them."""
    asked = _keys(await call.body(_Partitions))
    call.names += [f"{topic}-{index}" for topic, index in asked[:20]]
    failed = await placing.reassign(call.nodes, [(topic, index, None) for topic, index in asked])
    call.connection.mover.taken_back(each for each in asked if each not in failed)
    _all_done(failed, "was not taken back")
    return {}


async def elect(call: Call) -> object:
    asked = _keys(await call.body(_Partitions))
    call.names.append(f"{len(asked)} partitions")
    failed = await placing.elect_preferred(call.nodes, asked)
    _all_done(failed, "has not changed its leader")
    return {}


def _keys(asked: _Partitions) -> list[placing.Key]:
    if not asked.partitions:
        raise Problem("no partition is named")
    if len(asked.partitions) > _PARTITIONS_MAX or any(not 0 <= each.partition < 2**31 for each in asked.partitions):
        raise Problem(f"at most {_PARTITIONS_MAX} partitions, each with its number")
    return [(each.topic, each.partition) for each in asked.partitions]


def _all_done(failed: dict[placing.Key, int], what: str) -> None:
    for (topic, index), code in failed.items():
        more = f", and {len(failed) - 1} more" if len(failed) > 1 else ""
        raise Problem(f"{topic}-{index} {what}: {name_of(code)}{more}", status=409)


async def take_out(call: Call) -> object:
    """Ends the membership of a node that holds nothing any more: its vote, then its registration."""
    name, node = node_of(call)
    if node is None:
        raise NotFound(f"{EVERY_NODE!r} is no node")
    facts = await _now(call)
    left = [each.name for each in placing.partitions_of(facts) if node in each.replicas]
    if left:
        raise Problem(f"node {node} still has {left[0]}", "Empty it first.", 409)
    await _give_back_vote(call, node)
    answer: UnregisterBrokerResponse = await call.nodes.ask_any(UNREGISTER_BROKER, {"broker_id": node})
    if answer.error_code and answer.error_code != ErrorCode.BROKER_ID_NOT_REGISTERED:
        raise refused(answer.error_code, f"node {name} was not taken out", answer.error_message)
    return {}


async def _give_back_vote(call: Call, node: int) -> None:
    quorum = await placing.read_quorum(call.nodes)
    mine = next((each for each in quorum.replicas if each.id == node and each.role != "observer"), None)
    if mine is None:
        return
    voters = sum(each.role != "observer" for each in quorum.replicas)
    if voters <= 3:  # the command line finds the voter that takes its place
        raise Problem(
            f"node {node} votes in the quorum, which would have {voters - 1} voters left",
            f"barnabas cluster drain {node} makes another controller a voter in its place, if there is one.",
            409,
        )
    body = {"cluster_id": None, "voter_id": node, "voter_directory_id": mine.directory_id}
    answer: RemoveRaftVoterResponse = await call.nodes.ask_any(REMOVE_RAFT_VOTER, body)
    if answer.error_code and answer.error_code != ErrorCode.VOTER_NOT_FOUND:
        raise refused(answer.error_code, f"the vote of node {node} was not taken back", answer.error_message)


async def alter_node(call: Call) -> object:
    asked = await call.body(_Settings)
    call.names += asked.changes
    name, node = node_of(call)
    await change_settings(call.nodes, BROKER, name, asked.changes, node=node)
    return {}


ROUTES = [
    Route("GET", "/cluster/plan", plan_moves),
    Route("POST", "/cluster/moves", start_moves, change="move partitions"),
    Route("DELETE", "/cluster/moves", stop_moves, change="stop moving partitions"),
    Route("POST", "/cluster/moves/cancel", cancel_moves, change="take back moves"),
    Route("POST", "/cluster/elections", elect, change="elect preferred leaders"),
    Route("DELETE", "/cluster/nodes/{node}", take_out, change="take a node out of the cluster"),
    Route("PATCH", "/cluster/nodes/{node}/settings", alter_node, change="change settings of a node"),
]
