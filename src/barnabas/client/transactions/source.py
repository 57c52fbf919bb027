"""The consumer's side of a transaction: how far it has read, in whose name, and back to where it was.

A group's offsets move in the same transaction as the records made from its messages, so they must be the offsets of
partitions that are still this member's. Three things keep a zombie out (KIP-447):

- a partition that left while its messages were not recorded yet spoils the transaction: its next owner reads them too;
- the group's metadata go with the offsets, and the coordinator refuses those of a generation that is over;
- librdkafka forgets its member id when it was thrown out, and a nameless commit would be let in: so the id must still
  be the one that the partitions were given to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from barnabas.client.common.connection import logger
from barnabas.client.consumer.buffer import Offsets
from barnabas.client.errors import BadSetting, BarnabasError, TransactionAborted
from barnabas.model.ids import TopicPartition

if TYPE_CHECKING:
    from barnabas.client.consumer.consumer import Consumer


class Source:
    def __init__(self, consumer: Consumer) -> None:
        reader = consumer._reader
        if reader.commit_mode != "manual":
            raise BadSetting(
                "a transaction records the consumer's places itself: make the consumer with a group and "
                'commit="manual", as in Consumer("orders", group="billing", commit="manual")'
            )
        self.consumer = consumer
        self._reader = reader

    def offsets(self, wanted: Mapping[TopicPartition, int] | None = None) -> Offsets:
        """The next offset of each partition, of everything handed out since the last commit or of what is wanted."""
        found = (
            self._reader.uncommitted() if wanted is None else {TopicPartition(*each): wanted[each] for each in wanted}
        )
        gone = self._reader.taken_away | (found.keys() - self._reader.membership.assigned)
        if gone:
            names = ", ".join(f"{each.topic}-{each.partition}" for each in sorted(gone))
            raise TransactionAborted(f"the group gave {names} to another member while its messages were in work")
        return found

    def group_metadata(self) -> object:
        metadata = self._reader.group_metadata()
        if metadata is None:
            raise TransactionAborted(f"this consumer is no member of group {self.consumer.group!r} any more")
        return metadata

    def settle(self) -> None:
        """It is recorded."""
        self._reader.settle()

    def rewind(self, certain: bool) -> None:
        """Back to the first message that is not recorded. Not `certain`: ask the group what is."""
        try:
            self._reader.rewind(ask=not certain)
        except BarnabasError as error:  # the reason for going back matters more
            logger.error("%s", error)
