"""What clients may make a node hold, all together. `queued.max.request.bytes` sets the scale.

| what                                        | at most                                                    |
|---------------------------------------------|------------------------------------------------------------|
| requests that have not arrived whole        | the setting; by default an eighth of the machine's memory  |
| ... and one of them beyond that             | `socket.request.max.bytes`, twice while its buffer grows   |
| answers that clients do not read            | NODE_QUEUED_MAX_BYTES                                      |
| partitions of fetch sessions                | a quarter of the setting                                   |
| partitions of fetches that wait for records | a quarter of the setting                                   |
"""

from typing import NamedTuple

from barnabas.model import limits
from barnabas.model.settings import Settings

_MIB = 1 << 20


class MemoryBudget(NamedTuple):
    requests_bytes: int
    request_max_bytes: int
    session_partitions: int
    parked_partitions: int

    @property
    def total_bytes(self) -> int:
        partitions = self.session_partitions + self.parked_partitions
        answers = limits.NODE_QUEUED_MAX_BYTES
        return self.requests_bytes + 2 * self.request_max_bytes + answers + partitions * limits.SESSION_PARTITION_BYTES

    def summary(self) -> str:
        return (
            f"clients can make this node hold at most {self.total_bytes // _MIB} MiB: "
            f"{self.requests_bytes // _MIB} MiB of requests that arrive (queued.max.request.bytes) and one of "
            f"{self.request_max_bytes // _MIB} MiB, {limits.NODE_QUEUED_MAX_BYTES // _MIB} MiB of answers not read, "
            f"fetches of {self.session_partitions + self.parked_partitions:,} partitions"
        )


def memory_budget(settings: Settings, machine_bytes: int) -> MemoryBudget:
    given = settings.int("queued.max.request.bytes")
    share = machine_bytes // limits.REQUEST_MEMORY_SHARE
    usual = max(limits.REQUEST_MEMORY_MIN_BYTES, min(share, limits.REQUEST_MEMORY_MAX_BYTES))
    requests = given if given > 0 else usual
    partitions = max(requests // 4 // limits.SESSION_PARTITION_BYTES, limits.FETCH_SESSION_PARTITIONS_MAX)
    return MemoryBudget(requests, settings.int("socket.request.max.bytes"), partitions, partitions)
