"""Brings the image up to what the quorum has committed, from the records in the log, in turns.

A follower of the quorum hears of one commit that may be 10,000 records long: 50 ms of reading and decoding. A short one
is replayed at once, unless a long one is under way.
"""

import asyncio
import logging
from collections.abc import Callable

from barnabas.broker.quorum.metadata_log import MetadataLog
from barnabas.broker.quorum.topics_at_start import TopicsAtStart
from barnabas.core.cluster.image import MetadataImage

log = logging.getLogger(__name__)

RECORDS_AT_ONCE = 500  # 5 us each


class Replay:
    """`image` is that of the newest snapshot at the start, `end_offset` where the log ended then. `taken(image)`: this
    is committed. `failed(error)`: the log cannot be read, or the image not be served."""

    def __init__(
        self,
        metadata: MetadataLog,
        image: MetadataImage,
        end_offset: int,
        taken: Callable[[MetadataImage], None],
        failed: Callable[[BaseException], None],
    ) -> None:
        self._log = metadata
        self.at_start = TopicsAtStart(image, end_offset)
        self._taken = taken
        self._failed = failed
        self._end_offset = 0
        self._task: asyncio.Task[None] | None = None

    def up_to(self, end_offset: int, image: MetadataImage) -> MetadataImage | None:
        """The image with everything below `end_offset`; None when it is told later."""
        if self._task is None:
            missing = end_offset - 1 - image.offset
            if missing <= RECORDS_AT_ONCE:
                return self._replayed(image, end_offset)
            self._task = asyncio.ensure_future(self._run(image))
            self._task.add_done_callback(self._ended)
        self._end_offset = end_offset
        return None

    def _replayed(self, image: MetadataImage, end_offset: int) -> MetadataImage:
        if (start := self.at_start.end_before(end_offset)) is not None:
            if image.offset < start - 1:
                image = self._log.replay(image, start)
            self.at_start.look(image)
        return self._log.replay(image, end_offset) if image.offset < end_offset - 1 else image

    def before_reset(self, image: MetadataImage) -> None:
        """A snapshot of the leader takes the place of the log, and its image that of the one on the way."""
        self.stop()
        if (start := self.at_start.end_before(self._log.log.log_end_offset)) is not None:
            self._replayed(image, start)

    def stop(self) -> None:
        """Another image takes the place of the one that was being brought up to date, or the node stops."""
        if self._task is not None:
            self._task.cancel()
            self._task = None

    async def _run(self, image: MetadataImage) -> None:
        while True:
            if (start := self.at_start.end_before(self._end_offset)) is not None:
                if image.offset < start - 1:
                    image = await self._log.replay_in_turns(image, start)
                self.at_start.look(image)
            image = await self._log.replay_in_turns(image, self._end_offset)
            if image.offset >= self._end_offset - 1:
                self._task = None  # before it is told: what follows from it may be committed at once
                self._taken(image)
                return
            self._taken(image)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            self._failed(error)
