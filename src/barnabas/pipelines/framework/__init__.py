"""What a pipeline is, and everything it is given when it runs.

    from barnabas.pipelines.framework import Outcome, Pipeline, Record, RunContext, Topic

    class Greetings(Pipeline):
        name = "greetings"
        summary = "counts greetings by the minute"
        reads = (Topic("greetings", schema="who STRING NOT NULL, time TIMESTAMP NOT NULL"),)

        def now(self, context: RunContext) -> None: ...       # start streaming queries
        def later(self, context: RunContext) -> Outcome: ...  # work through history, leave something to look at

Nothing here imports Spark at the top, so `barnabas pipeline list` is quick and works without it.
"""

from barnabas.pipelines.framework.context import RunContext
from barnabas.pipelines.framework.outcome import Outcome
from barnabas.pipelines.framework.pipeline import Option, Pipeline, Topic
from barnabas.pipelines.framework.records import Record

__all__ = ["Option", "Outcome", "Pipeline", "Record", "RunContext", "Topic"]
