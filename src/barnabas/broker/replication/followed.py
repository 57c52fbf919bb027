"""A partition that this node follows, in one leader epoch, as its fetcher knows it."""

from typing import TYPE_CHECKING, TypeAlias

from barnabas.broker.partition.partition import HostedPartition
from barnabas.model.errors import ErrorCode

if TYPE_CHECKING:
    from barnabas.wire.messages import FetchResponsePartitionData

NOT_YET = 1 << 62
SESSION_ERRORS = (
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
    ErrorCode.INVALID_FETCH_SESSION_EPOCH,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
)

Key = tuple[bytes, int]  # topic id, partition
Answered: TypeAlias = "FetchResponsePartitionData"


class Followed:
    __slots__ = ("backoff", "epoch", "held_until", "named_in", "named_offset", "partition", "throttled")

    def __init__(self, partition: HostedPartition, epoch: int) -> None:
        self.partition = partition
        self.epoch = epoch  # of its leader
        self.named_in = NOT_YET  # the number of the request that first named it: older answers are not about it
        self.named_offset = 0  # in the last request that named it
        self.backoff = 0.0
        self.held_until = 0.0
        self.throttled = False  # held because of the rate, not of an error
