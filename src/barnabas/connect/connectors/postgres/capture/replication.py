"""The replication connection: commands, the stream of changes, and what the server is told in return."""

from __future__ import annotations

import select
import struct
import time
from collections.abc import Callable

import psycopg
from psycopg import pq

from barnabas.connect.connectors.postgres.capture.connection import Server, unavailable
from barnabas.connect.connectors.postgres.capture.pgoutput import BadMessage
from barnabas.connect.connectors.postgres.capture.wal import lsn_text
from barnabas.connect.contract import Record
from barnabas.connect.errors import Unavailable

_DATA, _KEEPALIVE = b"wk"
_keepalive = struct.Struct(">xQqB").unpack
_status = struct.Struct(">cQQQqB").pack
_EPOCH_S = 946_684_800

_STATUS_S = 5.0  # the server ends a connection that it has not heard of for wal_sender_timeout, a minute by default
_ANSWER_S = 0.2  # between reports: a server that shuts down asks again as soon as it has one
_SILENCE_S = 60.0
_BYTES_MAX = 16 * 1024 * 1024  # of messages behind one chunk
# The server sends each change by itself: in a burst, one wake-up for each would cost more than the change.
_GATHER_S = 0.005
_GATHER_MOST_S = 0.015  # how long more transactions are awaited behind the first
_REST_S = 0.05  # how long the rest of a transaction is awaited beyond the caller's patience
_CHECK_EVERY = 512  # messages between two looks at the clock


class Replication:
    def __init__(self, server: Server) -> None:
        self._opened = server.connect_for_replication()
        self._connection = self._opened.pgconn
        self._where = server.where
        self._poll = select.poll()
        self._poll.register(self._connection.socket, select.POLLIN)
        self.idle_lsn = 0  # nothing that committed before this is still to come; known between transactions
        self.must_report = False  # the server waits to hear that all is flushed, as it does when it shuts down
        self.confirmed = 0  # what the server may forget
        self._received = 0
        self._told, self._told_at = 0, 0.0
        self._asked_at = 0.0  # and not answered yet

    def close(self) -> None:
        self._opened.close()

    # --- commands ---------------------------------------------------------------------------------------------------

    def query(self, command: str) -> list[str]:
        """The first row of the answer."""
        try:
            result = self._connection.exec_(command.encode())
        except psycopg.OperationalError as problem:
            raise self._lost(str(problem)) from None
        return self._row(result, command)

    def begin(self, command: str) -> None:
        """A command that may take long: `answer` says when it is done."""
        try:
            self._connection.send_query(command.encode())
            self._connection.flush()
        except psycopg.OperationalError as problem:
            raise self._lost(str(problem)) from None

    def answer(self, command: str, deadline: float) -> list[str] | None:
        """None: not yet."""
        while True:
            try:
                self._connection.consume_input()
            except psycopg.OperationalError as problem:
                raise self._lost(str(problem)) from None
            if not self._connection.is_busy():
                result = self._connection.get_result()
                if result is None:
                    raise self._lost("no answer")
                row = self._row(result, command)
                while self._connection.get_result() is not None:
                    pass
                return row
            if not self._wait(deadline - time.monotonic()):
                return None

    def _row(self, result: pq.abc.PGresult, command: str) -> list[str]:
        if result.status not in (pq.ExecStatus.TUPLES_OK, pq.ExecStatus.COMMAND_OK, pq.ExecStatus.COPY_BOTH):
            said = result.error_field(pq.DiagnosticField.MESSAGE_PRIMARY) or result.error_message
            detail = result.error_field(pq.DiagnosticField.MESSAGE_DETAIL)
            both = said + (b" (" + detail + b")" if detail else b"")
            raise unavailable(f"PostgreSQL at {self._where} refuses {command.split('(')[0].strip()}", _text(both))
        if not result.ntuples:
            return []
        return [_text(result.get_value(0, column) or b"") for column in range(result.nfields)]

    # --- the stream -------------------------------------------------------------------------------------------------

    def start(self, slot: str, publication: str, lsn: int, confirmed: int) -> None:
        name = publication.replace('"', '""').replace("'", "''")
        self.query(
            f'START_REPLICATION SLOT "{slot}" LOGICAL {lsn_text(lsn)}'
            f" (proto_version '1', publication_names '\"{name}\"')"
        )
        self.confirmed, self._received = confirmed, lsn
        self.tell(wants_answer=True)

    def pump(
        self,
        take: Callable[[bytes], None],
        records: list[Record],
        most: int,
        deadline: float,
        is_open: Callable[[], bool],
    ) -> None:
        """Gives messages to `take` until there are `most` records, or nothing more comes by the deadline. What belongs
        to a transaction that is not complete is awaited a little."""
        try:
            self._tell_if_due(time.monotonic())
            self._pump(take, records, most, deadline, is_open)
        except psycopg.OperationalError as problem:
            raise self._lost(str(problem)) from None

    def _pump(
        self,
        take: Callable[[bytes], None],
        records: list[Record],
        most: int,
        deadline: float,
        is_open: Callable[[], bool],
    ) -> None:
        get, size, count, gather_until = self._connection.get_copy_data, 0, 0, 0.0
        while True:
            length, view = get(1)
            if length == 0:
                self._connection.consume_input()
                length, view = get(1)
            if length > 0:
                data = bytes(view)
                self._asked_at = 0.0
                if data[0] == _DATA:
                    take(data)
                    size += length
                    count += 1
                    if len(records) >= most or size >= _BYTES_MAX:
                        break
                    if count % _CHECK_EVERY == 0 and time.monotonic() >= deadline:
                        break
                else:
                    self._kept_alive(data, is_open())
            elif length == 0:
                now = time.monotonic()
                if self._asked_at and now - self._asked_at > _SILENCE_S:
                    raise Unavailable(f"PostgreSQL at {self._where} has not answered for {_SILENCE_S:.0f} s")
                if not records:
                    until = deadline
                elif is_open():
                    until = now + _REST_S
                else:
                    gather_until = gather_until or now + _GATHER_MOST_S
                    until = min(gather_until, max(deadline, now))
                if (self.must_report and not is_open()) or not self._wait(until - now):
                    break
                if records:
                    time.sleep(_GATHER_S)
            else:
                raise self._ended()

    def _wait(self, seconds: float) -> bool:
        """Whether something came."""
        return seconds > 0 and bool(self._poll.poll(seconds * 1000))

    def _kept_alive(self, data: bytes, is_open: bool) -> None:
        if data[:1] != b"k" or len(data) != 18:
            raise BadMessage(f"a message of kind {data[0]} and {len(data)} bytes in the stream")
        end, _, wants_answer = _keepalive(data)
        if not is_open:
            self.idle_lsn = max(self.idle_lsn, end)
            self._received = max(self._received, end)
        if wants_answer:
            self.must_report = self.idle_lsn > self.confirmed
            if time.monotonic() - self._told_at > _ANSWER_S:
                self.tell()

    def confirm(self, lsn: int) -> None:
        """The server may forget what committed before."""
        self.confirmed = max(self.confirmed, lsn)
        if time.monotonic() - self._told_at > _ANSWER_S:
            self.tell()

    def _tell_if_due(self, now: float) -> None:
        is_news = self.must_report or self.confirmed > self._told
        if now - self._told_at > (_ANSWER_S if is_news else _STATUS_S):
            self.tell(wants_answer=True)

    def tell(self, wants_answer: bool = False) -> None:
        """A standby status update: written, flushed and applied up to here."""
        clock = int((time.time() - _EPOCH_S) * 1_000_000)
        written = max(self._received, self.confirmed)
        try:
            self._connection.put_copy_data(_status(b"r", written, self.confirmed, self.confirmed, clock, wants_answer))
            self._connection.flush()
        except psycopg.OperationalError as problem:
            raise self._lost(str(problem)) from None
        self._told, self._told_at = self.confirmed, time.monotonic()
        if wants_answer:
            self._asked_at = self._asked_at or self._told_at

    # --- ends -------------------------------------------------------------------------------------------------------

    def _ended(self) -> Unavailable:
        """The server has ended the stream: it shuts down, or something is wrong with the slot."""
        result = self._connection.get_result()
        said = "" if result is None else _text(result.error_message)
        if not said:
            return Unavailable(
                f"PostgreSQL at {self._where} has ended the replication stream, as it does when it stops"
            )
        return unavailable(f"PostgreSQL at {self._where} has ended the replication stream", said)

    def _lost(self, said: str) -> Unavailable:
        return unavailable(f"the connection to PostgreSQL at {self._where} is lost", said)


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")
