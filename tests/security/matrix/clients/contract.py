"""What each client of the matrix does, by its own words and settings; nothing of ours is in between."""

from __future__ import annotations

import logging
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager

from tests.security.matrix.ways import Credentials

PRODUCE, TRANSACTION, CONSUME, ADMIN = ACTIONS = ("produce", "transaction", "consume", "admin")


class Refused(Exception):
    """The client's own error, as it tells it."""


@contextmanager
def refusals_in_log(name: str) -> Iterator[None]:
    """For clients that raise only that they found no broker, and tell in their log why."""
    lines: list[str] = []
    handler = logging.Handler(logging.WARNING)
    handler.emit = lambda record: lines.append(record.getMessage())  # type: ignore[method-assign]
    logger = logging.getLogger(name)
    logger.addHandler(handler)
    try:
        yield
    except Exception as error:  # whatever the client raises
        raise Refused("\n".join([*lines, f"{type(error).__name__}: {error}"])) from error
    finally:
        logger.removeHandler(handler)


class Client(ABC):
    """Each action ends when it is done, or raises what the client says."""

    missing: dict[str, str] = {}
    """Actions that the client does not have, with the reason."""

    @abstractmethod
    def produce(self, to: Credentials, topic: str, text: str) -> None: ...

    @abstractmethod
    def transaction(self, to: Credentials, topic: str, text: str, name: str) -> None:
        """Writes the text in a transaction of that transactional id, and commits it."""

    @abstractmethod
    def consume(self, to: Credentials, topic: str, group: str) -> str:
        """The topic's first record, read as a member of the group."""

    @abstractmethod
    def admin(self, to: Credentials, topic: str) -> None:
        """Creates the topic, sees it listed, deletes it."""

    def close(self) -> None:  # noqa: B027  (most have nothing to end)
        """Ends what was started for all calls."""
