"""What a simulated disk holds: files and folders, each as it is in the page cache and as it is on the platter.

A write changes the cache and is remembered until a sync moves it to the platter. Names are the same: making, renaming
and removing a name is an operation on its folder, safe once the folder was synced. A power loss keeps, of what was not
synced, some of it: of a file any part of its writes, the last ones perhaps torn; of a folder the first so many of its
operations, for file systems journal those in order.
"""

from random import Random

Change = tuple[int, bytes] | int  # (position, bytes) or a new size


class File:
    __slots__ = ("changes", "live", "locked_by", "modified_ms", "reserved_bytes", "stable")

    def __init__(self) -> None:
        self.live = bytearray()
        self.stable = bytearray()
        self.changes: list[Change] = []
        self.modified_ms = 0
        self.locked_by: object = None
        self.reserved_bytes = 0

    def write(self, position: int, data: bytes) -> None:
        _apply(self.live, (position, data))
        self.changes.append((position, data))

    def truncate(self, size: int) -> None:
        _apply(self.live, size)
        self.changes.append(size)

    def sync(self) -> None:
        for change in self.changes:
            _apply(self.stable, change)
        self.changes.clear()

    def lose_power(self, random: Random) -> None:
        changes, self.changes = self.changes, []
        if changes:
            if random.random() < 0.5:  # written back in order up to some moment
                kept = changes[: random.randint(0, len(changes))]
            else:  # or page by page, in any order
                share = random.random()
                kept = [change for change in changes if random.random() < share]
            for number, change in enumerate(kept):
                if not isinstance(change, int) and (number == len(kept) - 1 or random.random() < 0.05):
                    position, data = change
                    if random.random() < 0.7:
                        change = (position, _torn(data, random))
                _apply(self.stable, change)
        self.live = bytearray(self.stable)


class Folder:
    __slots__ = ("changes", "live", "stable")

    def __init__(self) -> None:
        self.live: dict[str, File | Folder] = {}
        self.stable: dict[str, File | Folder] = {}
        self.changes: list[tuple[str | None, str | None, File | Folder | None]] = []  # (gone, come, what came)

    def put(self, name: str, what: "File | Folder") -> None:
        self._change(None, name, what)

    def remove(self, name: str) -> None:
        self._change(name, None, None)

    def rename(self, old: str, new: str) -> None:
        self._change(old, new, self.live[old])

    def _change(self, gone: str | None, come: str | None, what: "File | Folder | None") -> None:
        change = (gone, come, what)
        _rename(self.live, change)
        self.changes.append(change)

    def sync(self) -> None:
        for change in self.changes:
            _rename(self.stable, change)
        self.changes.clear()

    def lose_power(self, random: Random) -> None:
        for change in self.changes[: random.randint(0, len(self.changes))]:
            _rename(self.stable, change)
        self.changes.clear()
        self.live = dict(self.stable)
        for _, inner in sorted(self.live.items()):
            inner.lose_power(random)


def _torn(data: bytes, random: Random) -> bytes:
    """The beginning of a write. The file ends there, or, where the file system had journaled the new size before the
    data was written, it is as long as it should be and zeros follow."""
    kept = data[: random.randint(0, len(data))]
    return kept if random.random() < 0.5 else kept + bytes(len(data) - len(kept))


def _apply(data: bytearray, change: Change) -> None:
    if isinstance(change, int):
        if change <= len(data):
            del data[change:]
        else:
            data.extend(bytes(change - len(data)))
        return
    position, new = change
    if position > len(data):
        data.extend(bytes(position - len(data)))
    data[position : position + len(new)] = new


def _rename(names: "dict[str, File | Folder]", change: "tuple[str | None, str | None, File | Folder | None]") -> None:
    gone, come, what = change
    if gone is not None:
        names.pop(gone, None)
    if come is not None and what is not None:
        names[come] = what
