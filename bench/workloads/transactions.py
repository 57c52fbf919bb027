"""Transactions of 100 and of 10,000 records of 1 KiB: records/s, server CPU, and what a commit costs.

Every record of a transaction is acknowledged before its commit is timed, so a commit is the coordinator's work alone:
the decision written (and, on our side, flushed) and the answer on its way.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from ..clients import payloads, producer, topic
from ..measures import Better, Measure
from ..meter import Meter
from ..options import Options
from ..servers import Server
from ..stats import latency_summary
from ..workload import RunResult, Workload

SIZE = 1024
WAIT_S = 60


@dataclass(frozen=True, slots=True)
class TransactionCase:
    records: int
    transactions: int

    @property
    def label(self) -> str:
        return f"{self.records:,} records of 1 KiB a transaction"


class Transactions(Workload[TransactionCase]):
    name = "transactions"
    title = "Transactions, librdkafka"
    measures = (
        Measure("records_per_s", "records/s", "/s", Better.HIGHER, ratio_goal=1.0, digits=0),
        Measure("cpu_s_per_million", "server CPU per million", "s", Better.LOWER, ratio_goal=0.6),
        Measure("commit_p50_ms", "commit, p50", "ms", Better.LOWER, ratio_goal=0.5),
        Measure("commit_p99_ms", "commit, p99", "ms", Better.LOWER, ratio_goal=0.5),
    )

    def cases(self) -> Sequence[TransactionCase]:
        return [TransactionCase(100, 400), TransactionCase(10_000, 20)]

    def run(self, server: Server, case: TransactionCase, options: Options) -> RunResult:
        client = producer(server.bootstrap, transactional_id=f"bench-{uuid.uuid4().hex}", linger_ms=1)
        client.init_transactions(WAIT_S)
        values = payloads(SIZE)
        commits: list[float] = []
        count = max(5, options.count(case.transactions))
        with topic(server.bootstrap) as name:
            self._one(client, name, values, case.records, [])  # the partition and the coordinator are met before
            meter = Meter(server)
            for _ in range(count):
                self._one(client, name, values, case.records, commits)
            result = meter.stop(records=count * case.records, record_bytes=SIZE)
        return result | latency_summary(commits, "commit")

    @staticmethod
    def _one(client: object, name: str, values: list[bytes], records: int, commits: list[float]) -> None:
        client.begin_transaction()  # type: ignore[attr-defined]
        for number in range(records):
            client.produce(name, values[number % len(values)])  # type: ignore[attr-defined]
        if client.flush(WAIT_S):  # type: ignore[attr-defined]
            raise TimeoutError("a transaction's records are not acknowledged")
        begin = time.perf_counter()
        client.commit_transaction(WAIT_S)  # type: ignore[attr-defined]
        commits.append((time.perf_counter() - begin) * 1e3)
