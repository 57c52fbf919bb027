"""The committed offsets of one shard: group -> topic -> partition -> offset."""

from collections.abc import Iterator

from barnabas.core.groups.records.offset_commit import CommittedOffset

_Topics = dict[str, dict[int, CommittedOffset]]


class OffsetStore:
    __slots__ = ("_groups", "_readers")

    def __init__(self) -> None:
        self._groups: dict[str, _Topics] = {}
        self._readers: dict[str, set[str]] = {}  # topic -> the groups that have offsets in it

    def get(self, group_id: str, topic: str, partition: int) -> CommittedOffset | None:
        return self._groups.get(group_id, {}).get(topic, {}).get(partition)

    def put(self, group_id: str, topic: str, partition: int, offset: CommittedOffset) -> None:
        topics = self._groups.setdefault(group_id, {})
        if topic not in topics:
            topics[topic] = {}
            self._readers.setdefault(topic, set()).add(group_id)
        topics[topic][partition] = offset

    def remove(self, group_id: str, topic: str, partition: int) -> bool:
        """False when there was nothing: a tombstone may outlive what it removed (compaction)."""
        topics = self._groups.get(group_id)
        partitions = topics.get(topic) if topics else None
        if topics is None or partitions is None or partitions.pop(partition, None) is None:
            return False
        if not partitions:
            del topics[topic]
            self._readers[topic].discard(group_id)
            if not self._readers[topic]:
                del self._readers[topic]
            if not topics:
                del self._groups[group_id]
        return True

    def has_any(self, group_id: str) -> bool:
        return group_id in self._groups

    def of_group(self, group_id: str) -> Iterator[tuple[str, int, CommittedOffset]]:
        """A snapshot: entries may be removed while it is walked."""
        topics = self._groups.get(group_id, {})
        yield from [(topic, number, kept) for topic, numbers in topics.items() for number, kept in numbers.items()]

    def topics_of(self, group_id: str) -> list[str]:
        return list(self._groups.get(group_id, {}))

    def partitions_of(self, group_id: str, topic: str) -> list[int]:
        return list(self._groups.get(group_id, {}).get(topic, {}))

    def group_ids(self) -> list[str]:
        return list(self._groups)

    def topics(self) -> set[str]:
        return set(self._readers)

    def groups_with(self, topic: str) -> list[str]:
        return sorted(self._readers.get(topic, ()))
