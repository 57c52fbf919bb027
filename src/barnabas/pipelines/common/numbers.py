"""Options that are numbers: read once, refused with one line when they are not."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from barnabas.pipelines.errors import PipelineError

if TYPE_CHECKING:
    from barnabas.pipelines.framework import RunContext


def positive(context: RunContext, name: str, at_most: float = math.inf) -> float:
    """The option as a number above zero."""
    text = context.option(name)
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not 0 < number <= at_most or math.isinf(number):
        bound = f" and at most {at_most:g}" if at_most < math.inf else ""
        raise PipelineError(f"{name}={text}: it must be a number above 0{bound}")
    return number


def whole(context: RunContext, name: str, at_least: int = 1) -> int:
    """The option as a whole number."""
    text = context.option(name)
    try:
        number = int(text)
    except ValueError:
        raise PipelineError(f"{name}={text}: it must be a whole number") from None
    if number < at_least:
        raise PipelineError(f"{name}={text}: it must be at least {at_least}")
    return number
