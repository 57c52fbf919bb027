"""What a crash may have left in a partition's folder, settled before anything is read (as Kafka's loader does).

- `.deleted`: was on its way out; gone now.
- `.cleaned`: a cleaning that did not finish; gone, the old segments are still there.
- `.swap`: a cleaning that did finish. It is put in place, and the segments it replaces go, whether or not the crash
  came before they were renamed. But a `.swap` at or above the lowest `.cleaned` is part of a set whose renaming was
  interrupted: it goes too (a set is renamed from its highest base offset down, so the lowest one tells that all are
  there).
- an index without its log is of no use and goes; `.tmp` files are writes that never became anything.
"""

from collections.abc import Callable

from barnabas.storage.disk import Disk
from barnabas.storage.walk import walk

SEGMENT_ENDS = (".log", ".index", ".timeindex")
_LEFT_OVER = (".deleted", ".tmp", ".cleaned", ".swap")


def base_offset_of(name: str) -> int | None:
    """The offset a segment file is named after, with whatever suffix it carries."""
    return int(name[:20]) if len(name) > 20 and name[20] == "." and name[:20].isdigit() else None


def settle(disk: Disk, directory: str, names: dict[str, int]) -> list[str]:
    """Clean up the folder; `names` (file name to size) is brought up to date. Gives what was done, for the report."""
    done: list[str] = []

    def remove(name: str, why: str) -> None:
        disk.unlink(f"{directory}/{name}")
        del names[name]
        done.append(f"removed {name}: {why}")

    left_over = sorted(name for name in names if name.endswith(_LEFT_OVER))
    unfinished = [base_offset_of(name) for name in left_over if name.endswith(".cleaned")]
    lowest_unfinished = min((base for base in unfinished if base is not None), default=None)
    for name in left_over:
        if name.endswith((".deleted", ".tmp")):
            remove(name, "left over")
        elif name.endswith(".cleaned"):
            remove(name, "a cleaning that did not finish")
        elif name.endswith(".swap") and lowest_unfinished is not None:
            base = base_offset_of(name)
            if base is not None and base >= lowest_unfinished:
                remove(name, "part of a swap that was interrupted")

    swaps = [name for name in left_over if name in names and name.endswith(".swap")]
    if swaps:
        _finish_swap(disk, directory, names, swaps, remove)
        done.append(f"put in place {', '.join(swaps)}")
        disk.sync_directory(directory)

    for name in sorted(name for name in names if name.endswith(SEGMENT_ENDS[1:])):
        if f"{name[:20]}.log" not in names and base_offset_of(name) is not None:
            remove(name, "an index without its log")
    return done


def _finish_swap(
    disk: Disk, directory: str, names: dict[str, int], swaps: list[str], remove: Callable[[str, str], None]
) -> None:
    logs = [name for name in swaps if name.endswith(".log.swap")]
    ranges = []
    for name in logs:
        base, size = int(name[:20]), names[name]
        path = f"{directory}/{name}"
        next_offset = base + 1
        file = disk.open(path)
        for step in walk(disk, file.fd, path, 0, size, lowest_offset=base):
            next_offset = step[3] + 1
        ranges.append((base, next_offset))
    if ranges:
        low, high = min(start for start, _ in ranges), max(end for _, end in ranges)
        for name in sorted(names):
            base_offset = base_offset_of(name)
            if base_offset is not None and low <= base_offset < high and name.endswith(SEGMENT_ENDS):
                remove(name, "replaced by a finished cleaning")
    for name in swaps:
        final = name.removesuffix(".swap")
        disk.rename(f"{directory}/{name}", f"{directory}/{final}")
        names[final] = names.pop(name)
