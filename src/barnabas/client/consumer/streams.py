"""Several iterators that share a topic's partitions evenly, for as many threads.

    with create_message_streams("clicks", 4, group="counters") as streams:
        with ThreadPoolExecutor(4) as pool:
            list(pool.map(count, streams))

Each stream is a consumer of its own in the one group, so that the group's rules do the sharing: no more than one
partition of difference between two streams, and when one ends the others take over its share. Streams past the number
of partitions wait empty-handed.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Self, overload

from barnabas.client.consumer.consumer import Consumer
from barnabas.client.errors import BadSetting

STREAMS_MAX = 1_000  # each is a consumer with its own connections and threads inside librdkafka


class MessageStreams(Sequence[Consumer]):
    """The streams; closing it (or leaving its `with` block) closes them all."""

    def __init__(self, streams: list[Consumer]) -> None:
        self._streams = streams

    @overload
    def __getitem__(self, index: int) -> Consumer: ...
    @overload
    def __getitem__(self, index: slice) -> list[Consumer]: ...
    def __getitem__(self, index: int | slice) -> Consumer | list[Consumer]:
        return self._streams[index]

    def __len__(self) -> int:
        return len(self._streams)

    def stop(self) -> None:
        """Ends all loops soon; from any thread."""
        for each in self._streams:
            each.stop()

    def close(self) -> None:
        """Closes all of them, after their threads are done with them. Each leaves the group at once."""
        failure: BaseException | None = None
        for each in self._streams:
            try:
                each.close()
            except Exception as error:  # the others are closed as well; the first one is raised after that
                failure = failure or error
        if failure is not None:
            raise failure

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()
        for each in self._streams:
            each.__exit__(kind, error, at)


def create_message_streams(
    topics: str | Sequence[str],
    streams: int = 1,
    *,
    group: str,
    bootstrap: str | None = None,
    **options: Any,  # as Consumer takes them
) -> MessageStreams:
    """`streams` iterators in one group; the options are those of Consumer."""
    if not 1 <= streams <= STREAMS_MAX:
        raise BadSetting(f"streams: between 1 and {STREAMS_MAX}, not {streams}")
    if not group:
        raise BadSetting("streams share a topic as a group, so they need its name")
    names = [topics] if isinstance(topics, str) else list(topics)
    made: list[Consumer] = []
    try:
        for _ in range(streams):
            made.append(Consumer(*names, bootstrap=bootstrap, group=group, **options))
    except BaseException:
        MessageStreams(made).close()
        raise
    return MessageStreams(made)
