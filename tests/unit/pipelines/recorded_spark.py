"""A session that runs nothing and remembers what it was asked: formats, options, triggers, queries."""

from __future__ import annotations

from pathlib import Path
from typing import Any  # what Spark takes for an option, and its own classes, which are not started here


class Frame:
    """A reader's result, or a writer: whatever is called on it is remembered, in order."""

    def __init__(self, spark: RecordedSpark, source: str = "", options: dict[str, Any] | None = None) -> None:
        self.sparkSession = spark
        self.source, self.given = source, dict(options or {})
        self.mode = self.name = self.checkpoint = ""
        self.trigger_given: dict[str, Any] = {}

    # --- reading ----------------------------------------------------------------------------------------------------

    def format(self, source: str) -> Frame:
        self.source = source
        return self

    def options(self, **given: Any) -> Frame:
        self.given |= given
        return self

    def option(self, name: str, value: Any) -> Frame:
        if name == "checkpointLocation":
            self.checkpoint = value
        self.given[name] = value
        return self

    def load(self) -> Frame:
        self.sparkSession.loaded.append(self)
        return self

    # --- writing ----------------------------------------------------------------------------------------------------

    @property
    def writeStream(self) -> Frame:
        return Frame(self.sparkSession)

    @property
    def write(self) -> Frame:
        return Frame(self.sparkSession)

    def outputMode(self, mode: str) -> Frame:
        self.mode = mode
        return self

    def foreachBatch(self, work: Any) -> Frame:
        self.work = work
        return self

    def queryName(self, name: str) -> Frame:
        self.name = name
        return self

    def trigger(self, **given: Any) -> Frame:
        self.trigger_given = given
        return self

    def start(self) -> Query:
        query = Query(self, self.sparkSession.conf.settings["spark.sql.shuffle.partitions"])
        self.sparkSession.started.append(query)
        return query


class Query:
    def __init__(self, writer: Frame, shuffles: str) -> None:
        self.writer, self.shuffles = writer, shuffles
        self.isActive = True
        self.lastProgress: object = None
        self.recentProgress: list[Any] = []

    def exception(self) -> Exception | None:
        return None


class Conf:
    def __init__(self) -> None:
        self.settings = {"spark.sql.shuffle.partitions": "2"}

    def get(self, name: str, usual: str | None = None) -> str | None:
        return self.settings.get(name, usual)

    def set(self, name: str, value: str) -> None:
        self.settings[name] = value


class RecordedSpark:
    def __init__(self, ui: str | None = None) -> None:
        self.conf = Conf()
        self.loaded: list[Frame] = []
        self.started: list[Query] = []
        self.ui = ui

    @property
    def read(self) -> Frame:
        return Frame(self)

    @property
    def readStream(self) -> Frame:
        return Frame(self)

    @property
    def sparkContext(self) -> RecordedSpark:
        return self

    @property
    def uiWebUrl(self) -> str | None:
        if self.ui is None:
            raise RuntimeError("this session has no context")
        return self.ui


def with_metadata(checkpoint: Path, query_id: str) -> None:
    """As Spark writes it when a query starts."""
    checkpoint.mkdir(parents=True, exist_ok=True)
    (checkpoint / "metadata").write_text(f'{{"id": "{query_id}"}}')
