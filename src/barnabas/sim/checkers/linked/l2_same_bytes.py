"""L2: a leader epoch and an offset mean the same bytes, on every replica of both clusters, whatever was promoted,
reversed and cut meanwhile. Where logs diverge is found by epochs, so this is what a reverse stands on.

Below the high watermarks, each batch is read once; a log that has been cut since the last look is read again.
"""

from typing import TYPE_CHECKING

from barnabas.broker.partition.opened import OpenPartition
from barnabas.sim import inspection
from barnabas.sim.checkers.linked.logs import batches_of, digest
from barnabas.sim.computer import Computer
from barnabas.sim.history import Partition

if TYPE_CHECKING:
    from barnabas.sim.linked.pair import Pair

_EVERY = 8  # looks
_Batch = tuple[bytes, int, int, int]  # topic, index, leader epoch, base offset


class SameEpochSameBytes:
    def __init__(self, pair: "Pair") -> None:
        self._pair = pair
        self._truth: dict[_Batch, tuple[bytes, str]] = {}
        self._read_to: dict[tuple[str, Partition], tuple[bytes, int, int]] = {}  # topic, end of the log, offset
        self.problems: list[str] = []

    def look(self, number: int) -> None:
        if number % _EVERY == 0:
            for world in (self._pair.source, self._pair.target):
                for computer in world.computers:
                    for replica in inspection.replicas(computer):
                        if not replica.id.topic.startswith("__"):
                            self._read(computer, replica)

    def _read(self, computer: Computer, replica: OpenPartition) -> None:
        name: Partition = (replica.id.topic, replica.id.partition)
        topic = self._pair.canonical_id(computer.world, name[0])
        if topic is None or replica.partition.topic_id != self._id_of(computer, name[0]):
            return
        known, log_end, offset = self._read_to.get((computer.name, name), (topic, 0, 0))
        if known != topic or replica.log.log_end_offset < log_end:
            offset = 0
        if self._pair.is_cutting(computer.world):
            offset = 0  # it may have been cut and filled again since the last look
        end = replica.high_watermark
        if offset < end:
            for header, data in batches_of(computer, name):
                if header.base_offset >= end:
                    break
                if header.base_offset >= offset:
                    self._compare(computer, (topic, name[1], header.leader_epoch, header.base_offset), name, data)
                    offset = header.next_offset
        self._read_to[computer.name, name] = (topic, replica.log.log_end_offset, offset)

    def _id_of(self, computer: Computer, topic: str) -> bytes | None:
        image = computer.world.newest_image()
        found = image.topics.get(topic) if image is not None else None
        return found.id if found is not None else None

    def _compare(self, computer: Computer, batch: _Batch, name: Partition, data: memoryview) -> None:
        found = digest(data)
        known, whose = self._truth.setdefault(batch, (found, computer.name))
        if known != found:
            text = f"{name} offset {batch[3]}: epoch {batch[2]} has other bytes on {computer.name} than on {whose}"
            if f"L2 {text}" not in self.problems:
                computer.world.trace.note(f"PROBLEM {text}")
                self.problems.append(f"L2 {text}")
