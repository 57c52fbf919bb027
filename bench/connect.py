"""Change capture of a PostgreSQL: our source beside Debezium on Kafka Connect. `python -m bench.connect`

One database and one node. Each connector has a replication slot that is older than the rows, so that all of them are in
the log. One connector after the other writes them to a topic of one partition, exactly once, in Debezium's envelope as
JSON without schemas. The first rows are for the virtual machine to warm up and do not count.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from confluent_kafka import Consumer, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from tests.connect.kafka_connect.changes import debezium
from tests.support.connect import ConnectWorker, all_records, written
from tests.support.kafka_connect import AS_SHIPPED, KafkaConnectWorker
from tests.support.members import QUIET
from tests.support.postgres import PASSWORD, Postgres
from tests.support.process import ServerProcess
from tests.support.servers import BarnabasNode

from .connect_figures import cpu_s, keep, load, peak_mb

_ROWS = "id bigint primary key, customer text not null, amount numeric(12,2) not null, at timestamptz not null"
_INSERTS = """
do $$ begin
    for n in 0 .. {last} loop
        insert into events select n * {size} + each, 'customer ' || each, 12.5 * each, now()
            from generate_series(1, {size}) as each;
        commit;
    end loop;
end $$
"""
_TRANSACTION_ROWS = 10
_LOOK_S = 0.05
_END_S = 1.5  # without a new record


@dataclass(frozen=True)
class Figures:
    first_record_s: float  # from the start of the process
    seconds: float
    cpu_s: float
    node_cpu_s: float
    database_cpu_s: float
    peak_mb: float


class Side:
    def __init__(self, name: str, worker: ServerProcess, node: ServerProcess, database: Postgres) -> None:
        self.name, self._worker, self._node, self._database = name, worker, node, database
        self.topic = f"{name}.public.events"
        address = {**QUIET, "bootstrap.servers": node.bootstrap}
        admin = AdminClient(address)
        admin.create_topics([NewTopic(self.topic, 1, 1)])[self.topic].result(20)
        self._consumer = Consumer({**address, "group.id": "bench", "isolation.level": "read_committed"})

    def make_slot(self) -> None:
        self._database.execute(f"create publication {self.name} for table events")
        self._database.execute("select pg_create_logical_replication_slot(%s, 'pgoutput')", [self.name])

    @contextmanager
    def _running(self) -> Iterator[None]:
        self._worker.start()
        try:
            if isinstance(self._worker, KafkaConnectWorker):
                self._worker.put(self.name, _debezium(self._database, self.name))
            yield
        finally:
            self._worker.stop()

    def _end(self) -> int:
        found = self._consumer.get_watermark_offsets(TopicPartition(self.topic, 0), 10, cached=False)
        return 0 if found is None else int(found[1])

    def _cpu(self) -> list[float]:
        return cpu_s(self._worker.pid, self._node.pid, self._database.pid)

    def measure(self, warm_up: int, events: int) -> Figures:
        began = time.perf_counter()
        with self._running():
            at, _ = self._await(1)
            first = at - began
            at_first, cpu = self._await(warm_up)
            at_last, cpu_last = self._await(warm_up + events, _END_S)
            used = [after - before for before, after in zip(cpu, cpu_last, strict=True)]
            found = Figures(first, at_last - at_first, used[0], used[1], used[2], peak_mb(self._worker.pid))
        count = len(all_records(self._node.bootstrap, self.topic))
        assert count == warm_up + events, f"{self.name}: {count} records"
        return found

    def _await(self, offsets: int, quiet_s: float = 0.0) -> tuple[float, list[float]]:
        """When so many were committed and for `quiet_s` no more came, and the CPU seconds used by then. Markers of
        transactions are offsets as well, but few."""
        last, at, cpu = 0, time.perf_counter(), self._cpu()
        while last < offsets or time.perf_counter() - at < quiet_s:
            if (end := self._end()) > last:
                last, at, cpu = end, time.perf_counter(), self._cpu()
            assert time.perf_counter() - at < 60, f"{self.name}: no record for a minute, {last} offsets"
            time.sleep(_LOOK_S)
        return at, cpu

    def close(self) -> None:
        self._consumer.close()


def _debezium(database: Postgres, name: str) -> dict[str, str]:
    plain = {"key.converter.schemas.enable": "false", "value.converter.schemas.enable": "false"}
    json = "org.apache.kafka.connect.json.JsonConverter"
    converters = {"key.converter": json, "value.converter": json, **plain}
    return {**debezium(database, name, "public.events"), **converters, "snapshot.mode": "no_data"}


def _definition(folder: Path, database: Postgres) -> Path:
    return written(
        folder / "ours.yaml",
        f"""
        name: ours
        from:
          postgres:
            url: {database.url()}
            password: ${{env:PGPASSWORD}}
            tables: [public.events]
            publication: ours
            slot: ours
            snapshot: never
            envelope: debezium
        to: {{topic: ours.public.events, partitions: 1}}
        """,
    )


def _told(name: str, events: int, found: Figures) -> str:
    return (
        f"{name:9} {events / found.seconds:10,.0f} {found.cpu_s:8.1f} {found.cpu_s / events * 1e6:9.0f}"
        f" {found.peak_mb:9.0f} {found.first_record_s:9.1f} {found.node_cpu_s:9.1f} {found.database_cpu_s:9.1f}"
    )


def _keep(load_before: float, heap: str, events: int, figures: list[Figures]) -> None:
    values: dict[str, float | str] = {"heap": heap, "events": events}
    for name, each in zip(("ours", "debezium"), figures, strict=True):
        values[f"{name}_events_s"] = round(events / each.seconds, -2)
        values[f"{name}_us"] = round(each.cpu_s / events * 1e6, 1)
        values[f"{name}_peak_mb"] = round(each.peak_mb)
        values[f"{name}_first_s"] = round(each.first_record_s, 1)
    one, other = figures
    values["times_events"] = round(other.seconds / one.seconds, 2)
    values["times_cpu"] = round(one.cpu_s / other.cpu_s, 2)
    values["times_memory"] = round(one.peak_mb / other.peak_mb, 2)
    keep("connect-capture", load_before, **values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=200_000)
    parser.add_argument("--warm-up", type=int, default=50_000)
    parser.add_argument("--heap", default="2G", help="of Kafka Connect; 2G is what its start script gives")
    parser.add_argument("--figures", action="store_true", help="keep them in docs/figures")
    told = parser.parse_args()
    before = load()
    print(f"load {before:.1f} on {os.cpu_count()} cores before", flush=True)
    with (
        tempfile.TemporaryDirectory(prefix="barnabas-connect-") as named,
        Postgres({"max_wal_size": "4GB"}) as database,
        BarnabasNode(Path(named) / "node") as node,
    ):
        folder = Path(named)
        database.execute(f"create table events ({_ROWS})")
        ours = ConnectWorker(node.bootstrap, folder / "ours.log", _definition(folder, database), PGPASSWORD=PASSWORD)
        java = [f"-Xmx{told.heap}" if each.startswith("-Xmx") else each for each in AS_SHIPPED]
        theirs = KafkaConnectWorker(folder / "worker", node.bootstrap, java=java)
        sides = [Side("ours", ours, node, database), Side("debezium", theirs, node, database)]
        for side in sides:
            side.make_slot()
        rows = told.warm_up + told.events
        database.execute(_INSERTS.format(last=rows // _TRANSACTION_ROWS - 1, size=_TRANSACTION_ROWS))
        heads = ("events/s", "CPU s", "us/event", "peak MB", "first s", "node CPU", "db CPU")
        print(f"{'':9} {heads[0]:>10} {heads[1]:>8} " + " ".join(f"{each:>9}" for each in heads[2:]), flush=True)
        figures = []
        for side in sides:
            figures.append(side.measure(told.warm_up, told.events))
            print(_told(side.name, told.events, figures[-1]), flush=True)
            side.close()
        one, other = figures
        print(
            f"ours beside Debezium: {other.seconds / one.seconds:.2f} x the events/s,"
            f" {one.cpu_s / other.cpu_s:.2f} x the CPU, {one.peak_mb / other.peak_mb:.2f} x the memory"
        )
        if told.figures:
            _keep(before, told.heap, told.events, figures)
    print(f"load {load():.1f} after")


if __name__ == "__main__":
    main()
