"""The leader's part of a replica: which replicas are in sync, what that makes of the high and the low watermark.

`state` counts the followers (core/partition/replicas.py). A leader has it once its log is open and there are other
replicas. A partition that was never written to needs no log for it: its followers have all there is, and they are
counted only while some are not in sync.
"""

from typing import TYPE_CHECKING, Protocol

from barnabas.broker.partition.host import ReplicaHost
from barnabas.broker.partition.waiters import ENOUGH, Acknowledge
from barnabas.core.partition.replicas import LeaderState
from barnabas.model.errors import ErrorCode
from barnabas.model.zones import too_few

if TYPE_CHECKING:
    from barnabas.broker.partition.partition import HostedPartition


class FollowerSlot(Protocol):
    """The partition in a follower's fetch session."""

    def appended(self) -> None: ...
    def watermark_moved(self) -> None: ...
    def changed(self) -> None: ...
    def log_cut(self) -> None: ...


class Leadership:
    __slots__ = ("_deletions", "_host", "_partition", "slots", "state", "under_min_isr", "unseen_bytes")

    def __init__(self, partition: "HostedPartition", host: ReplicaHost) -> None:
        self._partition = partition
        self._host = host
        self.state: LeaderState | None = None
        self.under_min_isr = False
        self.slots: list[FollowerSlot] = []
        self.unseen_bytes = 0  # appended, not yet below the high watermark
        self._deletions: list[tuple[int, Acknowledge]] = []  # DeleteRecords, by the low watermark that each waits for

    # --- in-sync replicas ---------------------------------------------------------------------------------------------

    def update_replicas(self) -> None:
        """Take the replicas from the image, and move the high watermark as far as that allows."""
        partition, host, now_ms = self._partition, self._host, self._host.steady_ms()
        image, opened = partition.image, partition.opened
        if partition.untouched and len(image.isr) == len(image.replicas):
            self.state = None
            return
        if len(image.replicas) == 1:
            self.state = None
            if opened is not None:
                opened.advance_to(max(opened.high_watermark, opened.own_end), ENOUGH)
            return
        if self.state is None:
            self.state = LeaderState(
                host.node_id,
                partition.leader_epoch,
                self.end_offset,
                0 if opened is None else opened.high_watermark,
                host.eligible,
                now_ms,
                replicas=image.replicas,
                isr=image.isr,
                partition_epoch=image.partition_epoch,
                zone_of=host.zone_of,
            )
            for slot in self.slots:  # a follower may have said how far it is before there was a log to open
                slot.changed()
        else:
            self.state.follow(image.replicas, image.isr, image.partition_epoch, now_ms)
        self.isr_changed()

    def begin_anew(self) -> None:
        """The end of our log was cut: what was committed beyond it no longer is."""
        for slot in self.slots:
            slot.log_cut()
        self.state = None
        self.update_replicas()
        self.recheck_followers()

    def isr_changed(self) -> None:
        """The image or the controller's answer has named other in-sync replicas."""
        self.check_min_isr()
        self.advance_high_watermark()

    def check_min_isr(self) -> None:
        state, partition = self.state, self._partition
        least, zones = partition.config.min_insync_replicas, partition.config.min_insync_zones
        if state is not None:
            state.need(least, zones)
            self.under_min_isr = state.under_min_isr
        else:
            image = partition.image
            self.under_min_isr = partition.is_leader and (
                len(image.isr) < min(least, len(image.replicas)) or too_few(image.isr, zones, self._host.zone_of)
            )

    # --- followers ----------------------------------------------------------------------------------------------------

    @property
    def end_offset(self) -> int:
        """Where the log ends: at 0 where there is no log yet. Whatever has a folder is open before it has a state."""
        opened = self._partition.opened
        return 0 if opened is None else opened.log.log_end_offset

    def follower_fetched(
        self, replica_id: int, broker_epoch: int, offset: int, log_start_offset: int, now_ms: int
    ) -> bool:
        """A follower holds everything below `offset`. False when it may not say so."""
        partition = self._partition
        if self.state is None and partition.untouched:
            if replica_id in partition.image.isr:
                return True
            self.update_replicas()
        state = self.state
        if state is None:
            return False
        if not state.fetched(replica_id, broker_epoch, offset, log_start_offset, self.end_offset, now_ms):
            return False
        self.advance_high_watermark()
        if self._deletions:
            self._complete_deletions(state)
        if replica_id not in state.maximal_isr or offset < state.high_watermark:
            self._host.check_isr(partition)
        return True

    def follower_behind(self, replica_id: int, last_fetch_ms: int) -> None:
        """There are records that it has not had since its last fetch. Until it names the partition again, its fetches
        of others do not count here."""
        follower = None if self.state is None else self.state.followers.get(replica_id)
        if follower is not None and self.end_offset > follower.offset:
            follower.behind(last_fetch_ms)

    def recheck_followers(self) -> None:
        """What they said last counts once more: one that was cut off may be back, with nothing new to say."""
        for slot in list(self.slots):
            slot.changed()

    def advance_high_watermark(self) -> None:
        """The followers, or this log, have got further: the high watermark moves as far as it may."""
        state, opened = self.state, self._partition.opened
        if state is not None and opened is not None:
            host = self._host
            offset = state.committed(opened.own_end, host.steady_ms(), host.max_lag_ms, host.last_fetches)
            if offset > opened.high_watermark:
                size, self.unseen_bytes = self.unseen_bytes, 0
                opened.advance_to(offset, size)

    # --- the low watermark --------------------------------------------------------------------------------------------

    def low_watermark(self, log_start_offset: int) -> int:
        """Where the log begins on every replica that is up."""
        return log_start_offset if self.state is None else min(log_start_offset, self.state.low_watermark())

    def when_deleted(self, offset: int, then: Acknowledge) -> None:
        """Our log begins at `offset` now (DeleteRecords): call `then` when those of the followers do."""
        if self.state is None:
            then(ErrorCode.NONE)
            return
        self._deletions.append((offset, then))
        for slot in self.slots:
            slot.changed()
        self._complete_deletions(self.state)

    def _complete_deletions(self, state: LeaderState) -> None:
        low = state.low_watermark()
        done = [then for offset, then in self._deletions if offset <= low]
        self._deletions = [waiting for waiting in self._deletions if waiting[0] > low]
        for then in done:
            then(ErrorCode.NONE)

    def remove_deletions(self) -> list[Acknowledge]:
        """Those that wait, for the caller to refuse."""
        deletions, self._deletions = self._deletions, []
        return [then for _, then in deletions]
