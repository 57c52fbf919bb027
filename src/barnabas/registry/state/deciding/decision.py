"""What is to be appended for a request, and what it is answered with then."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.registry.state.records import Record


@dataclass(frozen=True, slots=True)
class Decision:
    """Without records the answer is known already."""

    answer: object
    records: tuple[Record, ...] = ()
