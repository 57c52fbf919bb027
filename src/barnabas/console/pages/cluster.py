"""Cluster: nodes and their disks, the quorum, partitions with trouble, what is being moved, settings of nodes.

What changes it is in cluster_changes.py.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable
from typing import TypeVar

from barnabas.console.clusters import placing
from barnabas.console.clusters.facts import Facts
from barnabas.console.clusters.moving import Mover, Planned
from barnabas.console.clusters.placing import Quorum, ReplicaSizes, UnderWay
from barnabas.console.clusters.settings import BROKER, read_settings
from barnabas.console.problems import NotFound, Problem
from barnabas.console.web.calls import Call, Route
from barnabas.link.errors import LinkDown, UnknownApi
from barnabas.operate.placement.nouns import led_elsewhere

_FIRST_LOOK_SECONDS = 5.0
_SHOWN = 2_000  # partitions of a list; the count says how many there are
EVERY_NODE = "all"

T = TypeVar("T")


async def cluster(call: Call) -> object:
    observer = call.connection.observer
    await observer.first_look(_FIRST_LOOK_SECONDS)
    facts = observer.facts
    quorum, no_quorum = await _or_why(lambda: placing.read_quorum(call.nodes))
    moves, no_moves = await _or_why(lambda: placing.read_moves(call.nodes))
    sizes = await _sizes_of(call, moves or [])
    partitions = [(topic.name, each) for topic in facts.topics.values() for each in topic.partitions]
    trouble = [
        {"topic": name, "partition": each.index, "leader": each.leader, "replicas": each.replicas,
         "in_sync": each.in_sync}
        for name, each in partitions
        if each.leader < 0 or each.is_under_replicated
    ]  # fmt: skip
    elsewhere = led_elsewhere(placing.brokers_of(facts), placing.partitions_of(facts))
    return {
        "problem": facts.problem,
        "cluster_id": facts.cluster_id,
        "controller": facts.controller,
        "topics": len(facts.topics),
        "partitions": len(partitions),
        "nodes": _nodes(facts, quorum),
        "quorum": None if quorum is None else _quorum(quorum),
        "quorum_problem": no_quorum,
        "trouble": trouble[:_SHOWN],
        "trouble_count": len(trouble),
        "elsewhere": [
            {"topic": each.topic, "partition": each.index, "leader": each.leader, "preferred": each.replicas[0]}
            for each in elsewhere[:_SHOWN]
        ],
        "elsewhere_count": len(elsewhere),
        "moves": [_move(each, sizes) for each in (moves or [])[:_SHOWN]],
        "moves_problem": no_moves,
        "work": work_of(call.connection.mover),
    }


async def _or_why(ask: Callable[[], Awaitable[T]]) -> tuple[T | None, str]:
    """What this cluster or this person cannot see is one sentence of the page."""
    try:
        return await ask(), ""
    except Problem as problem:
        return None, problem.message
    except UnknownApi as error:
        return None, f"this cluster cannot tell: {error}"
    except LinkDown as error:
        return None, str(error)


async def _sizes_of(call: Call, moves: list[UnderWay]) -> ReplicaSizes:
    """Asked only while something moves, of the nodes that it concerns."""
    wanted = {node for each in moves for node in each.replicas}
    up = {each.id for each in call.facts.nodes.values() if not each.fenced}
    return await placing.read_replica_sizes(call.nodes, wanted & up) if wanted else {}


def _move(move: UnderWay, sizes: ReplicaSizes) -> dict[str, object]:
    here = {node: sizes.get((move.topic, move.partition, node), 0) for node in move.replicas}
    whole = max((size for node, size in here.items() if node not in move.adding), default=0)
    return {
        "topic": move.topic,
        "partition": move.partition,
        "replicas": [each for each in move.replicas if each not in move.adding],
        "adding": move.adding,
        "removing": move.removing,
        "bytes": whole * len(move.adding),
        "arrived": sum(min(whole, here[node]) for node in move.adding),
    }


def work_of(mover: Mover) -> dict[str, object] | None:
    """The plan that this person's console carries out, or the last one."""
    if not mover.title:
        return None
    every = [*mover.done, *mover.running.values(), *mover.waiting]
    return {
        "title": mover.title,
        "busy": mover.busy,
        "moves": len(every),
        "done": len(mover.done),
        "running": len(mover.running),
        "waiting": len(mover.waiting),
        "bytes": sum(map(_weight, every)),
        "bytes_done": sum(map(_weight, mover.done)),
        "failed": mover.failed[:20],
        "problem": mover.problem,
    }


def _weight(move: Planned) -> int:
    return move.bytes * len(move.added)


def _nodes(facts: Facts, quorum: Quorum | None) -> list[dict[str, object]]:
    leads: Counter[int] = Counter()
    replicas: Counter[int] = Counter()
    preferred: Counter[int] = Counter()
    out_of_sync: Counter[int] = Counter()
    for topic in facts.topics.values():
        for each in topic.partitions:
            leads[each.leader] += 1
            replicas.update(each.replicas)
            preferred.update(each.replicas[:1])
            out_of_sync.update(set(each.replicas) - set(each.in_sync))
    roles = {} if quorum is None else {each.id: each.role for each in quorum.replicas}
    found: list[dict[str, object]] = []
    for node in facts.nodes.values():
        folders = [each for each in facts.folders if each.node == node.id]
        known = [each for each in folders if each.total_bytes > 0]
        found.append(
            {
                "id": node.id,
                "host": node.host,
                "port": node.port,
                "rack": node.rack,
                "up": not node.fenced,
                "controller": node.id == facts.controller,
                "role": roles.pop(node.id, ""),
                "leads": leads[node.id],
                "preferred": preferred[node.id],
                "replicas": replicas[node.id],
                "out_of_sync": out_of_sync[node.id],
                "bytes": sum(each.held_bytes for each in folders) if folders else None,
                "disk_bytes": max((each.total_bytes for each in known), default=None),
                "free_bytes": min((each.usable_bytes for each in known), default=None),
                "folders": [{"path": each.path, "error": bool(each.error)} for each in folders],
            }
        )
    for node_id, role in roles.items():
        if role != "observer":  # a controller that is no broker
            found.append({"id": node_id, "role": role, "broker": False, "host": "", "up": None})
    return sorted(found, key=lambda each: int(str(each["id"])))


def _quorum(quorum: Quorum) -> dict[str, object]:
    return {
        "leader": quorum.leader,
        "epoch": quorum.epoch,
        "high_watermark": quorum.high_watermark,
        "replicas": [
            {"id": each.id, "role": each.role, "lag": each.lag, "fetched_ms": each.fetched_ms,
             "caught_up_ms": each.caught_up_ms}
            for each in quorum.replicas
        ],
    }  # fmt: skip


def node_of(call: Call) -> tuple[str, int | None]:
    """(the name of its settings, whom to ask): a node, or all of them."""
    told = call.path("node")
    if told == EVERY_NODE:
        return "", None
    node = int(told) if told.isascii() and told.isdigit() and len(told) < 10 else -1
    if node not in call.facts.nodes:
        known = ", ".join(map(str, sorted(call.facts.nodes)))
        raise NotFound(f"there is no node {told[:50]!r}", f"There are {known}." if known else "")
    return str(node), node


async def node_settings(call: Call) -> object:
    await call.connection.observer.first_look(_FIRST_LOOK_SECONDS)
    name, node = node_of(call)
    return await read_settings(call.nodes, BROKER, name, node=node)


ROUTES = [
    Route("GET", "/cluster", cluster),
    Route("GET", "/cluster/nodes/{node}/settings", node_settings),
]
