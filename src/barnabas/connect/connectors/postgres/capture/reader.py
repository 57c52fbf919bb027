"""Reads the one split: makes the slot, reads the tables, then the stream; and goes back to reading when a table comes
that was not captured before.

`read` drives a generator, because that is what the work is: steps one behind the other, some of which wait.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable, Iterator, Mapping

from barnabas.connect.connectors.postgres.capture import catalog, opening, types
from barnabas.connect.connectors.postgres.capture.connection import Server, in_words
from barnabas.connect.connectors.postgres.capture.envelope import Debezium, Envelope, Plain, Relation
from barnabas.connect.connectors.postgres.capture.options import PostgresOptions, default_name, topic_of
from barnabas.connect.connectors.postgres.capture.pgoutput import RelationMessage, guarded
from barnabas.connect.connectors.postgres.capture.position import Stand, TableStand, stand_of
from barnabas.connect.connectors.postgres.capture.ranges import without_what_was_read
from barnabas.connect.connectors.postgres.capture.replication import Replication
from barnabas.connect.connectors.postgres.capture.snapshot import RANGES_MAX, Settling, TableScan
from barnabas.connect.connectors.postgres.capture.transactions import Transactions
from barnabas.connect.connectors.postgres.capture.wal import lsn_of
from barnabas.connect.contract import Behind, Chunk, Position, Reader, Record

log = logging.getLogger("barnabas.connect")

_WATCH_S = 30.0  # for tables that are new, or were made anew
_SETTLING_S = 0.02
_PATIENCE_S = 10.0  # then it is said what is waited for
_SHUTDOWN_S = 0.5  # between positions for a server that waits for one


class PostgresReader(Reader):
    def __init__(self, name: str, options: PostgresOptions, server: Server, position: Position | None) -> None:
        self._name, self._options, self._server = name, options, server
        self._slot = options.slot or default_name(name)
        self._publication = options.publication or default_name(name)
        self._envelope: Envelope = (
            Debezium(options.toast_placeholder, name, server.database)
            if options.envelope == "debezium"
            else Plain(options.toast_placeholder)
        )
        self._replication: Replication | None = None
        self._scan: TableScan | None = None
        self._transactions: Transactions | None = None
        self._is_idle = False
        self._left_out: set[str] = set()
        self._most, self._deadline = 0, 0.0
        self._beat_at = self._watch_at = time.monotonic()
        self._restart_lsn = 0  # of the slot, at the last heartbeat
        self._connection = server.connect()
        try:
            self._open(position)
        except BaseException:
            self.close()
            raise
        self._steps = self._run()

    def _open(self, position: Position | None) -> None:
        opening.check_server(self._connection)
        replication = self._replication = Replication(self._server)
        stand = None if position is None else stand_of(position, self._name)
        system, timeline = opening.check_server_identity(replication, stand, self._name)
        known = set() if stand is None else set(stand.tables)
        publishing = self._publish(known)
        wanted = opening.SlotWanted(
            self._slot, not self._options.slot, publishing.is_new, self._server.application, self._name
        )
        facts = opening.usable_slot(self._connection, wanted, stand)
        self._has_slot = facts is not None
        if stand is None:
            stand = Stand(system, timeline, 0 if facts is None else facts.confirmed_lsn)
        elif timeline != stand.timeline:
            stand.timeline, stand.slot_lsn = timeline, 0
        elif facts is not None:
            opening.check_slot_age(facts, stand, self._slot, self._name)
        self._stand = stand
        self._committed_lsn = stand.lsn
        self._plan(publishing.added)

    def _publish(self, known: set[str]) -> opening.Publishing:
        publishing = opening.publish(self._connection, self._options, self._publication, known)
        self._tables = publishing.tables
        for each in sorted(publishing.left_out - self._left_out):
            log.warning(
                "%s: table %s has no primary key and no REPLICA IDENTITY FULL, and is left out", self._name, each
            )
        self._left_out = publishing.left_out
        return publishing

    def close(self) -> None:
        for each in (self._scan, self._replication, self._connection):
            if each is not None:
                each.close()

    # --- the contract -----------------------------------------------------------------------------------------------

    def read(self, most: int, wait_s: float) -> Chunk | None:
        self._most, self._deadline = most, time.monotonic() + wait_s
        return next(self._steps)

    def committed(self, position: Position) -> None:
        self._committed_lsn = max(self._committed_lsn, lsn_of(position["lsn"]))
        if self._replication is not None and self._transactions is not None:
            self._replication.confirm(self._committed_lsn)

    def behind(self) -> Behind | None:
        with in_words("cannot ask for the end of the log"):
            row = self._connection.execute(
                "select case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end::text"
            ).fetchone()
        assert row is not None
        seconds = None
        if self._transactions is not None and self._is_idle:
            seconds = 0.0
        elif self._transactions is not None and self._transactions.commit_us is not None:
            seconds = max(0.0, time.time() - self._transactions.commit_us / 1_000_000)
        return Behind(bytes=max(0, lsn_of(row[0]) - self._committed_lsn), seconds=seconds)

    # --- steps ------------------------------------------------------------------------------------------------------

    def _run(self) -> Iterator[Chunk | None]:
        if not self._has_slot:
            yield from self._make_slot()
        while True:
            if self._unread():
                yield from self._read_tables()
            yield from self._stream()

    def _plan(self, added: set[str]) -> None:
        """Every table that is captured has a stand. One that was not published for a while is read anew."""
        stands = self._stand.tables
        for name in [each for each in stands if each not in self._tables and not self._is_wanted(each)]:
            del stands[name]
        for name, table in self._tables.items():
            there = stands.get(name)
            if there is None or there.oid != table.oid or name in added:
                stands[name] = TableStand(table.oid, [], self._options.snapshot == "never", table.keys)
            elif not there.is_streaming and there.keys != table.keys:
                stands[name] = TableStand(table.oid, [], False, table.keys)  # in another order now: read it anew

    def _is_wanted(self, name: str) -> bool:
        return any(catalog.label(*catalog.pattern_parts(each)) == name for each in self._options.tables)

    def _unread(self) -> list[str]:
        """Tables to read now: not all of them is read, and its ranges have room for one more."""
        return sorted(
            name
            for name, each in self._stand.tables.items()
            if not each.whole and len(each.ranges) < RANGES_MAX and name in self._tables
        )

    def _make_slot(self) -> Iterator[Chunk | None]:
        """Waits until every transaction has ended that is writing now."""
        replication = self._replication
        assert replication is not None
        command = f'CREATE_REPLICATION_SLOT "{self._slot}" LOGICAL pgoutput '
        if self._connection.info.server_version < 150000:
            command += "NOEXPORT_SNAPSHOT"
        elif self._connection.info.server_version < 170000:
            command += "(SNAPSHOT 'nothing')"
        else:
            command += f"(SNAPSHOT 'nothing', FAILOVER {str(self._options.failover).lower()})"
        settling = Settling(self._connection)
        replication.begin(command)
        warn_at = time.monotonic() + _PATIENCE_S
        while (row := replication.answer(command, self._deadline)) is None:
            warn_at = self._say_what_is_awaited(settling, warn_at)
            yield None
        self._stand.lsn = self._committed_lsn = lsn_of(row[1])
        yield Chunk([], self._stand.as_json())

    def _say_what_is_awaited(self, settling: Settling, warn_at: float) -> float:
        if time.monotonic() < warn_at:
            return warn_at
        log.warning("%s: waiting for a transaction to end before tables are read: %s", self._name, settling.culprit())
        return time.monotonic() + 6 * _PATIENCE_S

    # --- tables -----------------------------------------------------------------------------------------------------

    def _read_tables(self) -> Iterator[Chunk | None]:
        self._stop_streaming()
        stand = self._stand
        if any(stand.tables[name].after != stand.reached for name in self._unread()):
            yield from self._settle_transactions()
        while names := self._unread():
            yield from self._read_range(names[0])

    def _settle_transactions(self) -> Iterator[None]:
        """So that a snapshot has everything that the stream is beyond, or that was written to a table before it was
        published."""
        settling = Settling(self._connection)
        warn_at = time.monotonic() + _PATIENCE_S
        while not settling.is_over():
            if time.monotonic() >= self._deadline:
                warn_at = self._say_what_is_awaited(settling, warn_at)
                yield None
            else:
                time.sleep(_SETTLING_S)
        for name in self._unread():
            self._stand.tables[name].after = self._stand.reached

    def _read_range(self, name: str) -> Iterator[Chunk | None]:
        stand = self._stand.tables[name]
        scan = self._scan = TableScan(self._server, self._tables[name], self._publication, stand.last_key)
        scan.uses(self._relation_of(scan.table, stand))
        before, is_done = list(stand.ranges), False
        while not is_done:
            records = self._envelope.records = []
            with guarded():
                scan.read(self._envelope, self._most)
            stand.whole = scan.is_whole
            if stand.whole or scan.range.to:
                stand.ranges = [*before, scan.range]
            is_done = stand.whole or scan.is_old
            if is_done:  # before the chunk is given away: who takes it may take its time, and the lock has to go
                scan.close()
                self._scan = None
            if records or stand.whole:
                yield Chunk(records, self._stand.as_json())

    def _relation_of(self, table: catalog.TableFacts, stand: TableStand) -> Relation:
        converters = types.converters((each.type_oid for each in table.columns), self._type_facts)
        return Relation(
            table.schema,
            table.name,
            [(each.name, converters[each.type_oid]) for each in table.columns],
            tuple(each.name for each in table.columns if each.name in table.keys),
            topic_of(self._options, table.schema, table.name),
            stand,
        )

    # --- the stream -------------------------------------------------------------------------------------------------

    def _stop_streaming(self) -> None:
        if self._transactions is not None and self._replication is not None:
            self._replication.close()
            self._replication = self._transactions = None

    def _stream(self) -> Iterator[Chunk | None]:
        if self._replication is None:
            self._replication = Replication(self._server)
        replication, stand = self._replication, self._stand
        transactions = self._transactions = Transactions(
            stand, self._envelope, self._relation, self._options.truncate == "event"
        )
        replication.start(self._slot, self._publication, stand.lsn, self._committed_lsn)
        while not self._unread():
            records = self._envelope.records = []
            with guarded():
                replication.pump(transactions.take, records, self._most, self._deadline, lambda: transactions.is_open)
            yield self._chunk(replication, transactions, records)
            self._watch()

    def _chunk(self, replication: Replication, transactions: Transactions, records: list[Record]) -> Chunk | None:
        stand = self._stand
        if transactions.questionable:
            records = without_what_was_read(self._connection, self._tables, records, transactions.questionable)
            transactions.questionable.clear()
        transactions.mark()
        if not transactions.is_open:
            stand.lsn = max(stand.lsn, replication.idle_lsn)
        self._settle(transactions)
        self._is_idle = not records and not transactions.is_open
        is_due = self._beat(replication)
        if records or (is_due and stand.lsn > replication.confirmed):
            return Chunk(records, stand.as_json())
        return None

    def _settle(self, transactions: Transactions) -> None:
        for each in self._stand.tables.values():
            if each.ranges and each.settle(self._stand.lsn):
                for relation in transactions.relations.values():
                    if relation.stand is each:
                        relation.plain, relation.of_xid = each.is_streaming, -1

    def _beat(self, replication: Replication) -> bool:
        """Whether a position is due although nothing came: so that the server can forget its log."""
        now = time.monotonic()
        if replication.must_report and now - self._beat_at > _SHUTDOWN_S:
            replication.must_report = False
            self._beat_at = now
            return True
        if now - self._beat_at < self._options.heartbeat_s:
            return False
        self._beat_at = now
        replication.tell(wants_answer=True)
        with in_words("cannot ask for the replication slot"):
            facts = catalog.slot_facts(self._connection, self._slot)
        # What it was a heartbeat ago: what is in memory now, a crash of the server might take back.
        self._stand.slot_lsn = max(self._stand.slot_lsn, self._restart_lsn)
        if facts is not None:
            self._restart_lsn = facts.restart_lsn
        return True

    def _watch(self) -> None:
        if time.monotonic() - self._watch_at > _WATCH_S:
            self._watch_at = time.monotonic()
            self._plan(self._publish(set(self._stand.tables)).added)

    def _relation(self, message: RelationMessage) -> Relation:
        """A table as the stream describes it from here on."""
        name = catalog.label(message.schema, message.table)
        stand = self._stand.tables.get(name)
        if stand is None and not self._options.tables:  # the publication has it since a moment ago
            stand = self._stand.tables[name] = TableStand(message.oid, whole=self._options.snapshot == "never")
            self._watch_at = 0.0
        elif stand is not None and stand.is_streaming:
            stand.oid = message.oid  # made anew: it was empty, and every change of it comes
        with in_words("cannot read the catalog"):
            converters = types.converters((each.type_oid for each in message.columns), self._type_facts)
            keys = [each.name for each in message.columns if each.is_key]
            if message.identity == "f":
                primary = catalog.primary_key(self._connection, message.schema, message.table)
                keys = [each.name for each in message.columns if each.name in primary]
        return Relation(
            message.schema,
            message.table,
            [(each.name, converters[each.type_oid]) for each in message.columns],
            tuple(keys),
            topic_of(self._options, message.schema, message.table),
            stand,
            plain=stand is not None and stand.is_streaming,
        )

    def _type_facts(self, oids: Iterable[int]) -> Mapping[int, types.TypeFacts]:
        with in_words("cannot read the catalog"):
            return catalog.type_facts(self._connection, oids)
