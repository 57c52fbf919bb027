"""Records as rows of a DuckDB file: upserts by key, or every record appended; exactly once, because the next offset is
in the same transaction (relational/writer.py)."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec

from barnabas.connect.connectors.duckdb.file import DuckdbFile
from barnabas.connect.connectors.duckdb.tables import DIALECT
from barnabas.connect.connectors.relational.database import Owner
from barnabas.connect.connectors.relational.rules import Rules, TableOptions
from barnabas.connect.connectors.relational.writer import TableWriter
from barnabas.connect.contract import Options, Sink, Writer
from barnabas.connect.errors import BadOption
from barnabas.connect.options import read_options
from barnabas.connect.shapes import TakesShapes


class DuckdbSinkOptions(TableOptions, kw_only=True, forbid_unknown_fields=True):
    path: str
    memory: str = ""  # DuckDB's own default otherwise: 80 % of the machine's
    threads: Annotated[int, msgspec.Meta(ge=1, le=1000)] = 1
    release: bool = False


class DuckdbSink(TakesShapes, Sink):
    def __init__(self, name: str, given: Options) -> None:
        options = read_options("duckdb", DuckdbSinkOptions, given)
        path = Path(options.path).expanduser()
        if not options.path or options.path.startswith((":", "md:")) or "://" in options.path:
            raise BadOption(
                f"option 'path' of duckdb: {options.path!r} is not a file", "Rows have to outlast the process"
            )
        if not path.parent.is_dir():
            raise BadOption(f"option 'path' of duckdb: there is no folder {str(path.parent)!r}", "Create it")
        self._rules = Rules(name, options, DIALECT)
        self._file = DuckdbFile(path, options.memory, options.threads, options.release)

    def open(self, topic: str, partition: int) -> Writer:
        return TableWriter(self._file, self._rules, topic, partition, self.shapes)

    def reset(self, topic: str, partition: int, offset: int) -> None:
        self._file.reset(Owner(self._rules.connector, topic, partition), offset)

    def close(self) -> None:
        self._file.close()
