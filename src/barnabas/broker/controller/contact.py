"""Whether the controller still counts this broker in: it does not after a session without a heartbeat.

A leader that is cut off with clients of its own appends what they send and never commits it, while the majority has
elected another one. Its clients would wait for the whole time of each request, and librdkafka does not even look for
another leader after REQUEST_TIMED_OUT. So producers that wait are told NOT_LEADER_OR_FOLLOWER once the session must
have ended (broker/api/produce.py). Nothing that is committed is refused: a cluster whose controllers are down goes on
with the in-sync replicas that it has.

They must also hear of the new leader from somebody: doubted_leaders.py.
"""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable

from barnabas.model.errors import ErrorCode, KafkaError

_PATIENCE_WHEN_LOST_SECONDS = 0.5
CUT_OFF_PAUSE_SECONDS = 1.0


class ControllerContact:
    """`session_ms`: how long a session lasts without a heartbeat (`broker.session.timeout.ms`)."""

    def __init__(self, session_ms: Callable[[], int]) -> None:
        self._session_ms = session_ms
        self._answered = 0.0  # on the loop's clock; 0: there was no heartbeat yet
        self.patience_seconds = session_ms() / 1000  # how long a producer waits until this is looked at again

    def answered(self) -> None:
        self._answered = asyncio.get_running_loop().time()
        self.patience_seconds = self._session_ms() / 1000

    @property
    def silent_seconds(self) -> float:
        return asyncio.get_running_loop().time() - self._answered if self._answered else 0.0

    def is_lost(self) -> bool:
        lost = self.silent_seconds > self._session_ms() / 1000
        if lost:
            self.patience_seconds = _PATIENCE_WHEN_LOST_SECONDS
        return lost

    def refusal(self) -> KafkaError:
        """Of a record that was not committed in time."""
        if self.is_lost():
            why = "this broker has not heard from a controller for a whole session: another one may lead the partition"
            return KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, why)
        return KafkaError(ErrorCode.REQUEST_TIMED_OUT, "not committed in time")


class CommitWait(ABC):
    """A request that waits for a commit: `_late(error)` when its time is up, or the controller was lost meanwhile."""

    __slots__ = ("_contact", "_left", "_timer")

    def __init__(self, contact: ControllerContact, timeout_ms: int) -> None:
        self._contact = contact
        self._wait(timeout_ms / 1000 if timeout_ms > 0 else 0.0)

    def _wait(self, seconds: float) -> None:
        """In parts: between them the controller may be lost."""
        part = self._contact.patience_seconds
        if seconds < part:
            part = seconds
        self._left = seconds - part
        self._timer = asyncio.get_running_loop().call_later(part, self._look)

    def _look(self) -> None:
        if self._left <= 0 or self._contact.is_lost():
            self._late(self._contact.refusal())
        else:
            self._wait(self._left)

    @abstractmethod
    def _late(self, error: KafkaError) -> None: ...


class Deadline(CommitWait):
    """One that has a function to call."""

    __slots__ = ("_late_with",)

    def __init__(self, contact: ControllerContact, timeout_ms: int, late: Callable[[KafkaError], None]) -> None:
        self._late_with = late
        super().__init__(contact, timeout_ms)

    def _late(self, error: KafkaError) -> None:
        self._late_with(error)

    def cancel(self) -> None:
        self._timer.cancel()
