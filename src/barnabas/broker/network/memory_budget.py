"""What clients may make a node hold, all together. `queued.max.request.bytes` sets the scale.

| what                                        | at most                                                    |
|---------------------------------------------|------------------------------------------------------------|
| requests that have not arrived whole        | the setting; by default an eighth of the machine's memory  |
| ... and one of them beyond that             | `socket.request.max.bytes`, twice while its buffer grows   |
| copies of large ones that are worked off    | as much again                                              |
| what is decoded of large ones               | a quarter of the setting, and one large request            |
| ... of those that wait for other clients    | GROUP_METADATA_NODE_MAX_BYTES                              |
| answers that clients do not read            | NODE_QUEUED_MAX_BYTES                                      |
| partitions of fetch sessions                | a quarter of the setting                                   |
| partitions of fetches that wait for records | a quarter of the setting                                   |
| what members of groups say of themselves    | GROUP_METADATA_NODE_MAX_BYTES                              |
| producers that are told apart (idempotence) | PRODUCERS_PER_NODE_MAX                                     |
| large batches while they are opened         | OPENED_AT_ONCE_MAX, opened and compressed anew             |

Not in it: small requests while they are worked off, what the cluster consists of (topics, rules, committed offsets),
and what is bounded below 100 MiB (metrics that clients push, logins).
"""

from typing import NamedTuple

from barnabas.model import limits
from barnabas.model.settings import Settings

_MIB = 1 << 20
_GROUPS_BYTES = limits.GROUP_METADATA_NODE_MAX_BYTES
_PRODUCERS_BYTES = limits.PRODUCERS_PER_NODE_MAX * limits.PRODUCER_BYTES
_DECODED_BYTES = limits.REQUEST_ELEMENTS_MAX * limits.DECODED_ELEMENT_BYTES  # of the largest request
_OPENED_BYTES = limits.OPENED_AT_ONCE_MAX * 2 * limits.DECOMPRESS_MAX_BYTES


class MemoryBudget(NamedTuple):
    requests_bytes: int
    request_max_bytes: int
    session_partitions: int
    parked_partitions: int

    @property
    def decoded_bytes(self) -> int:
        """While what is decoded of large requests holds more, the next one waits."""
        return self.requests_bytes // 4

    @property
    def total_bytes(self) -> int:
        partitions = self.session_partitions + self.parked_partitions
        fetches = limits.NODE_QUEUED_MAX_BYTES + partitions * limits.SESSION_PARTITION_BYTES
        requests = 2 * self.requests_bytes + 3 * self.request_max_bytes
        decoded = self.decoded_bytes + _DECODED_BYTES + _GROUPS_BYTES
        return requests + decoded + fetches + _GROUPS_BYTES + _PRODUCERS_BYTES + _OPENED_BYTES

    def summary(self) -> str:
        partitions = self.session_partitions + self.parked_partitions
        parts = (
            f"{self.requests_bytes // _MIB} MiB of requests that arrive (queued.max.request.bytes) and one of "
            f"{self.request_max_bytes // _MIB} MiB, as much of requests that are worked off",
            f"{(self.decoded_bytes + _DECODED_BYTES + _GROUPS_BYTES) // _MIB} MiB decoded of them",
            f"{limits.NODE_QUEUED_MAX_BYTES // _MIB} MiB of answers not read",
            f"fetches of {partitions:,} partitions",
            f"{_GROUPS_BYTES // _MIB} MiB of groups",
            f"{_PRODUCERS_BYTES // _MIB} MiB of producers",
            f"{_OPENED_BYTES // _MIB} MiB of batches being opened",
        )
        return f"clients can make this node hold at most {self.total_bytes // _MIB} MiB: {', '.join(parts)}"


def memory_budget(settings: Settings, machine_bytes: int) -> MemoryBudget:
    given = settings.int("queued.max.request.bytes")
    share = machine_bytes // limits.REQUEST_MEMORY_SHARE
    usual = max(limits.REQUEST_MEMORY_MIN_BYTES, min(share, limits.REQUEST_MEMORY_MAX_BYTES))
    requests = given if given > 0 else usual
    partitions = max(requests // 4 // limits.SESSION_PARTITION_BYTES, limits.FETCH_SESSION_PARTITIONS_MAX)
    return MemoryBudget(requests, settings.int("socket.request.max.bytes"), partitions, partitions)
