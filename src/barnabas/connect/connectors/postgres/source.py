"""PostgreSQL as a source: the rows that are there, then every change, each exactly once.

One split, "main": the replication slot is one stream. docs/connectors/postgres.md has the options and the guarantees;
capture/snapshot.py says why the snapshot and the stream fit together.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.connect.connectors.postgres.capture import opening
from barnabas.connect.connectors.postgres.capture import options as capture_options
from barnabas.connect.connectors.postgres.capture.connection import Server
from barnabas.connect.connectors.postgres.capture.reader import PostgresReader
from barnabas.connect.contract import Options, Position, Reader, Source

_NAME_MAX = 63  # the server cuts an application name there


class PostgresSource(Source):
    def __init__(self, name: str, options: Options) -> None:
        self._name = name
        self._options = capture_options.read(name, options)
        application = f"barnabas connect {name}".encode()[:_NAME_MAX].decode("utf-8", "ignore")
        self._server = Server(self._options.url, self._options.password, application)

    def splits(self) -> Sequence[str]:
        return ["main"]

    def open(self, split: str, position: Position | None) -> Reader:
        return PostgresReader(self._name, self._options, self._server, position)

    def remove(self) -> None:
        """For a connector that will not run again: drops the slot, which would hold the log for ever, and the
        publication, if their names are the connector's own."""
        opening.remove(self._server, self._options, self._name)
