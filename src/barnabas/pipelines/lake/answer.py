"""The right answer in plain Python: what a table must hold is what a consumer reads, each record once."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from barnabas.client.consumer.message import Message

Place = tuple[int, int]  # partition and offset


def rows(
    messages: Iterable[Message], logic: Callable[[Message], object] = lambda message: (message.key, message.value)
) -> dict[Place, tuple[int, object]]:
    """Each record by its place: its timestamp, and what the logic makes of it. Nothing (None) is left out."""
    found: dict[Place, tuple[int, object]] = {}
    for message in messages:
        place = message.partition, message.offset
        assert place not in found, f"a consumer gave {place} twice"
        made = logic(message)
        if made is not None:
            found[place] = message.timestamp_ms, made
    return found


def reloaded(
    before: dict[Place, tuple[int, object]],
    after: dict[Place, tuple[int, object]],
    inside: Callable[[Place, int], bool],
) -> dict[Place, tuple[int, object]]:
    """What a range loaded again must leave: `after` (the new logic on everything) inside, `before` elsewhere."""
    kept = {place: row for place, row in before.items() if not inside(place, row[0])}
    return kept | {place: row for place, row in after.items() if inside(place, row[0])}
