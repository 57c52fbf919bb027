"""Work that takes longer than a request: it goes on when its page is closed, tells how far it is, and can be ended."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field

from barnabas.console.problems import NotFound, Problem

_AT_ONCE = 4
_KEPT = 50  # that have ended


@dataclass(slots=True)
class Job:
    id: int
    what: str
    done: int = 0
    share: float = 0.0
    state: str = "running"  # done, ended, failed
    problem: str = ""
    task: asyncio.Task[None] | None = field(default=None, repr=False)

    def shown(self) -> dict[str, object]:
        return {
            "id": self.id,
            "what": self.what,
            "done": self.done,
            "share": self.share,
            "state": self.state,
            "problem": self.problem,
        }


class Jobs:
    def __init__(self) -> None:
        self._jobs: dict[int, Job] = {}
        self._numbers = itertools.count(1)

    def start(self, what: str, work: AsyncGenerator[tuple[int, float], None]) -> Job:
        """`work` gives how many are done and which share, again and again."""
        if sum(each.state == "running" for each in self._jobs.values()) >= _AT_ONCE:
            raise Problem(f"{_AT_ONCE} jobs are running", "Wait for one, or end it.", 429)
        ended = [each.id for each in self._jobs.values() if each.state != "running"]
        for old in ended[: max(0, len(ended) - _KEPT)]:
            del self._jobs[old]
        number = next(self._numbers)
        job = self._jobs[number] = Job(number, what)
        job.task = asyncio.get_running_loop().create_task(self._run(job, work))
        return job

    async def _run(self, job: Job, work: AsyncGenerator[tuple[int, float], None]) -> None:
        try:
            async with aclosing(work) as steps:
                async for job.done, job.share in steps:
                    pass
            job.state, job.share = "done", 1.0
        except asyncio.CancelledError:
            job.state = "ended"
        except Exception as error:  # told on the page of whoever looks
            job.state, job.problem = "failed", str(error) or type(error).__name__

    @property
    def busy(self) -> bool:
        return any(each.state == "running" for each in self._jobs.values())

    def find(self, number: str) -> Job:
        found = self._jobs.get(int(number)) if number.isdecimal() and len(number) < 10 else None
        if found is None:
            raise NotFound("this job is not known any more")
        return found

    def end(self, job: Job) -> None:
        if job.task is not None:
            job.task.cancel()

    async def close(self) -> None:
        tasks = [each.task for each in self._jobs.values() if each.task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
