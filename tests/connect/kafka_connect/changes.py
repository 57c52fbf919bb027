"""A table under constant change, with a note of every change, and the same history as a topic of Debezium has it."""

from __future__ import annotations

import json
import random
import threading
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

import psycopg

from tests.support.connect import all_records
from tests.support.kafka_connect import JDBC_SINK, POSTGRES_SOURCE
from tests.support.postgres import PASSWORD, Postgres

TABLE = "create table orders (id int primary key, customer text not null, amount bigint not null, note text)"

Row = tuple[int, str, int, str | None]


@dataclass(frozen=True, slots=True)
class Change:
    op: str  # c, u, d as Debezium names them; r for a row of the snapshot
    row: Row | None  # after the change


class Changes:
    """A thread that inserts, updates and deletes, a few rows in each transaction. An id is used once and `amount`
    counts the changes of its row, so that any event of the topic is one change of `history` and no other."""

    def __init__(self, database: Postgres, name: str = "postgres", pause_seconds: float = 0.01, seed: int = 1) -> None:
        self.history: dict[int, list[Change]] = defaultdict(list)
        self.count = 0
        self._connection = database.connect(name)
        self._rng, self._pause = random.Random(seed), pause_seconds
        self._rows: dict[int, Row] = {}
        self._next_id = 1
        self._stop = threading.Event()
        self._problem: BaseException | None = None
        self._thread = threading.Thread(target=self._run, daemon=True)

    def start(self) -> None:
        """Change something every `pause_seconds` from now on."""
        self._thread.start()

    def stop(self) -> None:
        self._end()
        if self._problem is not None:
            raise self._problem

    def __enter__(self) -> Changes:
        return self

    def __exit__(self, *_: object) -> None:
        self._end()
        self._connection.close()

    def _end(self) -> None:
        self._stop.set()
        if self._thread.ident is not None:
            self._thread.join(30)

    @property
    def last_id(self) -> int:
        return self._next_id - 1

    def _run(self) -> None:
        try:
            while not self._stop.wait(self._pause):
                self.transaction(self._rng.randint(1, 5))
        except BaseException as problem:  # of any kind: raised by stop() in the test's own thread
            self._problem = problem

    def transaction(self, changes: int) -> None:
        with self._connection.transaction(), self._connection.cursor() as cursor:
            for _ in range(changes):
                self._change(cursor)

    def _change(self, cursor: psycopg.Cursor) -> None:
        kind = self._rng.random()
        if kind < 0.5 or not self._rows:
            row: Row = (self._next_id, f"customer {self._rng.randrange(1000)}", 1, self._note())
            self._next_id += 1
            cursor.execute("insert into orders values (%s, %s, %s, %s)", row)
            self._keep("c", row)
            return
        number = self._rng.choice(list(self._rows)[-200:])
        _, customer, amount, _ = self._rows[number]
        if kind < 0.8:
            row = (number, customer, amount + 1, self._note())
            cursor.execute("update orders set amount = %s, note = %s where id = %s", (row[2], row[3], number))
            self._keep("u", row)
        else:
            cursor.execute("delete from orders where id = %s", (number,))
            del self._rows[number]
            self.history[number].append(Change("d", None))
            self.count += 1

    def _note(self) -> str | None:
        return self._rng.choice((None, "", "naïve 😀", "quotes \"' and \\", "x" * 50))

    def _keep(self, op: str, row: Row) -> None:
        self._rows[row[0]] = row
        self.history[row[0]].append(Change(op, row))
        self.count += 1


def debezium(database: Postgres, prefix: str, tables: str, name: str = "postgres") -> dict[str, str]:
    """A source of Debezium with exactly-once delivery, as the documentation has it."""
    return {
        "connector.class": POSTGRES_SOURCE,
        "tasks.max": "1",
        "exactly.once.support": "required",
        "database.hostname": "127.0.0.1",
        "database.port": str(database.port),
        "database.user": "postgres",
        "database.password": PASSWORD,
        "database.dbname": name,
        "plugin.name": "pgoutput",
        "slot.name": prefix,
        "publication.name": prefix,
        "publication.autocreate.mode": "filtered",
        "topic.prefix": prefix,
        "table.include.list": tables,
    }


def jdbc(database: Postgres, topics: str, table: str, name: str) -> dict[str, str]:
    """A sink of Debezium that keeps a table as the topic says, and sees committed records only."""
    return {
        "connector.class": JDBC_SINK,
        "tasks.max": "2",
        "topics": topics,
        "connection.url": f"jdbc:postgresql://127.0.0.1:{database.port}/{name}",
        "connection.username": "postgres",
        "connection.password": PASSWORD,
        "insert.mode": "upsert",
        "delete.enabled": "true",
        "primary.key.mode": "record_key",
        "schema.evolution": "basic",
        "collection.name.format": table,
        "consumer.override.isolation.level": "read_committed",
        "consumer.override.session.timeout.ms": "6000",  # of a task whose worker was killed; Kafka's own is 45 s
    }


@dataclass(frozen=True, slots=True)
class Record:
    partition: int
    offset: int
    key: Any  # Any: JSON, without Connect's schema around it
    value: Any


def records(bootstrap: str, topic: str) -> list[Record]:
    """All committed records of a topic, partition by partition."""
    found = []
    for each in all_records(bootstrap, topic):
        partition, offset = each.partition(), each.offset()
        assert partition is not None
        assert offset is not None
        found.append(Record(partition, offset, _payload(each.key()), _payload(each.value())))
    return sorted(found, key=lambda each: (each.partition, each.offset))


def _payload(text: bytes | None) -> Any:
    found = None if text is None else json.loads(text)
    return found["payload"] if isinstance(found, dict) and set(found) == {"schema", "payload"} else found


def histories(found: list[Record]) -> dict[int, list[Change]]:
    """Change events of `orders` by id. Tombstones have to follow deletes, and nothing else."""
    by_id: dict[int, list[Change]] = defaultdict(list)
    awaited: set[int] = set()  # ids whose tombstone is the next record
    for record in found:
        number = record.key["id"]
        if record.value is None:
            assert number in awaited, f"a tombstone of {number} without its delete, or for the second time"
            awaited.remove(number)
            continue
        assert number not in awaited, f"{number}: {record.value} in place of a tombstone"
        op, after = record.value["op"], record.value["after"]
        row = None if after is None else (after["id"], after["customer"], after["amount"], after["note"])
        by_id[number].append(Change(op, row))
        if op == "d":
            awaited.add(number)
    assert not awaited, f"deletes without a tombstone: {awaited}"
    return by_id


def differences(wanted: dict[int, list[Change]], found: dict[int, list[Change]]) -> list[str]:
    """What is missing, or twice, or in another order. A row that was there before the connector may begin with the
    snapshot's event, which stands for all that had happened to it until then; one that was deleted before leaves
    nothing."""
    told = []
    for number in sorted(wanted.keys() | found.keys()):
        expected, seen = wanted.get(number, []), found.get(number, [])
        if seen == expected or (not seen and expected[-1].op == "d" and number in _before_snapshot(found)):
            continue
        if seen and seen[0].op == "r":
            states = [each.row for each in expected]
            if seen[0].row in states and seen[1:] == expected[states.index(seen[0].row) + 1 :]:
                continue
        told.append(f"{number}: {expected} in the table, {seen} in the topic")
    return told


def _before_snapshot(found: dict[int, list[Change]]) -> range:
    """Ids that the snapshot may have had: those up to the last that it has."""
    return range(max((number for number, events in found.items() if events[0].op == "r"), default=0) + 1)
