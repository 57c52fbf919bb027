"""What can happen to the files of a node while it is down."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

Edit = Callable[[Path, str], None]
"""Of the data folder of a node and the name of a partition's folder in it."""


def _segments(data: Path, partition: str) -> list[Path]:
    return sorted((data / partition).glob("*.log"))


def flipped_bit(data: Path, partition: str) -> None:
    """In a segment that was closed long ago."""
    _flip(_segments(data, partition)[0])


def flipped_bit_at_the_end(data: Path, partition: str) -> None:
    _flip(next(path for path in reversed(_segments(data, partition)) if path.stat().st_size))


def _flip(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0x10
    path.write_bytes(content)


def truncated_segment(data: Path, partition: str) -> None:
    """The newest one ends in the middle of a batch."""
    path = next(path for path in reversed(_segments(data, partition)) if path.stat().st_size)
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size * 2 // 3)


def truncated_closed_segment(data: Path, partition: str) -> None:
    path = _segments(data, partition)[0]
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size // 2)


def torn_write(data: Path, partition: str) -> None:
    """A batch of which only the beginning was written, and zeroes where the rest should be."""
    segments = _segments(data, partition)
    first = segments[0].read_bytes()[:40]
    with segments[-1].open("ab") as file:
        file.write(first + bytes(4096))


def stale_indexes(data: Path, partition: str) -> None:
    """Those of the first segment stand in the place of all others."""
    for kind in ("index", "timeindex"):
        paths = sorted((data / partition).glob(f"*.{kind}"))
        for path in paths[1:]:
            shutil.copyfile(paths[0], path)


def spoilt_indexes(data: Path, partition: str) -> None:
    for path in (data / partition).glob("*index"):
        path.write_bytes(bytes(255 - byte for byte in path.read_bytes()))


def spoilt_snapshots(data: Path, partition: str) -> None:
    for path in (data / partition).glob("*.snapshot"):
        path.write_bytes(path.read_bytes()[:-3] + b"???")


def spoilt_checkpoints(data: Path, partition: str) -> None:
    for path in [*data.glob("*checkpoint"), *(data / partition).glob("*checkpoint")]:
        path.write_bytes(b"nonsense\n")


def stale_checkpoints(data: Path, partition: str) -> None:
    """As they were before any record was written."""
    for path in [*data.glob("*checkpoint"), *(data / partition).glob("*checkpoint")]:
        path.write_bytes(b"0\n0\n")


def missing_folder(data: Path, partition: str) -> None:
    shutil.rmtree(data / partition)


def empty_disk(data: Path, partition: str) -> None:
    for inside in data.iterdir():
        shutil.rmtree(inside) if inside.is_dir() else inside.unlink()


def torn_metadata(data: Path, partition: str) -> None:
    """The last record of the metadata log was not written whole."""
    path = _segments(data, "__cluster_metadata-0")[-1]
    with path.open("r+b") as file:
        file.truncate(path.stat().st_size - 7)


EDITS: dict[str, Edit] = {
    edit.__name__.replace("_", " "): edit
    for edit in (
        flipped_bit,
        flipped_bit_at_the_end,
        truncated_segment,
        truncated_closed_segment,
        torn_write,
        stale_indexes,
        spoilt_indexes,
        spoilt_snapshots,
        spoilt_checkpoints,
        stale_checkpoints,
        missing_folder,
        empty_disk,
        torn_metadata,
    )
}
