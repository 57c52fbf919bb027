"""What is to be appended for a request, what it is answered with then, and which decisions go together."""

from __future__ import annotations

from dataclasses import dataclass, field

from barnabas.registry.state.records import Record


@dataclass(frozen=True, slots=True)
class Decision:
    """Without records the answer is known already."""

    answer: object
    records: tuple[Record, ...] = ()


class Later(Exception):
    """Not with those that are decided already: it depends on one of them."""


@dataclass(slots=True)
class Batch:
    """Decisions that are appended in one transaction. The contents do not know of them yet, so each says what it
    depends on, and no two may depend on the same."""

    _taken: set[object] = field(default_factory=set)
    _ids: dict[str, int] = field(default_factory=dict)

    def take(self, *what: object) -> None:
        if not self._taken.isdisjoint(what):
            raise Later
        self._taken.update(what)

    def next_id(self, context: str, highest: int) -> int:
        found = self._ids[context] = max(self._ids.get(context, 0), highest) + 1
        return found
