"""What a writer asks of a database. PostgreSQL and DuckDB implement it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from dataclasses import dataclass

from barnabas.connect.connectors.relational.model import Change, Load, Table

OFFSETS = "barnabas_offsets"


@dataclass(frozen=True, slots=True)
class Owner:
    """What a row of the table of offsets is about."""

    connector: str
    topic: str
    partition: int


@dataclass(frozen=True, slots=True)
class Stored:
    """That row: nothing below `next_offset` is to be written again. `rejected` are records of the last batch that the
    table did not take (writer.py says why they are kept)."""

    next_offset: int
    rejected: str | None


class NotChanged(Exception):
    """The database does not let a column be added or its type be changed: a view depends on it, a value of the rows
    that are there does not fit, the table has too many."""

    def __init__(self, column: str, reason: str) -> None:
        super().__init__(f"{column}: {reason}")
        self.column, self.reason = column, reason


class Session(ABC):
    """A connection, used by one writer for one batch. What the database says no to becomes Unavailable in the
    `session` of the database, which ends the connection."""

    @abstractmethod
    def stored(self, owner: Owner) -> Stored | None: ...

    @abstractmethod
    def reset(self, owner: Owner, next_offset: int) -> None: ...

    @abstractmethod
    def table(self, name: tuple[str, ...], fresh: bool = False) -> Table | None:
        """As it is in the database; what was seen a while ago will do, unless `fresh`."""

    @abstractmethod
    def change(self, name: tuple[str, ...], change: Change) -> None:
        """In a transaction of its own. What somebody else has changed meanwhile is left as it is: what is missing has
        to be found out again. Raises NotChanged."""

    @abstractmethod
    def begin(self, owner: Owner, expected: int | None, next_offset: int) -> bool:
        """A transaction that moves the offset; False, and no transaction, when it is not the expected one."""

    @abstractmethod
    def put(self, load: Load) -> str | None:
        """Within the transaction. Why the database refuses one of the rows: then none of them is in, and the
        transaction goes on as if they had not been tried."""

    @abstractmethod
    def commit(self, owner: Owner, rejected: str | None) -> None: ...

    @abstractmethod
    def rollback(self) -> None: ...


class Database(ABC):
    name: str  # for errors: without a password

    def __init__(self) -> None:
        # The offset up to which the runtime has written dead letters, of writers of this process.
        self.dealt_with: dict[Owner, int] = {}

    @abstractmethod
    def session(self) -> AbstractContextManager[Session]:
        """Raises Unavailable, on the way in and in place of any error of the database within."""

    def reset(self, owner: Owner, next_offset: int) -> None:
        self.dealt_with.pop(owner, None)
        with self.session() as session:
            session.stored(owner)  # so that the table is there
            session.reset(owner, next_offset)

    @abstractmethod
    def close(self) -> None: ...
