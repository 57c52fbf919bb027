"""S9: nobody is connected any more, so nothing waits for a client, and what nodes keep for each other does not grow."""

from __future__ import annotations

import gc
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from barnabas.sim import inspection
from barnabas.sim.disk import SimDisk
from barnabas.storage.files import FILES

if TYPE_CHECKING:
    from barnabas.sim.computer import Computer
    from barnabas.sim.world import World

_LINKS_MAX = 24  # connections between two nodes, whoever opened them: one for each purpose
_TIMERS = 8  # of background work, upkeep/timers.py
_OWN = (  # tasks that run as long as the node does
    "Computer._main",
    "Lifecycle._beats",
    "ProducerExpiry._run",
    *["Upkeep._repeat"] * _TIMERS,
)
_TASKS_MAX = 8  # tasks of one kind that may run in a node of a cluster


def check(world: World) -> Iterator[str]:
    for computer in world.computers:
        yield from _node(world, computer)


def _node(world: World, computer: Computer) -> Iterator[str]:
    node, process = computer.node, computer.process
    if node is None or process is None:
        return
    alone = len(world.all_computers) == 1
    nodes = set(world.by_host)  # a link's among them
    # Half-open ones, left by a power loss of the other side, stay until they have been idle for long enough.
    ends = (end for end in world.network.ends.values() if end.owner is process and not end.closed)
    peers = Counter(end.peer.host for end in ends if not end.peer.closed)
    strangers = {host: count for host, count in peers.items() if host not in nodes}
    if strangers or (alone and node.listener.connections):
        yield f"S9 {computer.name}: {strangers or node.listener.connections} are connected, nobody is there"
    for host, count in peers.items():
        if host in nodes and count > _LINKS_MAX:
            yield f"S9 {computer.name}: {count} connections with {host}"
    tasks = Counter(task.get_coro().__qualname__ for task in process.tasks if not task.done())  # type: ignore[union-attr]
    if alone and (others := tasks - Counter(_OWN)):
        yield f"S9 {others.total()} tasks run: {others}"
    for name, count in tasks.items():
        if count > _TASKS_MAX:
            yield f"S9 {computer.name}: {count} tasks of {name} run"
    for partition in inspection.replicas(computer):
        followers = 0 if alone else 2 * len(world.all_computers)  # each may have fetches parked here
        fetches, acks = len(partition.waiters.fetches), len(partition.waiters.acks)
        if fetches > followers or acks:
            yield f"S9 {partition.id}: {fetches} fetches and {acks} acks wait"
    yield from _files(computer)


def _files(computer: Computer) -> Iterator[str]:
    mine = [owner for owner in FILES._owners if _is_on(owner, computer)]
    files = len(mine) + 1 + (2 if len(computer.world.all_computers) > 1 else 0)  # the lock; what is being written
    if computer.platter.open_files > files:
        gc.collect()  # tracebacks of errors may have held some; it is off while a world runs
    if computer.platter.open_files > files:
        yield f"S9 {computer.name}: {computer.platter.open_files} files are open, {files} are needed"


def _is_on(owner: object, computer: Computer) -> bool:
    disk = getattr(owner, "_disk", None)
    return isinstance(disk, SimDisk) and computer.process is not None and disk.belongs_to(computer.process)
