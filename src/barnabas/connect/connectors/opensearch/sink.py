"""The OpenSearch sink: documents by bulk requests, each record once however often it is written.

`write` returns when OpenSearch has acknowledged every record. There is no offset in the target: what comes again after
a crash is refused there by version (bulk.py) or written again as it was. Records that OpenSearch is too busy for are
sent again by themselves, after pauses that grow, and only then does the runtime hear of it.

What the version of a key's document cannot guard: after partitions were added to a topic, a key may come from another
partition, whose offsets are lower, and OpenSearch would keep the old document. `version: timestamp` compares times
instead. And OpenSearch forgets the version of a deleted document after `index.gc_deletes` (60 s): an older write that
was on its way for longer brings it back.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Sequence
from urllib.parse import quote
from zlib import crc32

import msgspec

from barnabas.connect.connectors.opensearch.answer import BUSY, FILTER, again, in_words, whole
from barnabas.connect.connectors.opensearch.bulk import NOT_JSON, Lines
from barnabas.connect.connectors.opensearch.client import Client, Reply, TimedOut
from barnabas.connect.connectors.opensearch.options import Settings, read_settings
from barnabas.connect.contract import Delivered, Options, Rejected, Sink, Writer
from barnabas.connect.errors import Refused, Unavailable

PAUSE_FIRST_S, PAUSE_MOST_S = 0.1, 5.0
SERVER_WAITS = 0.5  # of our own timeout: OpenSearch says what is wrong with a shard before we give up


class OpensearchSink(Sink):
    def __init__(self, name: str, options: Options) -> None:
        self.name = name
        self._settings = read_settings(options)
        self._typed: bool | None = None
        self._lock = threading.Lock()

    def open(self, topic: str, partition: int) -> Writer:
        client = Client(self._settings, crc32(f"{topic}-{partition}".encode()))
        try:
            with self._lock:
                if self._typed is None:
                    self._typed = _wants_type(client)
            return OpensearchWriter(self._settings, client, Lines(self._settings, topic, self._typed))
        except BaseException:
            client.close()
            raise


class About(msgspec.Struct):
    """What `GET /` says."""

    class Version(msgspec.Struct):
        number: str = ""
        distribution: str = "elasticsearch"

    version: Version = msgspec.field(default_factory=Version)


def _wants_type(client: Client) -> bool:
    """Whether this is Elasticsearch 6, whose bulk requests name a type. Says at once when the login is wrong."""
    try:
        reply = client.request("GET", "/")
    except TimedOut as problem:
        raise Unavailable(f"opensearch: {problem}") from None
    _check_login(reply)
    if reply.status != 200:
        return False  # somebody who may write need not be allowed to ask
    try:
        about = msgspec.json.decode(reply.body, type=About).version
    except msgspec.DecodeError:
        raise Unavailable(f"{reply.node} is no OpenSearch: its answer is not JSON", "Check 'url'") from None
    return about.distribution == "elasticsearch" and about.number.startswith("6.")


def _check_login(reply: Reply) -> None:
    if reply.status == 401:
        raise Unavailable(
            f"opensearch at {reply.node} refuses the login (401)", "Check 'username' and 'password', or 'api_key'"
        )


class OpensearchWriter(Writer):
    def __init__(self, settings: Settings, client: Client, lines: Lines) -> None:
        self._options, self._client, self._lines = settings.options, client, lines
        self._bytes_max = settings.options.batch_bytes  # less, once a node said that it was too much
        server_s = max(1, int(settings.options.timeout_seconds * SERVER_WAITS))
        self._path = f"/_bulk?filter_path={FILTER}&timeout={server_s}s"
        if settings.options.pipeline:
            self._path += f"&pipeline={quote(settings.options.pipeline, safe='')}"

    def write(self, records: Sequence[Delivered], next_offset: int) -> Sequence[Rejected]:
        rejected: list[Rejected] = []
        batch: list[Delivered] = []
        lines: list[bytes] = []
        size, of, most = 0, self._lines.of, self._options.batch_records
        for record in records:
            try:
                line = of(record)
            except NOT_JSON as problem:
                rejected.append(Rejected(record, f"not written as JSON: {problem}"))
                continue
            if line is None:
                continue
            if batch and (size + len(line) > self._bytes_max or len(batch) == most):
                self._deliver(batch, lines, rejected)
                batch, lines, size = [], [], 0
            batch.append(record)
            lines.append(line)
            size += len(line)
        if batch:
            self._deliver(batch, lines, rejected)
        return rejected

    def _deliver(self, records: list[Delivered], lines: list[bytes], rejected: list[Rejected]) -> None:
        """Until every record is acknowledged or rejected."""
        pause, until = PAUSE_FIRST_S, time.monotonic() + self._options.retry_seconds
        while records:
            try:
                reply = self._client.request("POST", self._path, b"".join(lines))
                if reply.status == 413:
                    self._in_halves(records, lines, rejected)
                    return
                places, why = self._understood(reply, records, rejected)
            except TimedOut as problem:
                places, why = list(range(len(records))), str(problem)
            if not places:
                return
            if len(places) < len(records):  # it takes some: no reason to wait longer each time
                pause, until = PAUSE_FIRST_S, time.monotonic() + self._options.retry_seconds
            records, lines = [records[each] for each in places], [lines[each] for each in places]
            if time.monotonic() + pause > until:
                raise Unavailable(f"opensearch at {self._client.node} is busy: {why}", "It is tried again")
            time.sleep(pause * random.uniform(0.8, 1.2))  # several writers were told at the same moment
            pause = min(2 * pause, PAUSE_MOST_S)

    def _understood(self, reply: Reply, records: list[Delivered], rejected: list[Rejected]) -> tuple[list[int], str]:
        if reply.status == 200:
            return again(reply.body, records, rejected, self._options.index)
        _check_login(reply)
        error = whole(reply.body)
        if reply.status in BUSY and error.type != "cluster_block_exception":
            return list(range(len(records))), f"{reply.status} {in_words(error)}"
        problem = f"opensearch at {reply.node} answers {reply.status}: {in_words(error)}"
        if reply.status == 400:
            raise Refused(problem)
        if error.type == "cluster_block_exception":
            raise Unavailable(problem, "Remove the block (cluster.blocks) or free disk space")
        if reply.status == 403:
            raise Unavailable(problem, "Give the user the right to write to the index and to create it")
        raise Unavailable(problem)

    def _in_halves(self, records: list[Delivered], lines: list[bytes], rejected: list[Rejected]) -> None:
        size = sum(map(len, lines))
        if len(records) == 1:
            reason = f"opensearch refuses it: {size} bytes are more than http.max_content_length"
            rejected.append(Rejected(records[0], reason))
            return
        self._bytes_max = min(self._bytes_max, max(size // 2, 1))
        middle = len(records) // 2
        self._deliver(records[:middle], lines[:middle], rejected)
        self._deliver(records[middle:], lines[middle:], rejected)

    def close(self) -> None:
        self._client.close()
