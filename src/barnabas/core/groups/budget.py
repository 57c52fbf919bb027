"""The sum of what members of groups say of themselves, over all groups of a node.

What is brought is added up; what goes away is noticed when the sum reaches the limit and everything is counted anew.
So a join costs an addition, however many members there are.
"""

from collections.abc import Callable

from barnabas.model.limits import GROUP_METADATA_NODE_MAX_BYTES

_RECOUNT_MS = 1_000  # at the limit, counting again for every join would take more time than the joins


class MetadataBudget:
    __slots__ = ("_counted_ms", "_limit", "_recount", "_sum")

    def __init__(self, recount: Callable[[], int], limit: int = GROUP_METADATA_NODE_MAX_BYTES) -> None:
        self._recount = recount
        self._limit = limit
        self._sum = 0
        self._counted_ms = -_RECOUNT_MS

    def admits(self, more: int, now_ms: int) -> bool:
        if self._sum + more > self._limit and now_ms - self._counted_ms >= _RECOUNT_MS:
            self._sum, self._counted_ms = self._recount(), now_ms
        if self._sum + more > self._limit:
            return False
        self._sum += more
        return True
