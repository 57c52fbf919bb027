"""librdkafka's producer with its fatal errors made catchable.

A fatal error comes out of whatever call happens to run librdkafka's callbacks: `poll`, `flush`, any transactional call.
When a delivery is told in the same call, the Python binding loses track of the exception: it raises a bare KafkaError,
which is no exception class and passes every `except` but the one without a name, or it fails without any (SystemError).
Here it always leaves as KafkaException, and from `poll` and `flush`, where nobody expects one, as this library's own.
"""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from typing import TypeVar

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka import Producer as Librdkafka

from barnabas.client.errors import BarnabasError, translate

R = TypeVar("R")


def is_fatal(error: Exception) -> bool:
    """Does a call fail because of an earlier fatal error? librdkafka then says only "Local: Fatal error"."""
    return isinstance(error, KafkaException) and bool(error.args[0].code() == KafkaError._FATAL)


class WatchedLibrdkafka(Librdkafka):
    fatal: BarnabasError | None = None  # what ended it, as soon as that is known

    def poll(self, *arguments: float) -> int:
        return self._translated(super().poll, arguments)

    def flush(self, *arguments: float) -> int:
        return self._translated(super().flush, arguments)

    def init_transactions(self, *arguments: object) -> None:
        self._guarded(super().init_transactions, arguments)

    def send_offsets_to_transaction(self, *arguments: object) -> None:
        self._guarded(super().send_offsets_to_transaction, arguments)

    def commit_transaction(self, *arguments: object) -> None:
        self._guarded(super().commit_transaction, arguments)

    def abort_transaction(self, *arguments: object) -> None:
        self._guarded(super().abort_transaction, arguments)

    def reason_of_end(self) -> BarnabasError | None:
        """The fatal error that ended it. One that no call has raised yet waits among the events."""
        if self.fatal is None:
            with contextlib.suppress(BarnabasError):
                self.poll(0)
        return self.fatal

    def _translated(self, function: Callable[..., R], arguments: tuple[object, ...]) -> R:
        try:
            return self._guarded(function, arguments)
        except KafkaException as error:
            reason = translate(error, "send")
            if error.args[0].fatal():
                self.fatal = reason
            raise reason from None

    def _guarded(self, function: Callable[..., R], arguments: tuple[object, ...]) -> R:
        try:
            return function(*arguments)
        except KafkaException:
            raise
        except:  # with a name it would not catch a bare KafkaError
            raised: object = sys.exc_info()[1]
            if isinstance(raised, KafkaError):
                raise KafkaException(raised) from None
            if isinstance(raised, SystemError):
                raise self._lost_exception() from None
            raise

    def _lost_exception(self) -> KafkaException:
        """A fatal error is told again by any transactional call; this one has no effect beside it."""
        try:
            self.begin_transaction()
        except KafkaException as error:
            return error
        return KafkaException(KafkaError(KafkaError._FATAL, "a fatal error", True))
