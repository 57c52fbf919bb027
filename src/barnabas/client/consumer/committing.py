"""Committing offsets, with a bound on the wait.

librdkafka's commit takes no timeout: without a coordinator it waits as long as the session timeout (45 s). So a commit
that is waited for runs in a thread, and whoever waits gives up after `timeout`. The thread goes on: the commit may yet
be recorded when the coordinator comes back. One is under way at a time, so that an older one never follows a newer.
The thread is kept for the next commit: to start one for each took half as long as the commit itself.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from queue import SimpleQueue

from confluent_kafka import KafkaException
from confluent_kafka import TopicPartition as Place

from barnabas.client.common.rdkafka import ConsumerHandle
from barnabas.client.consumer.buffer import Offsets
from barnabas.client.errors import BadSetting, TimedOut, translate

# Longer than a broker's session (9 s) and the election after it: the loss of the coordinator's node is waited out.
COMMIT_WAIT_S = 15.0


class Committer:
    def __init__(self, handle: ConsumerHandle, address: str) -> None:
        self._handle = handle
        self._address = address
        self._commits: SimpleQueue[_Commit | None] | None = None  # for the thread, once there is one
        self._under_way: _Commit | None = None

    def commit(self, offsets: Offsets, wait: bool = True, timeout: float = COMMIT_WAIT_S) -> None:
        if not timeout > 0:
            raise BadSetting(f"commit: timeout is more than 0 seconds, not {timeout!r}")
        if not offsets:
            return
        places = [Place(*each, offset) for each, offset in sorted(offsets.items())]
        try:
            answers = self._bounded(places, timeout) if wait else self._handle.commit(offsets=places, asynchronous=True)
        except KafkaException as error:
            raise translate(error, "commit", self._address) from None
        for each in answers or ():
            if each.error is not None:
                raise translate(each.error, f"commit {each.topic}-{each.partition} at {each.offset}", self._address)

    def _bounded(self, places: Sequence[Place], timeout: float) -> list[Place]:
        deadline = time.monotonic() + timeout
        if not self.is_idle(timeout):
            raise self._no_answer(timeout)
        self._under_way = commit = _Commit(places)
        self._queue().put(commit)
        if not self.is_idle(max(0.0, deadline - time.monotonic())):
            raise self._no_answer(timeout)
        if commit.error is not None:
            raise commit.error
        return commit.answers

    def is_idle(self, timeout: float | None) -> bool:
        """No commit is under way, or it has ended within `timeout` seconds (None: waits for it)."""
        if self._under_way is not None:
            if not self._under_way.ended.wait(timeout):
                return False
            self._under_way = None
        return True

    def end(self) -> None:
        """Ends the thread, after the commit that may be under way."""
        if self._commits is not None:
            self._commits.put(None)

    def _queue(self) -> SimpleQueue[_Commit | None]:
        if self._commits is None:
            self._commits = SimpleQueue()
            # Not a method: the thread must not keep a consumer that nobody holds any more.
            arguments = (self._handle, self._commits)
            threading.Thread(target=_work, args=arguments, name="barnabas-commit", daemon=True).start()
        return self._commits

    def _no_answer(self, timeout: float) -> TimedOut:
        return TimedOut(
            f"commit: the group's coordinator on {self._address} did not answer within {timeout:g} s, so the offsets "
            "may not be recorded. Commit again when it is back; what is not recorded is read again"
        )


class _Commit:
    def __init__(self, places: Sequence[Place]) -> None:
        self.places = list(places)
        self.answers: list[Place] = []
        self.error: BaseException | None = None
        self.ended = threading.Event()


def _work(handle: ConsumerHandle, commits: SimpleQueue[_Commit | None]) -> None:
    while (commit := commits.get()) is not None:
        try:
            commit.answers = handle.commit(offsets=commit.places, asynchronous=False) or []
        except BaseException as error:  # raised by whoever waits
            commit.error = error
        commit.ended.set()
