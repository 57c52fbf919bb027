"""A partition whose log is open: its log, its producers and transactions, its high watermark, and the parts that use
them.

| part       | what it does                                                     | module                  |
|------------|------------------------------------------------------------------|-------------------------|
| `appends`  | writes a leader's batches: of producers, coordinators, markers   | leader_appends.py       |
| `follower` | writes what the leader sent, cuts the end where the logs diverge | follower_log.py         |
| `waiters`  | parked fetches and acknowledgements that wait for the watermark  | waiters.py              |

The high watermark is the offset up to which a record can no longer be lost in the way the topic asks for. With one
replica that is the log end, or, where every write is flushed (`flush.messages=1`), the end of the last fsync: a
record that a power loss could take back is not shown to a reader. With several it is what every in-sync replica has
(leadership.py); a follower learns it from its leader.

The last stable offset is where the first transaction begins that is still open (or whose marker is not yet safe); a
read_committed reader sees nothing from there on. What was aborted below it is in `aborted`.
"""

from typing import TYPE_CHECKING

from barnabas.broker.partition.follower_log import FollowerLog
from barnabas.broker.partition.host import ReplicaHost
from barnabas.broker.partition.leader_appends import LeaderAppends
from barnabas.broker.partition.state import PartitionState
from barnabas.broker.partition.waiters import ENOUGH, Acknowledge, Waiters
from barnabas.core.partition.producers import Producers
from barnabas.model.errors import ErrorCode
from barnabas.storage.indexes.aborted import AbortedTransactions
from barnabas.storage.log import Log

if TYPE_CHECKING:
    from barnabas.broker.partition.partition import HostedPartition


class OpenPartition:
    __slots__ = (
        "_host",
        "aborted",
        "appends",
        "flushed_bytes",
        "follower",
        "high_watermark",
        "id",
        "log",
        "partition",
        "producers",
        "rebuild",
        "state",
        "waiters",
    )

    producers: Producers
    aborted: AbortedTransactions
    state: PartitionState  # both

    def __init__(
        self, partition: "HostedPartition", log: Log, state: PartitionState, high_watermark: int, host: ReplicaHost
    ) -> None:
        self.id = partition.id
        self.partition = partition
        self.log = log
        self._host = host
        self.rebuild: object | None = None  # a reading of the log under way; until its end `producers` is not true
        self.use_state(state)
        self.high_watermark = max(min(high_watermark, log.log_end_offset), log.log_start_offset)
        assert log.log_start_offset <= self.high_watermark <= log.log_end_offset
        self.flushed_bytes = 0 if log.unflushed_records else log.size_bytes  # at the last flush in the background
        self.waiters = Waiters()
        self.appends = LeaderAppends(self)
        self.follower = FollowerLog(self)

    @property
    def deleted(self) -> bool:
        return self.partition.deleted

    # --- producers ----------------------------------------------------------------------------------------------------

    def use_state(self, state: PartitionState) -> None:
        log, host = self.log, self._host
        self.state = state
        self.producers, self.aborted = state.producers, state.aborted
        self.producers.total = host.producer_total
        log.snapshot_source = state.producers.entries
        log.on_segment_created = host.segment_created
        self.rebuild = None

    def end_was_cut(self) -> None:
        """What `producers` says may be about records that are gone: it is read from the log anew, which takes 0.6 s for
        40 MiB of small batches and happens in a thread. Until then nothing is appended, no snapshot is written, nothing
        new counts as stable, and this replica does not lead."""
        self.rebuild = object()
        self.log.snapshot_source = None
        self.producers.trust_nothing()
        self._host.rebuild(self)

    def rebuilt(self, producers: Producers) -> None:
        self.use_state(PartitionState(producers, self.aborted))
        self.follower.producers_rebuilt()
        self.partition.producers_rebuilt()

    # --- the high watermark -------------------------------------------------------------------------------------------

    @property
    def own_end(self) -> int:
        """What of our own log counts for the high watermark."""
        log = self.log
        return log.recovery_point if self.partition.config.flush_every_write else log.log_end_offset

    @property
    def last_stable_offset(self) -> int:
        unstable = self.producers.first_unstable(self.high_watermark)
        if unstable is None or unstable > self.high_watermark:
            return self.high_watermark
        # Retention and DeleteRecords may have passed the first record of an open transaction.
        return max(unstable, self.log.log_start_offset)

    def advance_to(self, offset: int, size: int) -> None:
        """The high watermark has passed `size` more bytes."""
        assert offset >= self.high_watermark, f"{self.id}: high watermark from {self.high_watermark} back to {offset}"
        self.high_watermark = offset
        for slot in self.partition.leadership.slots:
            slot.watermark_moved()
        self.waiters.high_watermark_moved(self, size)

    def when_committed(self, offset: int, then: Acknowledge) -> None:
        """Call `then` with NONE once the high watermark is at `offset` (at once when it is), or with the reason why it
        will not be: NOT_LEADER_OR_FOLLOWER, UNKNOWN_TOPIC_OR_PARTITION."""
        partition = self.partition
        if partition.deleted:
            then(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        elif not partition.is_leader:
            then(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        elif self.high_watermark >= offset:
            then(ErrorCode.NONE)
        else:
            self.waiters.acks.append((offset, then))

    def low_watermark(self) -> int:
        """Where the log begins on every replica that is up."""
        return self.partition.leadership.low_watermark(self.log.log_start_offset)

    def flushed(self, offset: int) -> None:
        """An fsync has made everything below `offset` durable."""
        log, partition = self.log, self.partition
        if offset > log.recovery_point:
            log.recovery_point = offset
        if not partition.deleted:
            self.follower.log_flushed()
        if partition.deleted or not partition.is_leader or not partition.may_lead:
            return
        if partition.leadership.state is not None:
            partition.leadership.advance_high_watermark()
        elif offset > self.high_watermark:
            self.advance_to(offset, ENOUGH)
