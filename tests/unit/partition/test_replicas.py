"""The leader's view of its replicas: when a record is committed, who is in sync, what the controller is asked for."""

import random
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import settings
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from hypothesis.strategies import booleans, integers, sampled_from

from barnabas.core.partition.replicas import DOUBT_MS, IMAGE_WAIT_MS, Follower, IsrChange, LeaderState
from barnabas.model.errors import ErrorCode

LAG_MS = 1000
NOBODY: Mapping[int, int] = {}


def leader(
    isr: tuple[int, ...] = (1, 2, 3), *, min_insync: int = 1, end: int = 0, now_ms: int = 0, eligible: Any = None
) -> LeaderState:
    return LeaderState(
        1,
        5,
        end,
        end,
        eligible or (lambda broker, epoch: True),
        now_ms,
        replicas=(1, 2, 3),
        isr=isr,
        partition_epoch=7,
        min_insync=min_insync,
    )


def fetch(state: LeaderState, replica: int, offset: int, end: int, now_ms: int, epoch: int = 1) -> bool:
    return state.fetched(replica, epoch, offset, 0, end, now_ms)


def ask(state: LeaderState, end: int, now_ms: int, heard: Mapping[int, int] = NOBODY) -> IsrChange | None:
    return state.proposal(end, now_ms, LAG_MS, heard)


def watermark(state: LeaderState, end: int, now_ms: int = 0) -> int:
    return state.committed(end, now_ms, LAG_MS, NOBODY)


def test_a_record_is_committed_when_every_in_sync_replica_has_it() -> None:
    state = leader()
    assert watermark(state, 10) == 0  # nobody has been heard of
    fetch(state, 2, 10, 10, 1)
    assert watermark(state, 10) == 0
    fetch(state, 3, 4, 10, 1)
    assert watermark(state, 10) == 4
    fetch(state, 3, 10, 10, 2)
    assert watermark(state, 10) == 10
    assert watermark(state, 8) == 10  # it never falls, whatever our own flushed end says


def test_what_is_not_flushed_here_is_not_committed() -> None:
    state = leader()
    fetch(state, 2, 10, 10, 1)
    fetch(state, 3, 10, 10, 1)
    assert watermark(state, 6) == 6


def test_nothing_is_committed_below_the_minimum() -> None:
    state = leader((1,), min_insync=2)
    assert state.under_min_isr
    assert watermark(state, 10) == 0
    state.follow((1, 2, 3), (1, 2), 8, 0)
    fetch(state, 2, 10, 10, 1)
    assert watermark(state, 10) == 10


def test_the_minimum_is_at_most_the_number_of_replicas() -> None:
    state = LeaderState(1, 0, 0, 0, lambda b, e: True, 0, replicas=(1,), isr=(1,), partition_epoch=0, min_insync=3)
    assert not state.under_min_isr
    assert watermark(state, 3) == 3


def test_a_slow_follower_leaves_and_holds_the_watermark_until_the_controller_agrees() -> None:
    state = leader()
    fetch(state, 2, 10, 10, 100)
    fetch(state, 3, 4, 10, 100)
    assert ask(state, 10, 1000) is None
    assert ask(state, 10, 1200) == IsrChange(((1, -1), (2, 1)), 5, 7)
    assert ask(state, 10, 1300) is None  # one in flight
    assert watermark(state, 10, 1300) == 4  # the third may still be counted on
    state.agreed((1, 2), 5, 8)
    assert watermark(state, 10, 1300) == 10


def test_a_follower_that_always_has_what_there_was_a_fetch_ago_stays() -> None:
    state = leader()
    for now_ms in range(0, 5000, 500):
        fetch(state, 2, now_ms, now_ms + 500, now_ms)
        fetch(state, 3, now_ms + 500, now_ms + 500, now_ms)
        assert ask(state, now_ms + 500, now_ms) is None


def test_an_idle_follower_is_in_sync_while_its_broker_fetches_anything() -> None:
    state = leader()
    for replica in (2, 3):
        fetch(state, replica, 10, 10, 0)
    heard = {2: 90_000, 3: 90_000}
    assert ask(state, 10, 90_000, heard) is None
    assert ask(state, 11, 90_100, heard) is None  # one record more, a moment ago
    state.followers[2].behind(90_000)  # it was sent the record, and is silent from then on
    assert ask(state, 11, 90_900, heard | {2: 90_800}) is None
    assert ask(state, 11, 91_100, {2: 91_050, 3: 91_050}) == IsrChange(((1, -1), (3, 1)), 5, 7)


def test_a_follower_joins_when_it_has_what_is_committed() -> None:
    state = leader((1, 2), end=10)
    fetch(state, 2, 12, 12, 1)
    assert watermark(state, 12) == 12
    fetch(state, 3, 11, 12, 1)
    assert ask(state, 12, 1) is None
    fetch(state, 3, 12, 12, 2)
    assert ask(state, 12, 2) == IsrChange(((1, -1), (2, 1), (3, 1)), 5, 7)
    fetch(state, 2, 20, 20, 3)
    assert watermark(state, 20, 3) == 12  # it may be in sync already: it counts


def test_a_follower_below_the_start_of_the_epoch_does_not_join() -> None:
    state = leader((1, 2), end=10)
    state.high_watermark = 5
    fetch(state, 3, 6, 10, 1)
    assert ask(state, 10, 1) is None


def test_the_watermark_waits_for_one_that_is_about_to_join() -> None:
    state = leader((1,))
    assert watermark(state, 100) == 100
    fetch(state, 2, 90, 100, 10)
    assert watermark(state, 110, 20) == 110
    fetch(state, 2, 100, 110, 20)  # what there was a fetch ago: close enough
    assert watermark(state, 120, 30) == 110
    fetch(state, 2, 115, 120, 30)
    assert ask(state, 120, 30) == IsrChange(((1, -1), (2, 1)), 5, 7)


def test_a_broker_that_may_not_be_in_sync_is_not_proposed() -> None:
    state = leader((1, 2), eligible=lambda broker, epoch: (broker, epoch) != (3, 1))
    fetch(state, 2, 10, 10, 1)
    fetch(state, 3, 10, 10, 1)
    assert ask(state, 10, 1) is None
    fetch(state, 3, 10, 10, 2, epoch=2)
    assert ask(state, 10, 2) == IsrChange(((1, -1), (2, 1), (3, 2)), 5, 7)


def test_a_fetch_of_a_former_life_and_of_a_stranger_is_refused() -> None:
    state = leader()
    assert fetch(state, 2, 10, 10, 1, epoch=4)
    assert not fetch(state, 2, 20, 20, 2, epoch=3)
    assert not fetch(state, 9, 20, 20, 2)
    assert state.followers[2].offset == 10


def test_an_in_sync_follower_that_lost_its_log_leaves_at_once() -> None:
    state = leader()
    for replica in (2, 3):
        fetch(state, replica, 10, 10, 1)
    assert watermark(state, 10) == 10
    fetch(state, 3, 0, 10, 2)
    assert ask(state, 10, 2) == IsrChange(((1, -1), (2, 1)), 5, 7)
    state.agreed((1, 2), 5, 8)
    fetch(state, 2, 11, 11, 3)
    assert watermark(state, 11, 3) == 11  # nobody waits for it


def test_an_ineligible_replica_is_taken_back() -> None:
    state = leader((1, 2))
    fetch(state, 3, 0, 0, 1)
    assert ask(state, 0, 1) is not None
    assert state.maximal_isr == {1, 2, 3}
    assert not state.refused(ErrorCode.INELIGIBLE_REPLICA, 1)
    assert state.maximal_isr == {1, 2}


def test_a_refusal_that_tells_of_news_is_waited_out() -> None:
    state = leader((1, 2))
    fetch(state, 3, 0, 0, 1)
    assert ask(state, 0, 1) is not None
    assert not state.refused(ErrorCode.INVALID_UPDATE_VERSION, 1)
    assert ask(state, 0, 2) is None
    assert state.maximal_isr == {1, 2, 3}
    assert not state.follow((1, 2, 3), (1, 2, 3), 7, 3)  # old news
    assert state.follow((1, 2, 3), (1, 2), 8, 3)
    assert state.maximal_isr == {1, 2}
    assert ask(state, 0, 4) == IsrChange(((1, -1), (2, -1), (3, 1)), 5, 8)


def test_a_refusal_whose_news_never_comes_is_asked_about_again() -> None:
    """A controller that had appended this very proposal refuses its repetition, and is deposed before it commits."""
    state = leader((1, 2))
    fetch(state, 3, 0, 0, 1)
    first = ask(state, 0, 1)
    assert not state.refused(ErrorCode.INVALID_UPDATE_VERSION, 1)
    assert state.waits_for_image
    assert ask(state, 0, IMAGE_WAIT_MS) is None
    assert ask(state, 0, 1 + IMAGE_WAIT_MS) == first
    assert not state.waits_for_image
    assert ask(state, 0, 9 * IMAGE_WAIT_MS) is None  # it is under way
    assert not state.refused(ErrorCode.INELIGIBLE_REPLICA, 9 * IMAGE_WAIT_MS)
    assert state.maximal_isr == {1, 2, 3}  # the first one may still arrive


def test_no_answer_sends_the_same_again() -> None:
    state = leader((1, 2))
    fetch(state, 3, 0, 0, 1)
    first = ask(state, 0, 1)
    assert state.refused(ErrorCode.REQUEST_TIMED_OUT, 1)
    assert ask(state, 0, 2) == first


def test_a_proposal_that_may_still_arrive_counts_for_a_while() -> None:
    state = leader((1, 2))
    fetch(state, 3, 0, 0, 1)
    ask(state, 0, 1)
    state.refused(ErrorCode.REQUEST_TIMED_OUT, 2)
    ask(state, 0, 3)
    assert not state.refused(ErrorCode.INELIGIBLE_REPLICA, 4)
    assert state.maximal_isr == {1, 2, 3}
    assert ask(state, 0, 5) is None
    assert ask(state, 0, 4 + DOUBT_MS) is not None


def test_an_answer_that_the_image_has_overtaken_is_forgotten() -> None:
    state = leader()
    state.follow((1, 2, 3), (1, 3), 9, 0)
    state.agreed((1, 2), 5, 8)
    assert state.isr == {1, 3}
    state.agreed((1, 2), 6, 10)
    assert state.isr == {1, 3}


class Replication(RuleBasedStateMachine):
    """Three brokers, a controller, messages that come late or not at all: what was committed is never lost (H1), the
    watermark of a leader never falls and never passes its log (S3)."""

    @initialize(min_insync=integers(1, 3))
    def begin(self, min_insync: int) -> None:
        self.min_insync = min_insync
        self.now_ms = 0
        self.logs: dict[int, list[tuple[int, int]]] = {1: [], 2: [], 3: []}  # of (epoch, value)
        self.epochs = dict.fromkeys(self.logs, 0)  # of the brokers
        self.value = 0
        self.up = {1, 2, 3}
        self.isr: tuple[int, ...] = (1, 2, 3)
        self.leader_id, self.leader_epoch, self.partition_epoch = 1, 0, 0
        self.leaders: dict[int, LeaderState] = {}  # also those that do not know that they no longer lead
        self.following: dict[int, tuple[int, int]] = {}  # follower: (leader, epoch) it has heard of
        self.seen: dict[int, int] = {}  # leader: the highest watermark it told
        self.asked: list[tuple[int, LeaderState, IsrChange]] = []  # on their way to the controller
        self.committed: list[tuple[int, int]] = []
        for broker in (1, 2, 3):
            self.learn(broker)

    def eligible(self, broker: int, epoch: int) -> bool:
        return broker in self.up and epoch in (-1, self.epochs[broker])

    # --- the controller -----------------------------------------------------------------------------------------------

    def elect(self) -> None:
        """The leader is gone: another one of the in-sync replicas, if one is up."""
        alive = [broker for broker in self.isr if broker in self.up]
        self.leader_id = alive[0] if alive else -1
        if alive:
            self.isr = tuple(alive)
        self.leader_epoch += 1
        self.partition_epoch += 1
        if alive:
            log = self.logs[alive[0]]
            assert log[: len(self.committed)] == self.committed, f"{self.committed} committed, {log} elected"

    @rule(broker=sampled_from((1, 2, 3)))
    def learn(self, broker: int) -> None:
        """A broker gets the newest image."""
        if broker not in self.up:
            return
        if self.leader_id == broker:
            state = self.leaders.get(broker)
            log = self.logs[broker]
            if state is None or state.leader_epoch != self.leader_epoch:
                self.leaders[broker] = LeaderState(
                    broker,
                    self.leader_epoch,
                    len(log),
                    min(self.seen.get(broker, 0), len(log)),
                    self.eligible,
                    self.now_ms,
                    replicas=(1, 2, 3),
                    isr=self.isr,
                    partition_epoch=self.partition_epoch,
                    min_insync=self.min_insync,
                )
            else:
                state.follow((1, 2, 3), self.isr, self.partition_epoch, self.now_ms)
        elif self.leader_id >= 0:
            self.leaders.pop(broker, None)
            self.following[broker] = (self.leader_id, self.leader_epoch)

    @precondition(lambda self: self.asked)
    @rule(number=integers(0, 9), answered=booleans())
    def decide(self, number: int, answered: bool) -> None:
        """AlterPartition arrives, now or much later; its answer may get lost."""
        broker, state, change = self.asked.pop(number % len(self.asked))
        code = ErrorCode.NONE
        if self.leader_id != broker or change.leader_epoch != self.leader_epoch:
            code = ErrorCode.FENCED_LEADER_EPOCH
        elif change.partition_epoch != self.partition_epoch:
            code = ErrorCode.INVALID_UPDATE_VERSION
        elif not all(self.eligible(replica, epoch) for replica, epoch in change.isr):
            code = ErrorCode.INELIGIBLE_REPLICA
        else:
            self.isr = tuple(replica for replica, _ in change.isr)
            self.partition_epoch += 1
        if self.leaders.get(broker) is not state:
            return
        if not answered:
            state.refused(ErrorCode.REQUEST_TIMED_OUT, self.now_ms)
        elif code is ErrorCode.NONE:
            state.agreed(self.isr, self.leader_epoch, self.partition_epoch)
        else:
            state.refused(code, self.now_ms)

    @precondition(lambda self: self.asked)
    @rule(number=integers(0, 9))
    def late(self, number: int) -> None:
        """No answer in time, and the request is still on its way."""
        broker, state, _ = self.asked[number % len(self.asked)]
        if self.leaders.get(broker) is state:
            state.refused(ErrorCode.REQUEST_TIMED_OUT, self.now_ms)

    @rule(broker=sampled_from((1, 2, 3)), lost=booleans())
    def die(self, broker: int, lost: bool) -> None:
        """Killed, or (when others are in sync) with the loss of its disk."""
        if broker not in self.up or (len(self.up) == 1 and lost):
            return
        self.up.discard(broker)
        self.leaders.pop(broker, None)
        if lost and set(self.isr) - {broker}:
            self.logs[broker] = []
            self.seen.pop(broker, None)
            if broker in self.isr:
                self.isr = tuple(other for other in self.isr if other != broker)
                self.partition_epoch += 1
        if broker == self.leader_id:
            self.elect()
        elif broker in self.isr and len(self.isr) > 1:
            self.isr = tuple(other for other in self.isr if other != broker)
            self.partition_epoch += 1

    @rule(broker=sampled_from((1, 2, 3)))
    def cut_off(self, broker: int) -> None:
        """Fenced, but alive: a leader that knows nothing of it goes on."""
        if broker == self.leader_id and set(self.isr) & (self.up - {broker}):
            self.isr = tuple(other for other in self.isr if other != broker)
            self.elect()

    @rule(broker=sampled_from((1, 2, 3)))
    def start(self, broker: int) -> None:
        if broker in self.up:
            return
        self.up.add(broker)
        self.epochs[broker] += 1
        self.seen[broker] = 0  # the checkpoint may be old
        if self.leader_id < 0 and broker in self.isr:
            self.elect()
        self.learn(broker)

    # --- brokers ------------------------------------------------------------------------------------------------------

    @precondition(lambda self: self.leaders)
    @rule(number=integers(0, 2))
    def produce(self, number: int) -> None:
        broker = sorted(self.leaders)[number % len(self.leaders)]
        self.value += 1
        self.logs[broker].append((self.leaders[broker].leader_epoch, self.value))
        self.look(broker)

    @rule(broker=sampled_from((1, 2, 3)), records=integers(1, 3))
    def fetch(self, broker: int, records: int) -> None:
        source, epoch = self.following.get(broker, (-1, -1))
        state = self.leaders.get(source)
        if broker not in self.up or broker in self.leaders or state is None or state.leader_epoch != epoch:
            return
        mine, theirs = self.logs[broker], self.logs[source]
        same = next((i for i, (a, b) in enumerate(zip(mine, theirs, strict=False)) if a != b), None)
        del mine[min(len(mine) if same is None else same, len(theirs)) :]
        if not state.fetched(broker, self.epochs[broker], len(mine), 0, len(theirs), self.now_ms):
            return
        self.look(source)
        mine += theirs[len(mine) : len(mine) + records]
        self.seen[broker] = max(self.seen.get(broker, 0), min(state.high_watermark, len(mine)))

    @rule(milliseconds=sampled_from((10, 600, 1500)))
    def wait(self, milliseconds: int) -> None:
        self.now_ms += milliseconds
        for broker in list(self.leaders):
            self.look(broker)

    def look(self, broker: int) -> None:
        state, log = self.leaders[broker], self.logs[broker]
        before = state.high_watermark
        high_watermark = state.committed(len(log), self.now_ms, LAG_MS, NOBODY)
        assert before <= high_watermark <= len(log)
        self.seen[broker] = high_watermark
        known = len(self.committed)
        assert log[: min(known, high_watermark)] == self.committed[:high_watermark]
        self.committed += log[known:high_watermark]
        change = state.proposal(len(log), self.now_ms, LAG_MS, NOBODY)
        if change is not None:
            self.asked.append((broker, state, change))

    @invariant()
    def committed_is_on_the_leader(self) -> None:
        if hasattr(self, "leader_id") and self.leader_id in self.up:
            assert self.logs[self.leader_id][: len(self.committed)] == self.committed


Replication.TestCase.settings = settings(max_examples=60, stateful_step_count=50, deadline=None)
TestReplication = Replication.TestCase


@pytest.mark.parametrize("first", range(0, 1000, 250))
def test_long_histories(first: int) -> None:
    """The same world, longer and with likelier steps: followers fetch and leaders append most of the time."""
    for seed in range(first, first + 250):
        chance = random.Random(seed)
        world = Replication()
        world.begin(chance.randint(1, 2))
        for _ in range(150):
            broker = chance.choice((1, 2, 3))
            match chance.choices(range(10), (24, 36, 10, 12, 12, 2, 2, 5, 3, 3))[0]:
                case 0 if world.leaders:
                    world.produce(chance.randrange(3))
                case 1:
                    world.fetch(broker, chance.randint(1, 3))
                case 2:
                    world.wait(chance.choice((10, 10, 400, 1200)))
                case 3:
                    world.learn(broker)
                case 4 if world.asked:
                    world.decide(chance.randrange(10), chance.random() < 0.8)
                case 5:
                    world.die(broker, chance.random() < 0.3)
                case 6:
                    world.cut_off(broker)
                case 7:
                    world.start(broker)
                case 8:
                    world.die(world.leader_id, False)
                case 9 if world.asked:
                    world.late(chance.randrange(10))
            world.committed_is_on_the_leader()


def in_zones(zones: dict[int, str | None], isr: tuple[int, ...] = (1, 2, 3), min_zones: int = 2) -> LeaderState:
    return LeaderState(
        1, 5, 0, 0, lambda broker, epoch: True, 0,
        replicas=(1, 2, 3), isr=isr, partition_epoch=7, min_zones=min_zones, zone_of=zones.get,
    )  # fmt: skip


def test_nothing_is_committed_while_too_few_zones_are_in_sync() -> None:
    state = in_zones({1: "a", 2: "a", 3: "b"}, isr=(1, 2))
    fetch(state, 2, 10, 10, 1)
    assert state.under_min_isr and watermark(state, 10) == 0
    fetch(state, 3, 10, 10, 2)
    assert ask(state, 10, 2) == IsrChange(((1, -1), (2, 1), (3, 1)), 5, 7)
    assert watermark(state, 10) == 0, "it is proposed, not agreed"
    state.agreed((1, 2, 3), 5, 8)
    assert not state.under_min_isr and watermark(state, 10, 2) == 10


def test_a_replica_without_a_rack_is_in_no_zone() -> None:
    assert in_zones({1: "a", 2: None, 3: None}).under_min_isr
    assert not in_zones({1: "a", 2: None, 3: "b"}).under_min_isr
    assert not in_zones({}, min_zones=1).under_min_isr, "off"


def test_a_zone_counts_as_it_was_when_its_replica_came_in_sync() -> None:
    """The image may have a newer registration than the in-sync replicas: then the partition's own change follows."""
    zones: dict[int, str | None] = {1: "a", 2: "a", 3: "a"}
    state = in_zones(zones)
    zones[2] = "b"
    fetch(state, 2, 10, 10, 1)
    fetch(state, 3, 10, 10, 1)
    assert watermark(state, 10) == 0
    state.follow((1, 2, 3), (1, 3), 8, 2)
    state.follow((1, 2, 3), (1, 2, 3), 9, 3)
    assert watermark(state, 10, 3) == 10


def test_the_setting_counts_from_when_it_is_changed() -> None:
    state = in_zones({1: "a", 2: "a", 3: "a"})
    state.need(1, 1)
    assert not state.under_min_isr
    state.need(1, 2)
    assert state.under_min_isr


def test_a_follower_that_sends_fetches_ahead_is_caught_up_as_of_what_it_has_reached() -> None:
    """It is a round trip behind at each fetch, and fetches come more often than that."""
    follower, round_trip_ms = Follower(0), 10
    for now_ms in range(2, 2_000, 2):
        follower.fetched(offset=max(now_ms - round_trip_ms, 0), leader_end=now_ms, now_ms=now_ms)  # a record each ms
        assert now_ms - follower.caught_up(now_ms) <= 3 * round_trip_ms


def test_a_follower_that_gets_nothing_more_is_caught_up_no_longer() -> None:
    follower = Follower(0)
    for now_ms in range(2, 2_000, 2):
        follower.fetched(offset=100, leader_end=max(now_ms, 100), now_ms=now_ms)
    assert follower.caught_up(2_000) <= 200
