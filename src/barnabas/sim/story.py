"""The story of what broke: what happened to the world, and to the one partition, group or transaction, in order."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.sim.world import World

_PARTITION = re.compile(r"\('([\w.-]+)', (\d+)\)")
_VALUE = re.compile(r"b'([^']+)'")
_LINES_MAX = 80


def tell(world: "World", problem: str) -> list[str]:
    """The world's own lines, with those of the partition and the value the problem names."""
    lines = [(float(line[:10]), line[11:]) for line in world.trace.lines if not line[11:].startswith("PROBLEM")]
    found = _PARTITION.search(problem)
    partition = (found[1], int(found[2])) if found else None
    values = {value.encode() for value in _VALUE.findall(problem)}
    for sent in world.history.sent:
        if sent.partition == partition and (not values or values & set(sent.values)):
            what = f"{sent.producer} sends {sent.values[0]!r}..{sent.values[-1]!r} to {sent.partition}"
            lines.append((sent.begun - 1000, f"{what}, {sent.attempts} times"))
            if sent.acked_at is not None:
                lines.append((sent.acked_at - 1000, f"   acknowledged at offset {sent.base_offset}"))
            elif sent.error:
                lines.append((sent.begun - 1000, f"   refused: {sent.error}"))
    for seen in world.history.seen:
        if seen.partition == partition and seen.value in values:
            lines.append((seen.at - 1000, f"{seen.reader} reads {seen.value!r} at offset {seen.offset}"))
    for transaction in world.history.transactions:
        if transaction.name in problem or any(item in transaction.values for item in _items(partition, values)):
            lines.append((transaction.begun - 1000, f"{transaction.name} begins; outcome: {transaction.outcome}"))
    lines.sort(key=lambda line: line[0])
    return [f"{at:10.4f} {text}" for at, text in lines[-_LINES_MAX:]]


def _items(partition: tuple[str, int] | None, values: set[bytes]) -> list[tuple[tuple[str, int], bytes]]:
    return [(partition, value) for value in values] if partition is not None else []
