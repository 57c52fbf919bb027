"""A planted bug: a mistake somebody could make in the node's code, put in for the length of one simulated run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Bug:
    name: str
    story: str
    target: Any  # a class or a module
    attribute: str
    make: Callable[[Any], Any]  # the wrong one, from the right one
    nodes: int = 1  # how many nodes it takes to matter
    scenario: str = ""  # the targeted scenario that reaches it (targeted.py); "": the general one does

    @contextmanager
    def planted(self) -> Iterator[None]:
        above = getattr(self.target, "__mro__", (self.target,))
        owner = next(place for place in above if self.attribute in place.__dict__)
        right = owner.__dict__[self.attribute]
        setattr(owner, self.attribute, self.make(right))
        try:
            yield
        finally:
            setattr(owner, self.attribute, right)
