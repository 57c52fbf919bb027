"""A planted bug: a mistake somebody could make in the node's code, put in for the length of one simulated run.

What makes a run fail is to be the mistake the bug stands for. A bug whose code no longer fits the node (a parameter was
added, an attribute renamed) raises a TypeError or the like, and every run with it fails: that shows nothing, so such a
run ends with BrokenBug.
"""

import functools
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from types import FunctionType, ModuleType

_MISFITS = (TypeError, AttributeError, NameError, ImportError)
_seen: list[tuple[str, str]] = []  # the file that raised it, and what, since a bug was planted


class BrokenBug(Exception):
    """The code of the bug itself failed."""


def note_error(error: BaseException | None) -> None:
    """Told of every error that a run meets: remembers those that code raises by not fitting other code."""
    if not isinstance(error, _MISFITS) or error.__traceback__ is None:
        return
    innermost = error.__traceback__
    while innermost.tb_next is not None:
        innermost = innermost.tb_next
    code = innermost.tb_frame.f_code
    _seen.append((code.co_filename, f"{code.co_name}, line {innermost.tb_lineno}: {error!r}"))


@dataclass(frozen=True, slots=True)
class Bug:
    name: str
    story: str
    target: type | ModuleType
    attribute: str
    make: Callable[..., object]  # the wrong one, from the right one; each declares the type of what it is given
    nodes: int = 1  # how many nodes it takes to matter
    scenario: str = ""  # the targeted scenario that reaches it (scenarios/targeted.py); "": the general one does

    @contextmanager
    def planted(self) -> Iterator[None]:
        above = self.target.__mro__ if isinstance(self.target, type) else (self.target,)
        owner = next(place for place in above if self.attribute in place.__dict__)
        right = owner.__dict__[self.attribute]
        _seen.clear()
        setattr(owner, self.attribute, _watched(self.make(right)))
        try:
            yield
        finally:
            setattr(owner, self.attribute, right)
        own = [what for file, what in _seen if file in (inspect.getfile(self.make), __file__)]
        if own:
            raise BrokenBug(f"{self.name}: {own[0]}")


def _watched(wrong: object) -> object:
    """Notes what `wrong` raises when it is called, for the node may catch it. What it leaves behind (callbacks,
    coroutines) is noted where it ends up: in the log, or in the loop."""
    if not isinstance(wrong, FunctionType):
        return wrong

    @functools.wraps(wrong)
    def call(*args: object, **named: object) -> object:
        try:
            return wrong(*args, **named)
        except _MISFITS as error:
            note_error(error)
            raise

    return call
