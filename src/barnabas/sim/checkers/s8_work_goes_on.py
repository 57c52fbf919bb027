"""S8: while a majority is well, writes resume within a bound, and once faults are over every request gets an answer.

The bound is short when a node died loudly after a calm time: others hear of it at once, so all that is left is an
election. Otherwise clients may have to wait out a request to a silent node, and the cluster the session of that node.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from barnabas.sim.workloads.idempotent_producer import IdempotentProducer

if TYPE_CHECKING:
    from barnabas.sim.world import World

LOUD_SECONDS = 5.0
SILENT_SECONDS = 30.0
_CALM_SECONDS = 15.0
_ANSWER_SECONDS = 15.0  # after the faults, before a request that is not answered counts


class WorkGoesOn:
    def __init__(self, world: "World") -> None:
        self._world = world
        self._told: set[tuple[str, float]] = set()
        self.problems: list[str] = []
        self.measured = 0  # groups that were watched for longer than their bound

    def look(self) -> None:
        health, now = self._world.health, self._world.loop.now
        if not health.well:
            return
        short = health.loud and health.calm_before >= _CALM_SECONDS
        bound = LOUD_SECONDS if short else SILENT_SECONDS
        if now - health.since <= bound or not self._may_work():
            return
        for workload in self._world.workloads:
            if isinstance(workload, IdempotentProducer) and not workload.finishing and self._reaches(workload):
                last = max(self._world.history.progress.get(workload.name, ()), default=0.0)
                waits = now - max(last, health.since, workload.begun)
                if waits > bound and (workload.name, last) not in self._told:
                    self._told.add((workload.name, last))
                    text = (
                        f"{workload.name} has not got on for {waits:.1f} s, while nodes {sorted(health.well)} are well"
                    )
                    self._world.trace.note(f"PROBLEM {text}")
                    self.problems.append(f"S8 {text}")

    def _reaches(self, workload: IdempotentProducer) -> bool:
        blocked, host = self._world.network.blocked, workload.process.host
        hosts = [self._world.computers[number - 1].host for number in self._world.health.well]
        return not any((host, other) in blocked or (other, host) in blocked for other in hosts)

    def _may_work(self) -> bool:
        """Has every partition somebody among the well who may lead it, and enough replicas there to commit?"""
        image, well = self._world.newest_image(), self._world.health.well
        if image is None:
            return False
        for name in self._world.topics:
            topic = image.topics.get(name)
            for partition in topic.partitions if topic is not None else ():
                least = min(2, len(partition.replicas))
                if len(well & set(partition.replicas)) < least or not well & set(partition.isr + partition.elr):
                    return False
        return True


def unanswered(world: "World", healed: float) -> Iterator[str]:
    for asked, given_up, who, api_key, host in world.history.timeouts:
        if asked > healed + _ANSWER_SECONDS:
            yield (
                f"S8 {who}: no answer from {host} to API {api_key}, asked at {asked - 1000:.4f}, "
                f"given up at {given_up - 1000:.4f}; faults were over at {healed - 1000:.4f}"
            )
