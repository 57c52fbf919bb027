"""Which small files to make one of.

A stream leaves a few small files with every batch. They are merged like the levels of a log-structured tree: files of
about the same size together, when there are enough of them. So a row is rewritten a few times in all, not once for
every batch, and the number of files in a folder grows with the logarithm of what is in it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from barnabas.pipelines.lake.log import DataFile

TARGET_BYTES = 128 * 1024 * 1024
FACTOR = 8  # a level holds files up to so many times as large as the level below
SMALLEST = 16 * 1024  # all below this is one level


def level_of(size: int) -> int:
    level, bound = 0, SMALLEST
    while size > bound:
        level, bound = level + 1, bound * FACTOR
    return level


def to_merge(files: Iterable[DataFile], enough: int = FACTOR, target: int = TARGET_BYTES) -> list[list[DataFile]]:
    """Groups of files of one folder and one level, each of at least `enough` and together at most about `target`."""
    levels: dict[tuple[tuple[tuple[str, str | None], ...], int], list[DataFile]] = defaultdict(list)
    for each in files:
        if each.size < target // 2:
            levels[tuple(sorted(each.partition_values.items())), level_of(each.size)].append(each)
    groups = []
    for _, held in sorted(levels.items(), key=lambda item: (str(item[0][0]), item[0][1])):
        if len(held) >= enough:
            groups += [group for group in _filled(sorted(held, key=lambda each: each.path), target) if len(group) > 1]
    return groups


def _filled(held: list[DataFile], target: int) -> list[list[DataFile]]:
    groups: list[list[DataFile]] = [[]]
    for each in held:
        if sum(other.size for other in groups[-1]) + each.size > target and groups[-1]:
            groups.append([])
        groups[-1].append(each)
    return groups
