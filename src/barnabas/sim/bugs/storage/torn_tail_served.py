"""Recovery does not look at CRCs: a batch that was torn by a power loss is taken for good."""

from collections.abc import Callable
from functools import partial

from barnabas.sim.bugs.base import Bug
from barnabas.storage import recovery


def _make(right: Callable[..., object]) -> object:
    return partial(right, check_crc=False)


BUG = Bug("torn-tail-served", "a torn batch at the tail is served", recovery, "scan", _make)
