"""What goes wrong in a pipeline, as one clear line."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator
from typing import ParamSpec, TypeVar

_HIDE_TRACEBACK = "SPARK_HIDE_TRACEBACK"

Arguments = ParamSpec("Arguments")
Answer = TypeVar("Answer")


class PipelineError(Exception):
    """One line for the person at the terminal: what happened, and the way out."""


def reason_first(method: Callable[Arguments, Answer]) -> Callable[Arguments, Answer]:
    """For what Spark calls in a Python process of its own: an error of ours is shown without a stack trace.

    Spark shows what that process says of the error, and that begins with the stack trace, so the reason would be the
    last of many lines. It leaves the trace out when this variable is set. The process ends after an error, so nobody
    else's trace is lost; an error that is not ours keeps its own.
    """

    @functools.wraps(method)
    def called(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Answer:
        try:
            answer = method(*args, **kwargs)
        except PipelineError:
            _hide_the_trace()
            raise
        return _watched(answer) if isinstance(answer, Iterator) else answer  # type: ignore[return-value]

    return called


def _watched(rows: Iterator[Answer]) -> Iterator[Answer]:
    """The same for what a generator meets while it is read."""
    try:
        yield from rows
    except PipelineError:
        _hide_the_trace()
        raise


def _hide_the_trace() -> None:
    """Only in a process that Spark started (`python -m pyspark...`); a user's own program is left as it is."""
    started_as = getattr(sys.modules.get("__main__"), "__spec__", None)
    if started_as is not None and started_as.name.startswith("pyspark."):
        os.environ[_HIDE_TRACEBACK] = "1"
