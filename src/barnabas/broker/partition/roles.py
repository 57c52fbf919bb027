"""Leader or follower: what the cluster's image makes of a replica, and how far it is committed in either role.

| the image says       | this replica                                                                                 |
|----------------------|----------------------------------------------------------------------------------------------|
| we lead, a new epoch | begins the epoch at the end of its log, takes appends, counts its followers (`replicas`)     |
| we lead, as before   | takes over who is a replica and who is in sync                                               |
| another leads        | tells everybody who waits to look elsewhere; is filled by a fetcher (partition/following.py) |

The high watermark is the offset up to which a record can no longer be lost in the way the topic asks for. With one
replica that is the log end, or, where every write is flushed (`flush.messages=1`), the end of the last fsync: a
record that a power loss could take back is not shown to a reader. With several it is what every in-sync replica has
(core/partition/replicas.py); a follower learns it from its leader.
"""

from collections import deque

from barnabas.broker.partition.replica import Acknowledge, Replica
from barnabas.core.cluster.image import PartitionImage
from barnabas.core.partition.producers import Producers
from barnabas.core.partition.replicas import LeaderState
from barnabas.model.errors import ErrorCode, KafkaError

ENOUGH = 1 << 62  # bytes: whoever waits is woken


class RoledReplica(Replica):
    __slots__ = ()

    # --- roles --------------------------------------------------------------------------------------------------------

    def follow(self, image: PartitionImage) -> None:
        """What the cluster's image says of this partition now."""
        assert image.leader_epoch >= self.leader_epoch, f"{self.id}: leader epoch {image.leader_epoch} is an old one"
        led, self.image = self.is_leader, image
        self.is_leader = image.leader == self._replica_host.node_id
        newer = image.leader_epoch != self.leader_epoch
        self.leader_epoch = image.leader_epoch
        if led and (newer or not self.is_leader):
            self.replicas = None
            if self.is_open:
                self.log.epochs.truncate_from_end(self.log.log_end_offset)  # an epoch that we wrote nothing in
            self._send_away(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if self.is_leader and self.may_lead:
            if self.is_open and (newer or not led):
                self._lead()
            elif self.is_open or self.replicas is not None:
                self._take_replicas()
        self._count_isr()

    def _lead(self) -> None:
        self._begin_epoch()
        if self.config.flush_every_write and self.log.unflushed_records:
            self._flush_requested(self)  # what a follower has not flushed yet counts for nothing

    def rebuilt(self, producers: Producers) -> None:
        super().rebuilt(producers)
        if self.is_leader and not self.lost:  # it was chosen meanwhile
            self._lead()
            self._count_isr()

    def _begin_epoch(self) -> None:
        """We lead: from the end of our log on, batches carry our epoch (KIP-101)."""
        self.log.epochs.assign(self.leader_epoch, self.log.log_end_offset)
        self._take_replicas()

    def _take_replicas(self) -> None:
        """Who the replicas are, and what that makes of the high watermark.

        A leader knows them once its log is open. One that was never written to needs no log for it: its followers have
        all there is, and it notes them only while some are not in sync.
        """
        image, around, now_ms = self.image, self._replica_host, self._replica_host.steady_ms()
        if self.untouched and len(image.isr) == len(image.replicas):
            self.replicas = None
            return
        if len(image.replicas) == 1:
            self.replicas = None
            self._advance(max(self.high_watermark, self._own_end()), ENOUGH)
            return
        state = self.replicas
        if state is None:
            state = self.replicas = LeaderState(
                around.node_id,
                self.leader_epoch,
                self.end_offset,
                0 if self.untouched else self.high_watermark,
                around.eligible,
                now_ms,
                replicas=image.replicas,
                isr=image.isr,
                partition_epoch=image.partition_epoch,
            )
            for listener in self.listeners:  # a follower may have said how far it is before there was a log to open
                listener.changed()
        else:
            state.follow(image.replicas, image.isr, image.partition_epoch, now_ms)
        self.isr_changed()

    def isr_changed(self) -> None:
        """The image or the controller's answer has named other in-sync replicas."""
        self._count_isr()
        self.advance_high_watermark()

    def _count_isr(self) -> None:
        state, image = self.replicas, self.image
        if state is not None:
            state.min_insync = self.config.min_insync_replicas
            self.under_min_isr = state.under_min_isr
        else:
            wanted = min(self.config.min_insync_replicas, len(image.replicas))
            self.under_min_isr = self.is_leader and len(image.isr) < wanted

    def _send_away(self, code: ErrorCode) -> None:
        """Everybody who waits for this leader looks elsewhere."""
        acks, self._acks = self._acks, deque()
        deletions, self._deletions = self._deletions, []
        for waiter in list(self.waiters):
            waiter.arrived(self, ENOUGH)
        for listener in list(self.listeners):
            listener.changed()
        for _, acknowledge in (*acks, *deletions):
            acknowledge(code)

    def must_lead(self) -> None:
        """For whoever holds a partition for longer than a request: is it still ours to write to?"""
        if self.deleted:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{self.id} is being deleted")
        if not self.is_leader or self.rebuild is not None:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"this node does not lead {self.id}")
        if self.under_min_isr:
            raise KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS, f"too few replicas of {self.id} are in sync")

    def accept_loss(self) -> None:
        """Nobody else can lead: what is left here is all there is."""
        self.lost = False
        if self.is_leader and self.is_open and self.may_lead:
            self._begin_epoch()
            self._count_isr()

    # --- the high watermark -------------------------------------------------------------------------------------------

    def _own_end(self) -> int:
        """What of our own log counts for the high watermark."""
        return self.log.recovery_point if self.config.flush_every_write else self.log.log_end_offset

    def advance_high_watermark(self) -> None:
        """Our followers, or we, have got further: the high watermark moves as far as it may."""
        state, around = self.replicas, self._replica_host
        if state is not None and not self.untouched:
            offset = state.committed(self._own_end(), around.steady_ms(), around.max_lag_ms, around.heard)
            if offset > self.high_watermark:
                size, self._unseen_bytes = self._unseen_bytes, 0
                self._advance(offset, size)

    def _advance(self, offset: int, size: int) -> None:
        assert offset >= self.high_watermark, f"{self.id}: high watermark from {self.high_watermark} back to {offset}"
        self.high_watermark = offset
        for listener in self.listeners:
            listener.watermark_moved()
        if self.waiters:
            for waiter in self.waiters:
                waiter.arrived(self, size)
        acks = self._acks
        while acks and acks[0][0] <= offset:
            acks.popleft()[1](ErrorCode.NONE)

    def learn_watermark(self, offset: int) -> None:
        """A follower hears from its leader how far all is committed."""
        end = self.log.log_end_offset
        if self.lost and offset <= end:
            self.lost = False  # filled again
        offset = min(offset, end)
        if offset > self.high_watermark:
            self._advance(offset, ENOUGH)

    def when_committed(self, offset: int, then: Acknowledge) -> None:
        """Call `then` with NONE once the high watermark is at `offset` (at once when it is), or with the reason why it
        will not be: NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION."""
        if self.deleted:
            then(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        elif not self.is_leader:
            then(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        elif self.high_watermark >= offset:
            then(ErrorCode.NONE)
        else:
            self._acks.append((offset, then))

    def follower_fetched(
        self, replica_id: int, broker_epoch: int, offset: int, log_start_offset: int, now_ms: int
    ) -> bool:
        """A follower holds everything below `offset`. False when it may not say so."""
        if self.replicas is None and self.untouched:
            if replica_id in self.image.isr:
                return True
            self._take_replicas()
        state = self.replicas
        if state is None:
            return False
        end = self.end_offset
        if not state.fetched(replica_id, broker_epoch, offset, log_start_offset, end, now_ms):
            return False
        self.advance_high_watermark()
        if self._deletions:
            self._deleted_everywhere(state)
        if replica_id not in state.maximal_isr or offset < state.high_watermark:
            self._replica_host.isr_due(self)
        return True

    def look_at_followers(self) -> None:
        """What they said last counts once more: one that was cut off may be back, with nothing new to say."""
        for listener in list(self.listeners):
            listener.changed()

    # --- the low watermark --------------------------------------------------------------------------------------------

    def low_watermark(self) -> int:
        """Where the log begins on every replica that is up."""
        start = self.log.log_start_offset
        return start if self.replicas is None else min(start, self.replicas.low_watermark())

    def when_deleted(self, offset: int, then: Acknowledge) -> None:
        """Our log begins at `offset` now (DeleteRecords): call `then` when those of the followers do."""
        if self.replicas is None:
            then(ErrorCode.NONE)
            return
        self._deletions.append((offset, then))
        for listener in self.listeners:
            listener.changed()
        self._deleted_everywhere(self.replicas)

    def _deleted_everywhere(self, state: LeaderState) -> None:
        low = state.low_watermark()
        done = [(offset, then) for offset, then in self._deletions if offset <= low]
        self._deletions = [waiting for waiting in self._deletions if waiting[0] > low]
        for _, then in done:
            then(ErrorCode.NONE)

    # --- leaving ------------------------------------------------------------------------------------------------------

    def delete(self) -> None:
        """The topic is gone, or this replica of it: wake everybody, let the files go."""
        was_open = self.is_open
        self.deleted, self.is_leader, self.replicas = True, False, None
        self._send_away(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if was_open:
            self.log.let_go()  # its folder is removed by whoever holds all of them (partitions.py)
