"""Worker, node and target killed ten times each under load: every record once in the target."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from tests.connect.chaos.kills import ROUNDS, through_a_sink
from tests.support.connect import all_records
from tests.support.figures import Figure
from tests.support.opensearch import OpenSearchProcess
from tests.support.postgres import PASSWORD, Postgres
from tests.support.s3 import S3Process
from tests.support.servers import BarnabasNode

pytestmark = pytest.mark.long


def test_postgres(tmp_path: Path, figure: Figure) -> None:
    with Postgres() as database:
        definition = f"""
name: rows
from: {{topics: [numbers], format: json}}
to: {{postgres: {{url: "{database.url()}", password: "{PASSWORD}", mode: append, table: numbers}}}}
"""

        def found() -> list[int]:
            return [row[0] for row in database.execute("select n from numbers")]

        count = through_a_sink(tmp_path, definition, database, found, ROUNDS)
        figure("connect-kills", postgres_sink=count)


def test_duckdb(tmp_path: Path, figure: Figure) -> None:
    file = tmp_path / "warehouse.duckdb"
    definition = f"""
name: rows
from: {{topics: [numbers], format: json}}
to: {{duckdb: {{path: "{file}", mode: append, table: numbers, release: true}}}}
"""

    def found() -> list[int]:
        try:
            with duckdb.connect(str(file), read_only=True) as opened:
                return [row[0] for row in opened.execute("select n from numbers").fetchall()]
        except duckdb.Error:  # the worker has it open, or there is no table yet
            return []

    count = through_a_sink(tmp_path, definition, None, found, ROUNDS)
    figure("connect-kills", duckdb_sink=count)


def test_s3(tmp_path: Path, figure: Figure) -> None:
    server = S3Process(tmp_path / "s3")
    try:
        server.start()
        bucket = server.bucket("numbers")
        options = {**bucket.options, "object_seconds": 2}
        definition = f"""
name: objects
from: {{topics: [numbers], format: json}}
to: {{s3: {json.dumps(options)}}}
"""
        count = through_a_sink(tmp_path, definition, server, lambda: [row["n"] for row in bucket.all_rows()], ROUNDS)
        figure("connect-kills", s3_sink=count)
    finally:
        server.stop()


def test_opensearch(tmp_path: Path, figure: Figure) -> None:
    server = OpenSearchProcess(tmp_path / "opensearch")

    def found() -> list[int]:
        """All documents: one search gives at most 10,000."""
        numbers: list[int] = []
        server.ask("POST", "/numbers/_refresh")
        status, page = server.ask("POST", "/numbers/_search?scroll=1m", {"size": 10_000, "_source": ["n"]})
        while status == 200 and page["hits"]["hits"]:
            numbers += [each["_source"]["n"] for each in page["hits"]["hits"]]
            status, page = server.ask("POST", "/_search/scroll", {"scroll": "1m", "scroll_id": page["_scroll_id"]})
        return numbers

    try:
        server.start()
        definition = f"""
name: documents
from: {{topics: [numbers], format: json}}
to: {{opensearch: {{url: "{server.url}", index: numbers}}}}
"""
        count = through_a_sink(tmp_path, definition, server, found, ROUNDS)
        figure("connect-kills", opensearch_sink=count)
    finally:
        server.stop()


def test_another_cluster(tmp_path: Path, figure: Figure) -> None:
    other = BarnabasNode(tmp_path / "other")
    try:
        other.start()
        definition = f"""
name: away
from: {{topics: [numbers], format: bytes, key_format: bytes}}
to: {{kafka: {{bootstrap: "{other.bootstrap}"}}}}
"""

        def found() -> list[int]:
            return [json.loads(each.value() or b"")["n"] for each in all_records(other.bootstrap, "numbers")]

        count = through_a_sink(tmp_path, definition, other, found, ROUNDS)
        figure("connect-kills", kafka_sink=count)
    finally:
        other.stop()


def test_files(tmp_path: Path, figure: Figure) -> None:
    folder = tmp_path / "files"
    folder.mkdir()
    definition = f"""
name: lines
from: {{topics: [numbers], format: json}}
to: {{files: {{folder: "{folder}", compression: none}}}}
"""

    def found() -> list[int]:
        files = [each for each in folder.rglob("*") if each.is_file() and not each.name.startswith(".")]
        return [json.loads(line)["n"] for each in files for line in each.read_text().splitlines()]

    count = through_a_sink(tmp_path, definition, None, found, ROUNDS)
    figure("connect-kills", files_sink=count)
