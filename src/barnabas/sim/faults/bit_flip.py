"""Bits flip in closed segments, or an index is spoilt, while the node is down.

An index may be spoilt at any time and nothing is lost. A flipped bit in a segment must be found by its CRC: such a
partition is noted as damaged, and its readers get an error or the truth, never the flipped bytes.
"""

from typing import TYPE_CHECKING

from barnabas.sim.faults.base import Fault
from barnabas.sim.platter import File, Folder
from barnabas.wire.batch import ATTRIBUTES_POSITION, iter_batches

if TYPE_CHECKING:
    from barnabas.sim.computer import Computer


class SpoiltIndex(Fault):
    name = "spoilt index"
    loses_files = False
    ends: tuple[str, ...] = (
        ".index",
    )  # a time index may lie as well, and retention believes it: see docs/reliability.md

    async def strike(self) -> None:
        if self.loses_files and len(self.world.computers) > 1 and not await self.all_in_sync():
            return
        self.computer.kill()
        found = self._files()
        for _ in range(self.random.randint(1, 3)):
            found = [item for item in found if item[2].live]
            if found:
                self._spoil(*self.random.choice(found))
        await self.restart(1.0)

    def _files(self) -> list[tuple[str, str, File]]:
        """(folder, name, file) of what may be spoilt."""
        found: list[tuple[str, str, File]] = []
        for name, folder in sorted(self.computer.platter.folder(str(self.computer.data_dir)).live.items()):
            if isinstance(folder, Folder) and not name.startswith("__"):
                files = sorted((n, f) for n, f in folder.live.items() if n.endswith(self.ends) and isinstance(f, File))
                found += [(name, n, f) for n, f in self._eligible(files) if f.live]
        return found

    def _eligible(self, files: list[tuple[str, File]]) -> list[tuple[str, File]]:
        return files

    def _spoil(self, folder: str, name: str, file: File) -> None:
        position = self.random.randrange(len(file.live))
        choice = self.random.random()
        if choice < 0.6:
            file.live[position] ^= 1 << self.random.randrange(8)
        elif choice < 0.8:
            del file.live[position:]
        else:
            file.live[position:] = bytes(len(file.live) - position)
        file.stable = bytearray(file.live)
        file.changes.clear()
        self.world.trace.note(f"{folder}/{name} is spoilt at {position}")


class BitFlip(SpoiltIndex):
    name = "bit flip in a closed segment"
    loses_files = True
    ends = (".log",)

    def _others(self) -> "list[Computer]":
        return [computer for computer in self.world.computers if computer is not self.computer]

    def _eligible(self, files: list[tuple[str, File]]) -> list[tuple[str, File]]:
        return files[:-1]  # the last one is the active segment: a cut there is a torn tail

    def _spoil(self, folder: str, name: str, file: File) -> None:
        # Where a CRC looks: the base offset and the leader epoch of a batch are Kafka's to set after the CRC was made.
        batches = [(at, header.size) for at, header in iter_batches(bytes(file.live))]
        if not batches:
            return
        start, size = self.random.choice(batches)
        topic, _, index = folder.rpartition("-")
        if any(flip[0] == (topic, int(index)) for other in self._others() for flip in other.flips):
            return  # nobody may have noticed the other one yet: two copies must not be bad in the same place
        position = self.random.randrange(start + ATTRIBUTES_POSITION, start + size)
        file.live[position] ^= 1 << self.random.randrange(8)
        file.stable = bytearray(file.live)
        file.changes.clear()
        self.computer.flips.append(((topic, int(index)), name, position))
        if len(self.world.computers) == 1:
            self.world.losses.damaged.add((topic, int(index)))  # nobody has what is lost here
        else:
            self.world.losses.struck(self.computer)
        self.world.trace.note(f"a bit flips in {folder}/{name} at {position}")
