"""A large compaction in a process of its own: cleaning opens every record, and would hold the interpreter of the loop.

The child gets the plan as JSON on its standard input, touches nothing but the partition's files, at low priority, and
answers on its standard output with what it wrote, or with the damage that stopped it.
"""

import asyncio
import os
import sys
from typing import TypeVar

import msgspec

from barnabas.model.processes import python_environment, python_module
from barnabas.storage.compaction.cleaner import CleaningPlan, CleaningResult
from barnabas.storage.damage import Damage, Damaged
from barnabas.storage.disk import Disk

_NICENESS = 10
_DAMAGED = 3  # the exit code that says that the answer is a Damage
T = TypeVar("T")


class CompactionFailed(Exception):
    """What the process said last."""


async def clean_in_process(plan: CleaningPlan) -> CleaningResult:
    """Raises Damaged where a batch fails its check, CompactionFailed with the child's last line for anything else."""
    process = await asyncio.create_subprocess_exec(
        *python_module(__name__),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=python_environment(),
    )
    try:
        answer, complaint = await process.communicate(to_json(plan))
    except asyncio.CancelledError:
        process.kill()
        await process.wait()
        raise
    if process.returncode == _DAMAGED:
        raise Damaged(from_json(answer, Damage))
    if process.returncode:
        last_line = complaint.decode(errors="replace").strip().rpartition("\n")[2]
        raise CompactionFailed(last_line or f"the compaction process ended with {process.returncode}")
    return from_json(answer, CleaningResult)


def to_json(value: object) -> bytes:
    return msgspec.json.encode(value, enc_hook=lambda disk: None)


def from_json(data: bytes, kind: type[T]) -> T:
    return msgspec.json.decode(data, type=kind, dec_hook=_disk)


def _disk(kind: type, value: object) -> Disk:
    """The one thing that does not travel: the other side has a disk of its own."""
    assert kind is Disk
    return Disk()


def _main() -> int:
    os.nice(_NICENESS)
    plan = from_json(sys.stdin.buffer.read(), CleaningPlan)
    try:
        answer, code = to_json(plan.run()), 0
    except Damaged as damaged:
        answer, code = to_json(damaged.damage), _DAMAGED
    sys.stdout.buffer.write(answer)
    return code


if __name__ == "__main__":
    sys.exit(_main())
