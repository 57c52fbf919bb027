"""A server that speaks PostgreSQL's protocol 3.0 on a real socket, for tests without a PostgreSQL: libpq connects to it
as to any server, and what a statement answers is a function of the test.

Simple and extended queries, COPY in all its directions, the replication protocol's CopyBoth, errors with their
SQLSTATE, and the state of the transaction as the server tells it.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

Row = Sequence[Any]  # Any: what a column can hold
Parameter = str | int | list[str] | None

_AT_ONCE = (b"Z", b"G", b"W", b"H", b"d", b"R")
_SSL, _GSS, _CANCEL = 80877103, 80877104, 80877102


class Refused(Exception):
    """The server says no to the statement."""

    def __init__(self, state: str, message: str, detail: str = "", constraint: str = "", fatal: bool = False) -> None:
        super().__init__(message)
        self.state, self.message, self.detail, self.constraint, self.fatal = state, message, detail, constraint, fatal


class Json(NamedTuple):
    """A value of the type jsonb."""

    value: object


_TYPES = {bool: 16, int: 20, str: 25, list: 1009, Json: 3802, datetime.datetime: 1184, type(None): 25}


class Rows(NamedTuple):
    rows: Sequence[Row]
    width: int = 1  # columns, where there are no rows


class Done(NamedTuple):
    """A statement without rows; `changed` is how many rows it has."""

    tag: str = "OK"
    changed: int | None = None


class CopyOut(NamedTuple):
    lines: Iterable[bytes]
    refused: Refused | None = None  # behind them


class CopyIn(NamedTuple):
    take: Callable[[list[bytes]], int]  # gets the lines, gives their number; may raise Refused


class CopyBoth(NamedTuple):
    stream: Stream


Answer = Rows | Done | CopyOut | CopyIn | CopyBoth


class Stream:
    """The server's end of a replication stream: what the test sends, and what the client has reported."""

    def __init__(self) -> None:
        self.reports: list[tuple[int, int, bool]] = []  # written, flushed, whether an answer is wanted
        self._session: Session | None = None
        self._waiting: list[bytes] = []
        self._lock = threading.Lock()

    def attach(self, session: Session) -> None:
        with self._lock:
            self._session = session
            for each in self._waiting:
                session.send(b"d", each)
            self._waiting.clear()

    def send(self, *messages: bytes) -> None:
        """Messages that come before somebody reads are sent when somebody does."""
        with self._lock:
            for each in messages:
                if self._session is None:
                    self._waiting.append(each)
                else:
                    self._session.send(b"d", each)

    def keepalive(self, lsn: int, wants_answer: bool = False) -> None:
        self.send(struct.pack(">cQqB", b"k", lsn, 0, wants_answer))

    def report(self, data: bytes) -> None:
        _, written, flushed, _, _, wants_answer = struct.unpack(">cQQQqB", data)
        self.reports.append((written, flushed, bool(wants_answer)))

    def end(self, refused: Refused | None = None) -> None:
        """As a server does that shuts down, or that finds something wrong with the slot."""
        with self._lock:
            session, self._session = self._session, None
        assert session is not None, "nobody reads"
        if refused is not None:
            session.error(refused)
            session.ready()
        else:
            session.send(b"c")
            session.complete("COPY 0")
            session.ready()

    def cut(self) -> None:
        with self._lock:
            session, self._session = self._session, None
        assert session is not None, "nobody reads"
        session.hang_up()


@dataclass(slots=True)
class Login:
    """What a client said of itself when it connected."""

    parameters: dict[str, str]

    @property
    def for_replication(self) -> bool:
        return "replication" in self.parameters


Answering = Callable[[Login, str, list[Parameter]], Answer]


@dataclass(slots=True)
class Statement:
    text: str
    types: list[int] = field(default_factory=list)


class FakePostgres:
    """`answer` is asked for each statement, with its text in one line and its parameters; it may raise Refused."""

    def __init__(self, answer: Answering, version: str = "16.3", password: str = "") -> None:
        self.answer, self.version, self.password = answer, version, password
        self.asked: list[str] = []  # every statement, in one line
        self.logins: list[Login] = []
        self.refuse_login: Refused | None = None
        self._sessions: set[Session] = set()
        self._lock = threading.Lock()
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._listening.getsockname()[1]
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()

    def url(self, database: str = "shop", user: str = "ann") -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:  # closed
                return
            session = Session(self, connection)
            with self._lock:
                self._sessions.add(session)
            session.start()

    def forget(self, session: Session) -> None:
        with self._lock:
            self._sessions.discard(session)

    def hang_up(self) -> None:
        """Every connection is cut, as when the server is killed."""
        with self._lock:
            sessions = list(self._sessions)
        for each in sessions:
            each.hang_up()
        for each in sessions:
            each.join(5)

    def close(self) -> None:
        with contextlib.suppress(OSError):  # closed already
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        self._thread.join(5)
        self.hang_up()

    def __enter__(self) -> FakePostgres:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Session(threading.Thread):
    """One connection."""

    def __init__(self, server: FakePostgres, connection: socket.socket) -> None:
        super().__init__(daemon=True)
        self._server, self._socket = server, connection
        self._file = connection.makefile("rb")
        self._sending = threading.Lock()
        self._unsent = bytearray()
        self._status = b"I"
        self._login = Login({})
        self._statements: dict[bytes, Statement] = {}
        self._bound: tuple[str, list[Parameter]] = ("", [])
        self._copying: CopyIn | None = None
        self._lines: list[bytes] = []
        self._streaming: Stream | None = None

    def run(self) -> None:
        try:
            if self._start_up():
                while self._message():
                    pass
        except (OSError, EOFError, ValueError):  # the client is gone, or the test has hung up
            pass
        finally:
            self._file.close()
            self._socket.close()
            self._server.forget(self)

    def hang_up(self) -> None:
        with contextlib.suppress(OSError):  # gone already
            self._socket.shutdown(socket.SHUT_RDWR)

    # --- bytes ------------------------------------------------------------------------------------------------------

    def send(self, kind: bytes, body: bytes = b"") -> None:
        """The end of an answer leaves in one piece, as from a server's buffer: libpq waits for the rest of one without
        letting other threads of Python run, the server's among them."""
        with self._sending:
            self._unsent += kind + struct.pack(">I", len(body) + 4) + body
            if kind in _AT_ONCE:
                self._flush()

    def _flush(self) -> None:
        unsent = bytes(self._unsent)
        self._unsent.clear()
        self._socket.sendall(unsent)

    def _read(self, count: int) -> bytes:
        data = self._file.read(count)
        if len(data) < count:
            raise EOFError
        return data

    def complete(self, tag: str) -> None:
        self.send(b"C", tag.encode() + b"\0")

    def ready(self) -> None:
        self.send(b"Z", self._status)

    def error(self, refused: Refused) -> None:
        if self._status == b"T":
            self._status = b"E"
        fields = {b"S": "FATAL" if refused.fatal else "ERROR", b"C": refused.state, b"M": refused.message}
        fields |= {b"D": refused.detail, b"n": refused.constraint}
        body = b"".join(name + text.encode() + b"\0" for name, text in fields.items() if text)
        self.send(b"E", body + b"\0")

    # --- the beginning ----------------------------------------------------------------------------------------------

    def _start_up(self) -> bool:
        while True:
            (length,) = struct.unpack(">I", self._read(4))
            (code,) = struct.unpack(">I", self._read(4))
            rest = self._read(length - 8)
            if code in (_SSL, _GSS):
                self._socket.sendall(b"N")
                continue
            if code == _CANCEL:
                return False
            break
        words = rest.split(b"\0")
        self._login = Login({words[i].decode(): words[i + 1].decode() for i in range(0, len(words) - 1, 2) if words[i]})
        self._server.logins.append(self._login)
        if self._server.password:
            self.send(b"R", struct.pack(">I", 3))
            _, given = self._next()
            if given.rstrip(b"\0").decode() != self._server.password:
                user = self._login.parameters["user"]
                self.error(Refused("28P01", f'password authentication failed for user "{user}"', fatal=True))
                self._flush()
                return False
        if self._server.refuse_login is not None:
            self.error(self._server.refuse_login)
            self._flush()
            return False
        self.send(b"R", struct.pack(">I", 0))
        settings = {"server_version": self._server.version, "client_encoding": "UTF8", "TimeZone": "UTC"}
        settings |= {"standard_conforming_strings": "on", "integer_datetimes": "on", "DateStyle": "ISO, MDY"}
        for name, value in settings.items():
            self.send(b"S", f"{name}\0{value}\0".encode())
        self.send(b"K", struct.pack(">II", 4711, 1))
        self.ready()
        return True

    def _next(self) -> tuple[bytes, bytes]:
        kind = self._read(1)
        (length,) = struct.unpack(">I", self._read(4))
        return kind, self._read(length - 4)

    # --- messages ---------------------------------------------------------------------------------------------------

    def _message(self) -> bool:
        kind, body = self._next()
        if kind == b"X":
            return False
        if kind == b"Q":
            self._simple(body[:-1].decode())
        elif kind == b"P":
            self._parse(body)
        elif kind == b"B":
            self._bind(body)
        elif kind == b"E":
            self._execute_bound()
        elif kind == b"S":
            self.ready()
        elif kind == b"d":
            if self._streaming is not None:
                self._streaming.report(body)
            else:
                self._lines += body.splitlines(keepends=True)
        elif kind == b"c":
            self._end_copy()
        elif kind == b"f":
            self._copying, self._lines = None, []
            self.error(Refused("57014", "COPY from stdin failed"))
            self.ready()
        elif kind == b"C":
            self.send(b"3")
        return True  # Describe is answered with Execute, Flush by what has been sent already

    def _simple(self, text: str) -> None:
        for each in [part for part in re.split(r";\s*", text) if part.strip()] or [""]:
            try:
                answer = self._ask(each, [])
                self._give(answer, described=False)
            except Refused as refused:
                self.error(refused)
                break
            if isinstance(answer, CopyIn | CopyBoth):
                return  # ready when the copy has ended
        self.ready()

    def _parse(self, body: bytes) -> None:
        name, text, rest = body.split(b"\0", 2)
        (count,) = struct.unpack_from(">H", rest)
        self._statements[name] = Statement(text.decode(), list(struct.unpack_from(f">{count}I", rest, 2)))
        self.send(b"1")

    def _bind(self, body: bytes) -> None:
        _, name, rest = body.split(b"\0", 2)
        (count,) = struct.unpack_from(">H", rest)
        formats = list(struct.unpack_from(f">{count}H", rest, 2))
        at = 2 + 2 * count
        (count,) = struct.unpack_from(">H", rest, at)
        at += 2
        statement = self._statements[name]
        parameters: list[Parameter] = []
        for place in range(count):
            (length,) = struct.unpack_from(">i", rest, at)
            at += 4
            data = None if length < 0 else rest[at : at + length]
            at += max(0, length)
            binary = bool(formats and formats[place if len(formats) > 1 else 0])
            parameters.append(_parameter(data, binary))
        self._bound = (statement.text, parameters)
        self.send(b"2")

    def _execute_bound(self) -> None:
        try:
            self._give(self._ask(*self._bound), described=True)
        except Refused as refused:
            self.error(refused)
            while (kind := self._next()[0]) != b"S":
                assert kind != b"X", "the client left in the middle of a statement"
            self.ready()

    def _ask(self, text: str, parameters: list[Parameter]) -> Answer:
        line = " ".join(text.split())
        self._server.asked.append(line)
        word = line.split(" ", 1)[0].lower()
        if word in ("commit", "rollback") and not line.lower().startswith("rollback to"):
            answer = Done(word.upper()) if self._status == b"I" else self._server.answer(self._login, line, parameters)
            self._status = b"I"
            return answer
        if self._status == b"E" and word != "rollback":
            raise Refused("25P02", "current transaction is aborted")
        answer = self._server.answer(self._login, line, parameters)
        if word == "begin":
            self._status = b"T"
        elif word == "rollback":
            self._status = b"T"  # to a savepoint
        return answer

    def _give(self, answer: Answer, described: bool) -> None:
        if isinstance(answer, Rows):
            self._describe(answer)
            for row in answer.rows:
                self.send(b"D", struct.pack(">H", len(row)) + b"".join(map(_cell, row)))
            self.complete(f"SELECT {len(answer.rows)}")
        elif isinstance(answer, Done):
            if described:
                self.send(b"n")
            self.complete(answer.tag if answer.changed is None else f"{answer.tag} {answer.changed}")
        elif isinstance(answer, CopyOut):
            self.send(b"H", struct.pack(">bH", 0, 0))
            count = 0
            for line in answer.lines:
                self.send(b"d", line)
                count += 1
            if answer.refused is not None:
                raise answer.refused
            self.send(b"c")
            self.complete(f"COPY {count}")
        elif isinstance(answer, CopyIn):
            self._copying, self._lines = answer, []
            self.send(b"G", struct.pack(">bH", 0, 0))
        else:
            self._streaming = answer.stream
            self.send(b"W", struct.pack(">bH", 0, 0))
            answer.stream.attach(self)

    def _end_copy(self) -> None:
        if self._copying is None:  # of a stream
            return
        copying, self._copying = self._copying, None
        try:
            self.complete(f"COPY {copying.take(self._lines)}")
        except Refused as refused:
            self.error(refused)
        self.ready()

    def _describe(self, answer: Rows) -> None:
        width = len(answer.rows[0]) if answer.rows else answer.width
        body = struct.pack(">H", width)
        for place in range(width):
            values = (row[place] for row in answer.rows)
            kind = next((type(value) for value in values if value is not None), type(None))
            body += f"c{place}\0".encode() + struct.pack(">IHIhih", 0, 0, _TYPES[kind], -1, -1, 0)
        self.send(b"T", body)


def _parameter(data: bytes | None, binary: bool) -> Parameter:
    if data is None:
        return None
    if binary:
        return int.from_bytes(data, "big", signed=True)
    text = data.decode()
    if text.startswith("{") and '":' not in text:  # a list; psycopg gives neither it nor JSON a type
        return [
            plain or quoted.replace('\\"', '"') for quoted, plain in re.findall(r'"((?:[^"\\]|\\.)*)"|([^,{}]+)', text)
        ]
    return text


def _cell(value: object) -> bytes:
    if value is None:
        return struct.pack(">i", -1)
    if isinstance(value, bool):
        text = "t" if value else "f"
    elif isinstance(value, list):
        text = "{" + ",".join(f'"{each}"' for each in value) + "}"
    elif isinstance(value, Json):
        text = json.dumps(value.value)
    else:
        text = str(value)
    data = text.encode()
    return struct.pack(">i", len(data)) + data
