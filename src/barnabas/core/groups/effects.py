"""What a step of the group coordinator asks its driver to do beside the contract's: compute in a thread.

A job is work too long for one turn of the loop (the assignment of a large group, a regular expression over thousands of
topics). The driver calls `compute` in another thread: it must only use values that nobody changes. Its result goes to
`GroupShard.finish`, a step like any other. A shard that is dropped meanwhile never sees it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from barnabas.core.coordinator import contract


@dataclass(frozen=True, slots=True)
class Job:
    compute: Callable[[], Any]  # what it gives is of the kind that `finish` takes; the jobs of a step differ
    finish: Callable[[Any], None]  # likewise


@dataclass(frozen=True, slots=True)
class Effects(contract.Effects):
    jobs: Sequence[Job] = field(default_factory=list)
