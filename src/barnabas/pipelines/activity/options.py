"""From what a person set (`--set window=12h`) to the rules of the pipeline."""

from __future__ import annotations

from barnabas.pipelines.activity.rules import Rules
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.framework.context import RunContext
from barnabas.pipelines.framework.spans import span_ms


def rules_of(context: RunContext) -> Rules:
    rules = Rules(*(span_ms(context.option(name), name) for name in ("window", "after", "late")))
    if rules.window_ms == 0:
        raise PipelineError("window must be longer than nothing: no job would ever be recommended")
    return rules
