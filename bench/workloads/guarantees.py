"""What the stronger guarantees cost on the same server: idempotence beside a plain producer, read_committed beside not.

Both halves of a pair run one after the other in the same run, several times in turns; the figure is the ratio of their
medians. The topic that is read was written in transactions, one in ten of them aborted.
"""

from __future__ import annotations

import statistics
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from confluent_kafka import OFFSET_BEGINNING, TopicPartition

from .. import memory
from ..clients import blast, consumer, create_topic, delete_topic, payloads, producer, topic
from ..measures import Better, Measure
from ..options import Options
from ..servers import Server
from ..workload import RunResult, Workload

SIZE, RECORDS, TURNS, WAIT_S = 1024, 300_000, 4, 60
PER_TRANSACTION, ABORT_EACH = 1_000, 10


@dataclass(frozen=True, slots=True)
class GuaranteeCase:
    label: str


class Guarantees(Workload[GuaranteeCase]):
    name = "guarantees"
    title = "What guarantees cost"
    measures = (
        Measure("ratio", "records/s, with / without", "", Better.HIGHER, value_goal=0.95, comparable=False, digits=3),
    )

    def cases(self) -> Sequence[GuaranteeCase]:
        return [GuaranteeCase("idempotent producer"), GuaranteeCase("read_committed consumer")]

    def prepare(self, server: Server, case: GuaranteeCase, options: Options) -> None:
        if (server.name, "filled") not in self.state:
            self.state[server.name, "filled"] = create_topic(server.bootstrap)
            _fill(server.bootstrap, self.state[server.name, "filled"], options.count(RECORDS))

    def finish(self, server: Server) -> None:
        delete_topic(server.bootstrap, self.state[server.name, "filled"])

    def run(self, server: Server, case: GuaranteeCase, options: Options) -> RunResult:
        count = options.count(RECORDS)
        rates: dict[bool, list[float]] = {True: [], False: []}
        for turn in range(TURNS):
            for strong in (turn % 2 == 0, turn % 2 == 1):  # whoever is first may pay for cold memory
                if case.label.startswith("idempotent"):
                    rates[strong].append(_write(server, count, strong))
                else:
                    level = "read_committed" if strong else "read_uncommitted"
                    rates[strong].append(_read(server, self.state[server.name, "filled"], level))
        return {"ratio": round(statistics.median(rates[True]) / statistics.median(rates[False]), 4)}


def _write(server: Server, records: int, idempotent: bool) -> float:
    with topic(server.bootstrap) as name:
        client = producer(server.bootstrap, enable_idempotence=idempotent)
        client.list_topics(name, timeout=WAIT_S)
        memory.use_once(records * SIZE)
        begin = time.perf_counter()
        blast(client, name, payloads(SIZE), records)
        return records / (time.perf_counter() - begin)


def _fill(bootstrap: str, name: str, records: int) -> None:
    client = producer(bootstrap, transactional_id=f"bench-{uuid.uuid4().hex}")
    client.init_transactions(WAIT_S)
    for number in range(max(ABORT_EACH, records // PER_TRANSACTION)):
        client.begin_transaction()
        blast(client, name, payloads(SIZE), PER_TRANSACTION)
        if number % ABORT_EACH == ABORT_EACH - 1:
            client.abort_transaction(WAIT_S)
        else:
            client.commit_transaction(WAIT_S)


def _read(server: Server, name: str, level: str) -> float:
    """Offsets a second, so that what is left out at read_committed counts as read."""
    client = consumer(server.bootstrap, group_id="bench-unused", enable_auto_commit=False, isolation_level=level)
    _, end = client.get_watermark_offsets(TopicPartition(name, 0), timeout=WAIT_S)
    client.assign([TopicPartition(name, 0, OFFSET_BEGINNING)])
    begin, position = time.perf_counter(), 0
    while position < end:
        client.consume(20_000, 0.05)
        position = client.position([TopicPartition(name, 0)])[0].offset
    took = time.perf_counter() - begin
    client.close()
    return end / took
