"""S2: what is committed is the same on every replica, to the byte, and stays so.

Below a replica's high watermark nothing ever changes. So each batch below it is read once from the disk's page cache,
and its bytes are compared with what the first replica had there. Compaction rewrites batches of compacted topics, each
replica at its own time: those are not compared.
"""

import hashlib
from typing import TYPE_CHECKING

from barnabas.broker.partition.opened import OpenPartition
from barnabas.sim import inspection
from barnabas.sim.history import Partition
from barnabas.sim.platter import File, Folder
from barnabas.wire.batch import HEADER_BYTES, read_header

if TYPE_CHECKING:
    from barnabas.sim.computer import Computer
    from barnabas.sim.world import World


_Place = tuple[int, int, bytes, int]  # node, life, topic id, index


class SameBytes:
    def __init__(self, world: "World") -> None:
        self._world = world
        self._truth: dict[tuple[bytes, int], dict[int, tuple[bytes, str]]] = {}  # base offset: (digest, whose)
        self._read_to: dict[_Place, tuple[str, int, int]] = {}  # segment, position and offset to read on from
        self.problems: list[str] = []
        self.compared = 0

    def look(self, *, again: bool = False) -> None:
        """What is new since the last look, or everything `again`."""
        if again:
            self._read_to.clear()
        for computer in self._world.computers:
            for partition in inspection.replicas(computer):
                if not partition.id.topic.startswith("__"):
                    self._read(computer, partition)

    def _read(self, computer: "Computer", partition: OpenPartition) -> None:
        name: Partition = (partition.id.topic, partition.id.partition)
        folder = computer.platter.find(f"{computer.data_dir}/{name[0]}-{name[1]}")
        if self._world.may_lose(name, 0) or not isinstance(folder, Folder):
            return
        place = (computer.number, computer.lives, partition.partition.topic_id, partition.id.partition)
        segment, position, offset = self._read_to.get(place, ("", 0, 0))
        end = partition.high_watermark
        if offset >= end:
            return
        truth = self._truth.setdefault((partition.partition.topic_id, partition.id.partition), {})
        for name_there, file in sorted((n, f) for n, f in folder.live.items() if n.endswith(".log") and n >= segment):
            if name_there != segment:
                segment, position = name_there, 0
            assert isinstance(file, File)
            position, offset = self._compare(computer, name, segment, file.live, position, offset, end, truth)
        self._read_to[place] = (segment, position, offset)

    def _compare(
        self,
        computer: "Computer",
        name: Partition,
        segment: str,
        data: bytearray,
        position: int,
        offset: int,
        end: int,
        truth: dict[int, tuple[bytes, str]],
    ) -> tuple[int, int]:
        while position + HEADER_BYTES <= len(data):
            header = read_header(data, position)
            size = header.size
            if header.base_offset >= end or size < HEADER_BYTES or position + size > len(data):
                break
            if header.base_offset >= offset:
                self.compared += 1
                digest = hashlib.blake2b(memoryview(data)[position : position + size], digest_size=8).digest()
                known, whose = truth.setdefault(header.base_offset, (digest, computer.name))
                if known != digest and not computer.flipped_in(name, segment, position, position + size):
                    self._problem(
                        f"{name} offset {header.base_offset}: other bytes on {computer.name} (leader epoch "
                        f"{header.leader_epoch}) than {whose} had, below the high watermark {end}"
                    )
                offset = header.next_offset
            position += size
        return position, offset

    def _problem(self, text: str) -> None:
        self._world.trace.note(f"PROBLEM {text}")
        self.problems.append(f"S2 {text}")
