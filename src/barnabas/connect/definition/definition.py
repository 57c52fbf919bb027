"""A connector's definition. Secrets stay references (`${env:NAME}`) in it; a worker resolves them when it starts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeVar

import msgspec

from barnabas.connect.contract import Options, Sink, Source
from barnabas.connect.errors import BadOption

Made = TypeVar("Made")
Engine = Literal["process", "spark"]
OnError = Literal["dead-letter", "stop"]

GROUP_PREFIX = "connect-"
POSITIONS_SUFFIX = ".positions"
DEAD_SUFFIX = ".dead"
REDRIVE_SUFFIX = ".redrive"


class Format(msgspec.Struct, frozen=True, kw_only=True):
    """How keys and values stand in records."""

    key: str = "auto"  # auto: text and bytes as they are, structures as JSON
    value: str = "auto"
    registry: str = ""
    key_schema: str = ""  # a file, or the text of a schema; empty: the newest version of the subject
    value_schema: str = ""


class Definition(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    side: Literal["source", "sink"]
    connector: str
    options: Options = {}  # the connector's own Options class gives them types
    topic: str = ""  # of a source: a name, or a template with {table}, {schema} ... of the connector
    topics: tuple[str, ...] = ()  # of a sink; one that begins with ^ is a regular expression
    partitions: int = 0  # of a topic that a source makes; 0: what the cluster makes by default
    start: Literal["earliest", "latest"] = "earliest"  # of a sink that has no offsets yet
    format: Format = Format()
    transform: tuple[Options, ...] = ()
    engine: Engine = "process"
    tasks: int = 1  # of a sink on one worker: members of its group; on Spark: tasks at a time, at most
    spark: Options = {}  # spark/settings.py reads them
    errors: OnError = "dead-letter"
    batch: int = 5000  # records in one write, or one read
    commit_ms: int = 100  # a source's transaction is open no longer than about this

    @property
    def group(self) -> str:
        return GROUP_PREFIX + self.name

    @property
    def positions_topic(self) -> str:
        return self.name + POSITIONS_SUFFIX

    @property
    def dead_topic(self) -> str:
        return self.name + DEAD_SUFFIX

    @property
    def redrive_topic(self) -> str:
        return self.name + REDRIVE_SUFFIX

    def source(self) -> Source:
        """With secrets resolved. Raises BadOption."""
        from barnabas.connect.connectors.table import source_class
        from barnabas.connect.definition.references import resolved

        assert self.side == "source"
        if self.connector == "python":
            from barnabas.connect.python_functions import function_source

            return function_source(self.name, resolved(self.options))
        return _made(source_class(self.connector), self.name, resolved(self.options))

    def sink(self) -> Sink:
        from barnabas.connect.connectors.table import sink_class
        from barnabas.connect.definition.references import resolved

        assert self.side == "sink"
        if self.connector == "python":
            from barnabas.connect.python_functions import function_sink

            return function_sink(self.name, resolved(self.options))
        return _made(sink_class(self.connector), self.name, resolved(self.options))


def _made(kind: Callable[[str, Options], Made], name: str, options: Options) -> Made:
    try:
        return kind(name, options)
    except BadOption as problem:
        raise BadOption(f"connector {name}: {problem.message}", problem.way_out) from None
