"""What background work could not do: of which partition, why, and when it is tried again.

A failure is logged when it is new (another error of the same partition is new) and when it is over; between the two it
is counted. Tries are spaced exponentially, up to an hour. What fails now is in the node's health
(broker/metrics/health.py), which `barnabas doctor` shows.
"""

import asyncio
import errno
import logging
from collections.abc import Callable

from barnabas.broker.metrics.health import Health
from barnabas.broker.upkeep.compaction_process import CompactionFailed
from barnabas.model.errors import KafkaError
from barnabas.storage.damage import Damaged
from barnabas.storage.disk import FULL, StorageFatal
from barnabas.wire.errors import ProtocolError

log = logging.getLogger(__name__)

WHOLE_NODE = "the node"  # the subject of what is not about one partition
_FIRST_SECONDS = 15.0
_LONGEST_SECONDS = 3600.0
_LOGGED_AT_ONCE = 10  # new failures logged within a minute; a broken disk would fill the log with 10,000
_MINUTE = 60.0

_EXPECTED = (OSError, KafkaError, StorageFatal, ProtocolError, CompactionFailed)
_WAYS_OUT = {
    errno.ENOENT: "A file of its folder was removed: restart the node, which then reads the folder anew.",
    errno.EACCES: "Check who owns the files of its folder.",
    errno.EPERM: "Check who owns the files of its folder.",
    errno.EROFS: "The file system has become read-only: look at the system's log.",
    errno.EIO: "The disk fails: look at the system's log, and replace it.",
    errno.EMFILE: "Raise the limit of open files (ulimit -n).",
    errno.ENFILE: "Raise the system's limit of open files (fs.file-max).",
    **dict.fromkeys(FULL, "Free some space on the disk, or lower retention.ms or retention.bytes of large topics."),
}


class _Failing:
    __slots__ = ("count", "due", "error")

    def __init__(self) -> None:
        self.count = 0
        self.due = 0.0  # in the loop's time
        self.error = ""


class UpkeepFailures:
    def __init__(self, health: Health) -> None:
        self._health = health
        self._failing: dict[tuple[str, str], _Failing] = {}
        self._logged: list[float] = []

    def __len__(self) -> int:
        return len(self._failing)

    def may_try(self, task: str, subject: str) -> bool:
        """False while it is backed off."""
        if not self._failing:
            return True
        found = self._failing.get((task, subject))
        return found is None or found.due <= asyncio.get_running_loop().time()

    def failed(self, task: str, subject: str, error: Exception) -> None:
        now, text = asyncio.get_running_loop().time(), describe(error)
        found = self._failing.setdefault((task, subject), _Failing())
        wait = min(_FIRST_SECONDS * 2 ** min(found.count, 20), _LONGEST_SECONDS)
        found.count += 1
        found.due = now + wait
        self._health.failed(task, subject, text, way_out(error))
        if found.error != text:
            found.error = text
            self._log(task, subject, error, now, wait)

    def succeeded(self, task: str, subject: str) -> None:
        if self._failing and (found := self._failing.pop((task, subject), None)) is not None:
            log.warning("%s of %s works again, after %d failures", task, subject, found.count)
            self._health.recovered(task, subject)

    def keep_only(self, exists: Callable[[str], bool]) -> None:
        """Forget partitions that are not here any more."""
        for task, subject in list(self._failing):
            if subject != WHOLE_NODE and not exists(subject):
                del self._failing[task, subject]
                self._health.recovered(task, subject)

    def _log(self, task: str, subject: str, error: Exception, now: float, wait: float) -> None:
        self._logged = [at for at in self._logged if at > now - _MINUTE]
        if len(self._logged) > _LOGGED_AT_ONCE:
            return
        if len(self._logged) < _LOGGED_AT_ONCE:
            text = "%s of %s failed, it is tried again in %.0f s and then more rarely: %s. %s"
            traceback = None if isinstance(error, _EXPECTED) else error  # a mistake of ours: show where
            log.error(text, task, subject, wait, describe(error), way_out(error), exc_info=traceback)
        else:
            log.error("background work fails for more partitions: `barnabas doctor` lists them")
        self._logged.append(now)


def describe(error: Exception) -> str:
    """One line."""
    if isinstance(error, KafkaError):
        text = error.message or error.code.name
    elif isinstance(error, OSError) and error.strerror:
        text = f"{error.filename}: {error.strerror}" if error.filename else error.strerror
    elif isinstance(error, _EXPECTED):
        text = str(error)
    else:
        text = f"{type(error).__name__}: {error}"
    return " ".join(text.split())[:500].rstrip(".") or type(error).__name__


def way_out(error: Exception) -> str:
    if isinstance(error, KafkaError) and isinstance(error.__cause__, Exception):
        error = error.__cause__  # a partition that cannot be opened says why in Kafka's codes
    if isinstance(error, Damaged):
        return (
            "Records are damaged: other replicas fill it again; without any, `barnabas log dump --verify` shows which."
        )
    found = _WAYS_OUT.get(error.errno or 0) if isinstance(error, OSError) else None
    return found or "Restart the node; if it fails again, report it with the node's log."
