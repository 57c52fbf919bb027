"""The right answer in plain Python: the state that a commit log means, and whether it is whole."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from barnabas.pipelines.restore.checksum import Checksum
from barnabas.pipelines.restore.store import Change


@dataclass(frozen=True, slots=True)
class ShardCheck:
    """What a shard's newest record says it holds, and what was rebuilt."""

    shard: int
    expected: Checksum
    found: Checksum

    @property
    def whole(self) -> bool:
        return self.expected == self.found


def rebuilt(changes: Iterable[Change]) -> dict[bytes, bytes]:
    """The newest change of each key by its `seq`; without one, by its place in the log."""
    newest: dict[bytes, tuple[int, bytes | None]] = {}
    for change in changes:
        seq = int(change.headers.get("seq", b"-1"))
        if change.key not in newest or seq >= newest[change.key][0]:
            newest[change.key] = seq, change.value
    return {key: value for key, (_, value) in newest.items() if value is not None}


def checked(changes: list[Change]) -> list[ShardCheck]:
    """Each shard that the log speaks of, in order."""
    expected: dict[int, tuple[int, Checksum]] = {}
    where: dict[bytes, int] = {}
    for change in changes:
        headers = change.headers
        if "sum" not in headers:
            continue
        shard, seq = int(headers["shard"]), int(headers["seq"])
        where[change.key] = shard
        if seq >= expected.get(shard, (-1, Checksum()))[0]:
            expected[shard] = seq, Checksum.of(int(headers["keys"]), headers["sum"].decode())
    found: dict[int, Checksum] = {}
    for key, value in rebuilt(changes).items():
        if key in where:
            found[where[key]] = found.get(where[key], Checksum()).put(key, value)
    return [ShardCheck(shard, told, found.get(shard, Checksum())) for shard, (_, told) in sorted(expected.items())]
