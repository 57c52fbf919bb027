"""What the leader of a partition knows of its replicas: how far each has got, who is in sync, what is committed.

A record is committed when every replica that may be in sync has it; the high watermark is the offset after the last one
of those. "May be" is the point (KIP-497): while a change of the in-sync replicas is on its way to the controller,
nobody knows which of the two sets counts, so the larger one does (`maximal_isr`). And nothing is committed while fewer
replicas are in sync than `min.insync.replicas` asks for (KIP-966), for such a record could be lost with them; nor while
they are in fewer zones than `min.insync.zones` asks for. In which zone a replica is, is known from the same image that
says that it may be in sync: a broker changes its zone by registering anew, which takes it out of the in-sync replicas,
so leader and controller count the same zones for the same partition epoch.

| what happens                                                        | what follows                                  |
|---------------------------------------------------------------------|-----------------------------------------------|
| a follower's Fetch: it holds everything below its offset             | its progress, perhaps the high watermark     |
| a follower outside reaches the high watermark and this epoch's start | it may join: `proposal`                      |
| an in-sync follower has not reached the end for `max_lag_ms`         | it has to leave: `proposal`                  |
| an in-sync follower fetches below the high watermark                 | its log was lost: it has to leave at once     |
| the controller agrees (or the image shows it)                        | the new set counts, and nothing is pending    |
| INELIGIBLE_REPLICA, OPERATION_NOT_ATTEMPTED                          | back to the old set; tried again when due (1) |
| FENCED_LEADER_EPOCH, INVALID_UPDATE_VERSION, ... (`_WAIT_FOR_IMAGE`) | the larger set counts; an image tells (2)     |
| anything else (no controller, a timeout)                             | the same proposal is sent again               |

(1) If the same proposal was sent before and never answered, that one may still arrive and be accepted: its replicas
count for `DOUBT_MS` more.
(2) The refusal may be due to a change that the controller had not committed yet, such as this very proposal, sent
before. When that controller is deposed the change never shows in an image, so after `IMAGE_WAIT_MS` it is sent again.

One proposal at a time is in flight. Time is an argument, milliseconds of a steady clock. A partition whose only replica
is its leader needs none of this.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from barnabas.model.errors import ErrorCode
from barnabas.model.zones import ZoneOf, too_few

UNKNOWN_OFFSET = -1
NEVER = -(1 << 62)  # milliseconds
DOUBT_MS = 10_000  # how long a request that nobody answered may still be on its way
IMAGE_WAIT_MS = 1_000  # an image follows its commit within milliseconds
_UNANSWERED = 1 << 62
_WAIT_FOR_IMAGE = frozenset(
    {
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NEW_LEADER_ELECTED,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
)
_TAKE_BACK = frozenset({ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED})


class IsrChange(NamedTuple):
    """A proposal to the controller: the in-sync replicas as they should be, each with the epoch of its broker."""

    isr: tuple[tuple[int, int], ...]
    leader_epoch: int
    partition_epoch: int


class Follower:
    """How far one follower has got, as its fetches tell."""

    __slots__ = (
        "at_end",
        "away",
        "broker_epoch",
        "caught_up_ms",
        "fetched_ms",
        "leader_end",
        "log_start_offset",
        "offset",
    )

    def __init__(self, caught_up_ms: int) -> None:
        self.offset = UNKNOWN_OFFSET  # it holds everything below
        self.log_start_offset = UNKNOWN_OFFSET
        self.broker_epoch = -1
        self.at_end = False  # it had everything when it was last looked at, and has been sent nothing since
        self.caught_up_ms = caught_up_ms  # when it last had all there was
        self.fetched_ms = -1  # a fetch of it, and where our log ended then: what it has to reach
        self.leader_end = 0
        self.away = False  # fenced since its last fetch: what it had then says nothing of what it will take

    def fetched(self, offset: int, leader_end: int, now_ms: int) -> None:
        """Kafka's rule: having now all there is counts, and so does having now what there was at an earlier fetch, as
        of then. Kafka compares with the last fetch, which is a round trip ago. Here several may be under way, so what
        there was stays to be reached until it is. One that comes back with less than it had is a stranger."""
        self.away = False
        if offset < self.offset:
            self.caught_up_ms, self.fetched_ms = NEVER, -1
        if offset >= leader_end:
            self.caught_up_ms = now_ms
        elif self.fetched_ms >= 0 and offset >= self.leader_end:
            self.caught_up_ms = max(self.caught_up_ms, self.fetched_ms)
        self.at_end = offset >= leader_end
        if self.fetched_ms < 0 or offset >= self.leader_end:
            self.leader_end, self.fetched_ms = leader_end, now_ms
        self.offset = offset

    def behind(self, last_fetch_ms: int) -> None:
        """There is more than it has: it was caught up until its broker last fetched."""
        if self.at_end:
            self.at_end = False
            self.caught_up_ms = self.fetched_ms = max(self.caught_up_ms, last_fetch_ms)

    def caught_up(self, last_fetch_ms: int) -> int:
        """When it last had everything. An idle partition is not named in its broker's fetches: any fetch will do."""
        return max(self.caught_up_ms, last_fetch_ms) if self.at_end else self.caught_up_ms


class LeaderState:
    """The leader's view of one partition in one leader epoch."""

    __slots__ = (
        "_again_at_ms",
        "_doubt_until_ms",
        "_doubtful",
        "_eligible",
        "_pending",
        "_sent",
        "_zone_of",
        "_zones",
        "epoch_start_offset",
        "followers",
        "high_watermark",
        "isr",
        "leader_epoch",
        "local_id",
        "maximal_isr",
        "min_insync",
        "min_zones",
        "partition_epoch",
        "replicas",
        "too_few_zones",
    )

    def __init__(
        self,
        local_id: int,
        leader_epoch: int,
        epoch_start_offset: int,
        high_watermark: int,
        eligible: Callable[[int, int], bool],
        now_ms: int,
        *,
        replicas: Sequence[int],
        isr: Sequence[int],
        partition_epoch: int,
        min_insync: int = 1,
        min_zones: int = 1,
        zone_of: ZoneOf = lambda _: None,
    ) -> None:
        """`eligible(broker id, broker epoch)`: may this broker be in sync, as the image has it? -1: epoch not known.
        `zone_of(broker id)`: by the same image."""
        self.local_id = local_id
        self.leader_epoch = leader_epoch
        self.epoch_start_offset = epoch_start_offset
        self.high_watermark = high_watermark
        self._eligible = eligible
        self.replicas: tuple[int, ...] = ()
        self.followers: dict[int, Follower] = {}
        self.isr = self.maximal_isr = frozenset(isr)
        self.partition_epoch = -1
        self.min_insync = min_insync
        self.min_zones = min_zones
        self.too_few_zones = False
        self._zone_of = zone_of
        self._zones: dict[int, str | None] = {}  # of the replicas that are in sync, or were proposed
        self._pending: frozenset[int] | None = None  # the set proposed, until its fate is known
        self._sent = False
        self._doubtful = False  # was the pending proposal sent without an answer?
        self._doubt_until_ms = NEVER
        self._again_at_ms = _UNANSWERED  # when what was sent is sent once more without an answer of the image
        self.follow(replicas, isr, partition_epoch, now_ms)

    # --- the image ----------------------------------------------------------------------------------------------------

    def follow(self, replicas: Sequence[int], isr: Sequence[int], partition_epoch: int, now_ms: int) -> bool:
        """The partition as the image has it, in our own epoch; False when it is older than what we know."""
        if partition_epoch <= self.partition_epoch:
            return False
        self.replicas = tuple(replicas)
        known, self.followers = self.followers, {}
        for replica in replicas:
            if replica != self.local_id:
                self.followers[replica] = known.get(replica) or Follower(now_ms if replica in isr else NEVER)
        self._zones = {replica: self._zone_of(replica) for replica in isr}
        self._settle(isr, partition_epoch)
        return True

    def _settle(self, isr: Collection[int], partition_epoch: int) -> None:
        self.isr = self.maximal_isr = frozenset(isr)
        self.partition_epoch = partition_epoch
        self._pending, self._sent, self._doubtful, self._doubt_until_ms = None, False, False, NEVER
        self._count_zones()

    def _count_zones(self) -> None:
        self.too_few_zones = too_few(self.isr, self.min_zones, self._zones.get)

    def need(self, replicas: int, zones: int) -> None:
        """So many replicas in so many zones have to be in sync for a commit."""
        self.min_insync, self.min_zones = replicas, zones
        self._count_zones()

    @property
    def effective_min_insync(self) -> int:
        return min(self.min_insync, len(self.replicas))

    @property
    def under_min_isr(self) -> bool:
        return len(self.isr) < self.effective_min_insync or self.too_few_zones

    # --- progress -----------------------------------------------------------------------------------------------------

    def fetched(
        self, replica: int, broker_epoch: int, offset: int, log_start_offset: int, leader_end: int, now_ms: int
    ) -> bool:
        """A follower holds everything below `offset`. False when this is no follower, or one of its former lives."""
        follower = self.followers.get(replica)
        if follower is None or 0 <= broker_epoch < follower.broker_epoch:
            return False
        follower.broker_epoch = broker_epoch
        follower.log_start_offset = log_start_offset
        follower.fetched(offset, leader_end, now_ms)
        return True

    def fenced(self, brokers: Collection[int]) -> None:
        """These may not be in sync any more, and have to fetch again before they may: one that is unfenced because it
        can be read from (its disk is full) does not, and nobody must wait for it."""
        for replica in brokers:
            if replica in self.followers:
                self.followers[replica].away = True

    def committed(self, own_end: int, now_ms: int, max_lag_ms: int, last_fetches: Mapping[int, int]) -> int:
        """The high watermark, moved as far as it may. `own_end`: what of our own log counts (its end, or what is
        flushed). It waits for a follower that is about to join, too: else it would never catch up with it."""
        if len(self.isr) < self.effective_min_insync or self.too_few_zones:
            return self.high_watermark
        offset = own_end
        for replica, follower in self.followers.items():
            if follower.offset < offset and (
                replica in self.maximal_isr or self._about_to_join(replica, follower, now_ms, max_lag_ms, last_fetches)
            ):
                offset = follower.offset
        if offset > self.high_watermark:
            self.high_watermark = offset
        return self.high_watermark

    def _about_to_join(
        self, replica: int, follower: Follower, now_ms: int, max_lag_ms: int, last_fetches: Mapping[int, int]
    ) -> bool:
        caught_up = now_ms - follower.caught_up(last_fetches.get(replica, -1)) <= max_lag_ms
        return caught_up and not follower.away and self._eligible(replica, follower.broker_epoch)

    def low_watermark(self) -> int:
        """The lowest start of a follower's log; those that are down do not count."""
        starts = [
            follower.log_start_offset
            for replica, follower in self.followers.items()
            if self._eligible(replica, follower.broker_epoch)
        ]
        return min(starts, default=1 << 62)

    # --- the in-sync replicas -----------------------------------------------------------------------------------------

    def may_join(self, replica: int, follower: Follower) -> bool:
        return (
            replica not in self.maximal_isr
            and follower.offset >= self.high_watermark
            and follower.offset >= self.epoch_start_offset
            and not follower.away
            and self._eligible(replica, follower.broker_epoch)
        )

    def must_leave(
        self, replica: int, leader_end: int, now_ms: int, max_lag_ms: int, last_fetches: Mapping[int, int]
    ) -> bool:
        follower = self.followers.get(replica)
        if follower is None:
            return replica != self.local_id
        if UNKNOWN_OFFSET < follower.offset < self.high_watermark:
            return True  # it had all this once, or it would not be in sync: its log was lost
        if follower.offset >= leader_end:
            return False
        return now_ms - follower.caught_up(last_fetches.get(replica, -1)) > max_lag_ms

    def proposal(
        self, leader_end: int, now_ms: int, max_lag_ms: int, last_fetches: Mapping[int, int]
    ) -> IsrChange | None:
        """What the controller should be asked for now; None when all is well, or when it has been asked already."""
        if now_ms < self._doubt_until_ms or (self._sent and now_ms < self._again_at_ms):
            return None
        self._doubtful |= self._sent
        if self._pending is None:
            self.maximal_isr = self.isr
            joining = {replica for replica, follower in self.followers.items() if self.may_join(replica, follower)}
            wanted = self.isr | joining
            if not joining:  # one step at a time, as in Kafka: first in, then out
                wanted = frozenset(
                    replica
                    for replica in self.isr
                    if not self.must_leave(replica, leader_end, now_ms, max_lag_ms, last_fetches)
                )
            if wanted == self.isr or self.local_id not in wanted:
                return None
            self._pending = wanted
            self._zones.update((replica, self._zone_of(replica)) for replica in joining)
            self.maximal_isr = self.isr | wanted
        self._sent, self._again_at_ms = True, _UNANSWERED
        followers = self.followers
        return IsrChange(
            tuple(
                (replica, followers[replica].broker_epoch if replica in followers else -1)
                for replica in self.replicas
                if replica in self._pending
            ),
            self.leader_epoch,
            self.partition_epoch,
        )

    @property
    def waits_for_image(self) -> bool:
        return self._sent and self._again_at_ms < _UNANSWERED

    def agreed(self, isr: Sequence[int], leader_epoch: int, partition_epoch: int) -> None:
        """The controller's answer. One about another epoch, or older than the image, tells nothing."""
        if leader_epoch == self.leader_epoch and partition_epoch > self.partition_epoch:
            self._settle(isr, partition_epoch)
        elif leader_epoch == self.leader_epoch and partition_epoch == self.partition_epoch:
            self._settle(self.isr, partition_epoch)  # nothing had to be changed

    def refused(self, code: ErrorCode, now_ms: int) -> bool:
        """The controller's refusal, or none at all; True when the proposal has to be sent again."""
        if self._pending is None:
            return False
        if code in _WAIT_FOR_IMAGE:
            self._again_at_ms = now_ms + IMAGE_WAIT_MS
            return False
        self._sent = False
        if code not in _TAKE_BACK:
            self._doubtful = True
            return True
        self._pending = None
        if self._doubtful:
            self._doubtful, self._doubt_until_ms = False, now_ms + DOUBT_MS
        else:
            self.maximal_isr = self.isr
        return False
