"""What an operator reads at the default level: the logger `barnabas.events`.

The active controller tells what changed in the cluster (core/cluster/change_summary.py), gathered for half a second, so
that a failover of thousands of partitions is a few lines. What clients can bring about as often as they like (refused
connections) is limited: one line a second and kind, and then how many were left out.
"""

import asyncio
import logging
from collections.abc import Callable, Sequence

from barnabas.core.cluster.change_summary import ChangeSummary
from barnabas.core.cluster.image import MetadataImage
from barnabas.core.cluster.records import PartitionChange, Record

events = logging.getLogger("barnabas.events")

_GATHER_SECONDS = 0.5
_LIMIT_SECONDS = 1.0
_KINDS_MAX = 100


class ChangeLog:
    """The changes that the controller of this node had committed."""

    def __init__(self) -> None:
        self.elections = 0  # partitions that were given another leader
        self._summary = ChangeSummary()
        self._timer: asyncio.TimerHandle | None = None

    def committed(self, records: Sequence[Record], before: MetadataImage) -> None:
        self.elections += sum([isinstance(each, PartitionChange) and each.leader is not None for each in records])
        if not events.isEnabledFor(logging.WARNING):
            return
        self._summary.add(records, before)
        if self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(_GATHER_SECONDS, self.write)

    def write(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for important, text in self._summary.lines():
            events.log(logging.WARNING if important else logging.INFO, "%s", text)


class LimitedLog:
    """One line a second for each kind; the next one says how many were left out."""

    def __init__(self, log: logging.Logger, clock: Callable[[], float]) -> None:
        self._log = log
        self._clock = clock
        self._kinds: dict[str, tuple[float, int]] = {}  # when it may be told again, and how often it was not

    def warning(self, kind: str, text: str) -> None:
        now = self._clock()
        due, left_out = self._kinds.get(kind, (0.0, 0))
        if now < due:
            self._kinds[kind] = (due, left_out + 1)
            return
        if len(self._kinds) >= _KINDS_MAX:
            self._kinds = {name: known for name, known in self._kinds.items() if known[0] > now}
        if len(self._kinds) < _KINDS_MAX:
            self._kinds[kind] = (now + _LIMIT_SECONDS, 0)
        more = f" ({left_out:,} more like it since the last line)" if left_out else ""
        self._log.warning("%s%s", text, more)
