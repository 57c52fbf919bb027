"""S3: a high watermark never falls, and last stable offset <= high watermark <= log end.

Looked at in what readers are told, and inside every node at short intervals. When leadership moves, the new leader may
know a lower high watermark than the old one told, as in Kafka, until its followers have fetched: so it holds for one
leader in one epoch (in a cluster of one: for ever), and for each replica as long as it lives (one with a flipped bit is
filled anew from there). At the end it is at least the highest that anybody was ever told.
"""

from typing import TYPE_CHECKING

from barnabas.sim.history import Partition

if TYPE_CHECKING:
    from barnabas.broker.partition.opened import OpenPartition
    from barnabas.sim.computer import Computer
    from barnabas.sim.requests import Got
    from barnabas.sim.workloads.base import Workload
    from barnabas.sim.world import World


class Watermarks:
    def __init__(self, world: "World") -> None:
        self._world = world
        self._told: dict[tuple[str, Partition, int, int], int] = {}  # reader, partition, node, leader epoch
        self._inside: dict[tuple[int, int, bytes, int], int] = {}  # node, life, topic, index
        self.highest: dict[Partition, int] = {}
        self.problems: list[str] = []

    def told(self, reader: "Workload", partition: Partition, got: "Got") -> None:
        """What a fetch said. Answers to one reader come in order, so the highest it was told is a floor."""
        high, stable = got.high_watermark, got.last_stable_offset
        if stable > high:
            self._problem(f"{partition}: last stable offset {stable} above high watermark {high}")
        key = (reader.name, partition, got.node, got.leader_epoch)
        before = self._told.get(key, 0)
        if high < before and not self._world.may_lose(partition, 0):
            who = f"{reader.name} by node{got.node} in epoch {got.leader_epoch}"
            self._problem(f"{partition}: high watermark {high} told to {who}, after {before}")
        self._told[key] = high
        if not self._world.may_lose(partition, 0):
            self.highest[partition] = max(self.highest.get(partition, 0), high)

    def look(self, computer: "Computer", partition: "OpenPartition") -> None:
        """A replica inside a node that runs."""
        high, end, stable = partition.high_watermark, partition.log.log_end_offset, partition.last_stable_offset
        if not stable <= high <= end:
            where = f"{tuple(partition.id)} on {computer.name}"
            self._problem(f"{where}: last stable {stable}, high watermark {high}, log end {end}")
        key = (computer.number, computer.lives, partition.partition.topic_id, partition.id.partition)
        before = self._inside.get(key, 0)
        if high != before:
            place = (partition.id.topic, partition.id.partition)
            damaged = any(flip[0] == place for flip in computer.flips)
            if high < before and not damaged and not self._world.may_lose(place, 0):
                where = f"{tuple(partition.id)} on {computer.name}"
                self._problem(f"{where}: the high watermark fell from {before} to {high}")
            self._inside[key] = high

    def _problem(self, text: str) -> None:
        self._world.trace.note(f"PROBLEM {text}")
        self.problems.append(f"S3 {text}")
