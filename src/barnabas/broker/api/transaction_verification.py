"""What a leader notes before it asks the coordinator about a transaction, and compares when the answer is there.

The coordinator's yes is worth nothing when the transaction has ended meanwhile: its marker is in the partition, and a
batch behind it would open a transaction that nobody ends. It is also worth nothing when the partition has been led by
somebody else meanwhile, because what came then is not counted here.
"""

from typing import TYPE_CHECKING, NamedTuple

from barnabas.model.errors import ErrorCode, KafkaError

if TYPE_CHECKING:
    from barnabas.broker.partition.opened import OpenPartition


class Verification(NamedTuple):
    producer_id: int
    producer_epoch: int
    epoch_rises: bool  # transaction version 2: the producer gets a new epoch with every transaction
    endings: int  # markers of this producer in the partition, those that may belong to this transaction
    leader_epoch: int

    @property
    def producer(self) -> tuple[int, int]:
        return self.producer_id, self.producer_epoch


def begin(partition: "OpenPartition", producer: tuple[int, int], *, epoch_rises: bool) -> Verification:
    endings = partition.producers.endings(producer[0], epoch_rises=epoch_rises)
    return Verification(*producer, epoch_rises, endings, partition.partition.leader_epoch)


def overtaken(partition: "OpenPartition", noted: Verification) -> KafkaError | None:
    """Why the answer does not hold any more; None when it does."""
    if partition.partition.leader_epoch != noted.leader_epoch:
        return KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, "the leader changed while the coordinator was asked")
    producers = partition.producers
    if producers.has_newer_epoch(*noted.producer):
        # Before INVALID_TXN_STATE, which is fatal to a producer; this one it can recover from (KAFKA-19690).
        return KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH, "the transaction ended before its batch was written")
    if producers.endings(noted.producer_id, epoch_rises=noted.epoch_rises) != noted.endings:
        return KafkaError(ErrorCode.INVALID_TXN_STATE, "the transaction ended before its batch was written")
    return None
