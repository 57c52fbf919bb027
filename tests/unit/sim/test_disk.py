"""The simulated disk keeps what was synced, and of the rest some, but never something else."""

from random import Random

import pytest

from barnabas.sim.disk import Platter, SimDisk
from barnabas.sim.process import Crashed, Process


def make() -> tuple[Platter, SimDisk, Process]:
    platter, process = Platter(Random(1)), Process("p", "h")
    disk = SimDisk(platter, process, lambda: 0)
    disk.make_directory("/d")
    disk.sync_directory("/")
    return platter, disk, process


def test_synced_bytes_and_names_survive_and_others_may_not() -> None:
    kept_names, kept_bytes = set(), set()
    for seed in range(50):
        platter, disk, _ = make()
        platter.random = Random(seed)
        file = disk.open("/d/safe", write=True, create=True)
        disk.write_all(file.fd, b"12345", 0)
        disk.sync(file.fd, "/d/safe")
        disk.sync_directory("/d")
        disk.write_all(file.fd, b"abcde", 5)
        disk.open("/d/new", write=True, create=True)
        platter.lose_power()
        after = SimDisk(platter, Process("q", "h"), lambda: 0)
        data = after.read_whole("/d/safe")
        assert data is not None and data.startswith(b"12345")
        assert b"12345abcde".startswith(data.rstrip(b"\0"))  # the length may be written before the bytes
        kept_bytes.add(len(data))
        kept_names.add(after.exists("/d/new"))
    assert kept_names == {True, False}
    assert {5, 10} <= kept_bytes and len(kept_bytes) > 3  # whole, nothing, and torn


def test_a_rename_is_whole_or_not_at_all() -> None:
    found = set()
    for seed in range(30):
        platter, disk, _ = make()
        platter.random = Random(seed)
        disk.write_whole("/d/f", b"old")
        disk.write_whole("/d/f", b"new", sync=False)
        platter.lose_power()
        found.add(SimDisk(platter, Process("q", "h"), lambda: 0).read_whole("/d/f"))
    assert b"old" in found and b"new" in found


def test_a_planned_crash_ends_the_process_and_shuts_its_door() -> None:
    platter, disk, process = make()
    file = disk.open("/d/f", write=True, create=True)
    platter.crash_after_changes = 1
    disk.write_all(file.fd, b"one", 0)
    with pytest.raises(Crashed):
        disk.write_all(file.fd, b"two", 3)
    assert process.crashed
    with pytest.raises(Crashed):
        disk.scan("/d")
