"""Folders are not flushed: new names do not survive a power loss."""

from barnabas.sim.bugs.base import Bug
from barnabas.sim.disk import SimDisk


def _make(right: object) -> object:
    return lambda self, path: None


BUG = Bug("folder-not-flushed", "the names of new files are not flushed", SimDisk, "sync_directory", _make)
