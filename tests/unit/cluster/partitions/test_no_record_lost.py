"""The controller's promise about records: whoever it makes leader without being asked for an unclean election holds
everything that was committed.

One partition with real decisions and modelled logs: leaders append, followers copy, the high watermark follows the
in-sync replicas as replication does it (never with fewer than min.insync.replicas, nor in fewer zones than
min.insync.zones), processes are killed, machines lose power and disks, brokers are fenced late or at once or come back
in another zone, the assignment is changed on the way. After each step every replica that may lead is compared with what
was committed; at the end everything is healed, and every move must come to its end.
A life is a seed: hypothesis only picks seeds.
"""

from collections.abc import Callable, Sequence
from random import Random

import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from barnabas.core.cluster import NO_LEADER, NewTopic, PartitionImage, Reassignment
from barnabas.model.errors import ErrorCode, KafkaError
from tests.unit.cluster.stage import Stage

EVERY = (1, 2, 3, 4)
Entry = tuple[int, int]  # leader epoch, number


class Replica:
    def __init__(self) -> None:
        self.log: list[Entry] = []
        self.durable = 0
        self.fetched_epoch = -1  # in which epoch it last took from its leader


class PartitionLife:
    def __init__(self, seed: int, min_zones: int = 1) -> None:
        self.random = random = Random(seed)
        self.stage = Stage(4, racks=0 if min_zones == 1 else random.choice((2, 3)))
        self.min_zones = min_zones
        self.flushed, self.min_isr = random.random() < 0.3, random.choice((1, 2, 2, 3))
        replicas = random.sample(EVERY, random.choice((1, 2, 3, 3)) if min_zones == 1 else 3)
        configs = [("min.insync.replicas", str(self.min_isr)), ("flush.messages", "1" if self.flushed else "1000")]
        configs.append(("min.insync.zones", str(min_zones)))
        self.commits = 0
        self.stage.do("create_topics", [NewTopic("t", assignments=[(0, replicas)], configs=configs)])
        self.replicas = {b: Replica() for b in EVERY}
        self.running = set(EVERY)
        self.doubtful: set[int] = set()  # lost something and have not registered since
        self.committed: list[Entry] = []
        self.number = 0
        self.leaders: dict[int, int] = {}
        self.story: list[str] = []
        self.actions: dict[Callable[[], None], int] = {
            self.write: 12,
            self.heal_a_little: 4,
            self.alter: 2,
            self.kill: 3,
            self.power_loss: 2,
            self.outage: 1,
            self.come_back: 6,
            self.notice: 3,
            self.shut_down: 1,
            self.move: 2,
            self.balance: 1,
            self.lost_log: 1,
        }

    def live(self, steps: int) -> None:
        actions, weights = list(self.actions), list(self.actions.values())
        for action in self.random.choices(actions, weights, k=steps):
            self.story.append(action.__name__)
            action()
            self.check()
        self.heal()

    # --- shorthand --------------------------------------------------------------------------------------------------

    @property
    def partition(self) -> PartitionImage:
        return self.stage.partition("t")

    def some(self) -> int:
        return self.random.choice(EVERY)

    def leading(self) -> Replica | None:
        """The leader, if its process runs: else nobody serves until it is fenced."""
        return self.replicas[self.partition.leader] if self.partition.leader in self.running else None

    def decide(self, method: str, *args: object) -> object:
        before = self.partition
        try:
            answer: object = self.stage.do(method, *args)
        except KafkaError as error:
            answer = error
        self.decided(before)
        return answer

    def decided(self, before: PartitionImage, joined: Sequence[int] = ()) -> None:
        after = self.partition
        led = after.leader_epoch > before.leader_epoch and after.leader != NO_LEADER
        if led and after.leader not in (*before.isr, *before.elr, *joined):
            assert after.leader in before.last_known_elr, "the last that stood leads again: what it lost is lost"
            self.committed = common(self.committed, self.replicas[after.leader].log)

    def counted(self, broker_id: int, leader: Replica) -> list[Entry]:
        """What a replica has of its leader's log, as far as it counts."""
        replica = self.replicas[broker_id]
        return common(replica.log, leader.log)[: replica.durable if self.flushed else None]

    def is_current(self, broker_id: int) -> bool:
        return broker_id == self.partition.leader or (
            self.replicas[broker_id].fetched_epoch == self.partition.leader_epoch
        )

    # --- data -------------------------------------------------------------------------------------------------------

    def write(self) -> None:
        """A record or two, copied to whoever can be reached, and committed if that is enough."""
        leader = self.leading()
        if leader is None:
            return
        for _ in range(self.random.choice((1, 1, 2))):
            self.number += 1
            leader.log.append((self.partition.leader_epoch, self.number))
        for follower in self.partition.replicas:
            if self.random.random() < 0.7:
                self.copy(follower, self.random.choice((0, 1, 9)))
            if follower in self.running and self.random.random() < 0.6:
                self.replicas[follower].durable = len(self.replicas[follower].log)
        self.commit()

    def copy(self, follower: int, most: int) -> None:
        leader, replica = self.leading(), self.replicas[follower]
        if leader is None or replica is leader or follower not in self.running:
            return
        kept = common(replica.log, leader.log)
        replica.log = leader.log[: len(kept) + most]
        replica.durable = min(replica.durable, len(kept))
        replica.fetched_epoch = self.partition.leader_epoch

    def commit(self) -> None:
        """The leader moves the high watermark: what all in sync have, if they are enough."""
        leader, partition = self.leading(), self.partition
        if leader is None or not self.enough(partition):
            return
        ends = [
            len(self.counted(b, leader)) if self.is_current(b) and b not in self.doubtful else 0 for b in partition.isr
        ]
        if min(ends) > len(self.committed):
            self.committed = leader.log[: min(ends)]
            self.commits += 1

    def enough(self, partition: PartitionImage) -> bool:
        zones = {self.stage.image.brokers[b].rack for b in partition.isr}
        return len(partition.isr) >= min(self.min_isr, len(partition.replicas)) and (
            self.min_zones == 1 or len(zones) >= self.min_zones
        )

    def alter(self) -> None:
        """The leader says who is in sync: some may leave, who has caught up in this epoch may join."""
        self.alter_to({b for b in EVERY if self.random.random() < 0.5})

    def alter_to(self, isr: set[int]) -> None:
        leader, before = self.leading(), self.partition
        if leader is None:
            return
        wanted = [
            b
            for b in before.replicas
            if b == before.leader
            or (b in isr and b in before.isr)
            or (
                b in isr
                and b in self.running
                and self.is_current(b)
                and len(self.counted(b, leader)) >= len(self.committed)
            )
        ]
        if self.stage.alter("t", 0, *wanted) in (ErrorCode.NONE, ErrorCode.NEW_LEADER_ELECTED):
            self.decided(before, wanted)

    def heal_a_little(self) -> None:
        """Who is there joins, who is not is noticed."""
        for broker_id in EVERY:
            if broker_id in self.running:
                self.beat(broker_id)
            else:
                self.fence(broker_id)
        for follower in self.partition.replicas:
            self.copy(follower, 99)
            if follower in self.running:
                self.replicas[follower].durable = len(self.replicas[follower].log)
        self.alter_to(set(EVERY))

    # --- faults -----------------------------------------------------------------------------------------------------

    def kill(self, broker_id: int | None = None) -> None:
        broker_id = broker_id or self.some()
        self.running.discard(broker_id)
        if self.random.random() < 0.5:
            self.fence(broker_id)

    def power_loss(self, broker_id: int | None = None) -> None:
        broker_id = broker_id or self.some()
        replica = self.replicas[broker_id]
        replica.log = replica.log[: max(replica.durable, len(replica.log) - self.random.randrange(4))]
        replica.fetched_epoch = -1
        self.doubtful.add(broker_id)
        self.kill(broker_id)

    def outage(self) -> None:
        """Several go, one after the other, and come back in their own time."""
        fault = self.random.choice((self.kill, self.power_loss))
        for broker_id in self.random.sample(EVERY, self.random.randrange(2, 5)):
            fault(broker_id)

    def notice(self) -> None:
        self.fence(self.some())

    def fence(self, broker_id: int) -> None:
        if broker_id not in self.running:
            self.decide("fence_broker", broker_id, self.stage.image.brokers[broker_id].broker_epoch)

    def come_back(self) -> None:
        broker_id = self.some()
        self.restart(broker_id, new_disk=broker_id in self.doubtful and self.random.random() < 0.3)
        if self.random.random() < 0.8:
            self.beat(broker_id)

    def restart(self, broker_id: int, *, new_disk: bool) -> None:
        if broker_id in self.running:
            return
        self.stage.now_ms += 10_000
        before = self.partition
        if new_disk:
            self.replicas[broker_id] = Replica()
        rack = self.stage.image.brokers[broker_id].rack
        if self.min_zones > 1 and self.random.random() < 0.3:
            rack = self.random.choice(("r0", "r1", "r2"))
        self.stage.register(broker_id, rack=rack, fenced=True, clean=broker_id not in self.doubtful, new_disk=new_disk)
        self.doubtful.discard(broker_id)
        self.replicas[broker_id].durable = len(self.replicas[broker_id].log)  # recovery flushes
        self.running.add(broker_id)
        self.decided(before)

    def beat(self, broker_id: int, **wish: bool) -> None:
        if broker_id in self.running:
            before = self.partition
            self.stage.beat(broker_id, **wish)
            self.decided(before)

    def shut_down(self) -> None:
        """In order: it says so, goes, and is started again later."""
        broker_id = self.some()
        self.beat(broker_id, want_shutdown=True)
        self.running.discard(broker_id)

    def lost_log(self) -> None:
        """A running broker finds that its log is damaged, says so, and begins anew unless it is told to keep it."""
        from barnabas.core.cluster import ReplicaDirectory
        from barnabas.model.ids import LOST_DIRECTORY

        broker_id = self.some()
        if broker_id in self.running and broker_id in self.partition.replicas:
            epoch = self.stage.image.brokers[broker_id].broker_epoch
            item = ReplicaDirectory(LOST_DIRECTORY, self.stage.image.topics["t"].id, 0)
            answer = self.decide("assign_directories", broker_id, epoch, [item])
            assert isinstance(answer, list)
            if answer[0].code is ErrorCode.NONE:
                self.replicas[broker_id] = Replica()

    def move(self) -> None:
        target = None if self.random.random() < 0.2 else self.random.sample(EVERY, self.random.randrange(1, 4))
        self.decide("alter_reassignments", [Reassignment("t", 0, target)])

    def balance(self) -> None:
        self.decide("balance_leaders")

    # --- what must hold ---------------------------------------------------------------------------------------------

    def check(self) -> None:
        partition = self.partition
        assert partition.leader == NO_LEADER or partition.leader in partition.isr
        assert set(partition.elr) <= set(partition.replicas) and set(partition.last_known_elr) <= set(
            partition.replicas
        )
        if self.enough(partition):
            assert partition.elr == () == partition.last_known_elr, "enough are in sync: they commit without the others"
        for broker_id in (*partition.isr, *partition.elr):
            if broker_id not in self.doubtful:
                log = self.replicas[broker_id].log
                assert log[: len(self.committed)] == self.committed, f"{broker_id}: {log} lacks {self.committed}"
        for broker_id in partition.isr:
            broker = self.stage.image.brokers[broker_id]
            assert broker.eligible, "who is in sync is up"
        assert self.leaders.setdefault(partition.leader_epoch, partition.leader) == partition.leader
        assert partition.leader_epoch == max(self.leaders), "epochs never fall, and have one leader"
        assert self.stage.replayed() == self.stage.image

    def heal(self) -> None:
        """Everybody returns: every move ends, and all replicas come in sync, if there is anybody to lead."""
        for broker_id in EVERY:
            self.stage.now_ms += 10_000
            self.restart(broker_id, new_disk=False)
        for _ in range(4):
            self.heal_a_little()
            self.check()
        if self.partition.leader == NO_LEADER:
            assert self.partition.elr == () == self.partition.last_known_elr, "whoever may lead is here"
            return
        assert not self.partition.is_moving
        assert set(self.partition.isr) == set(self.partition.replicas)
        assert self.partition.elr == () == self.partition.last_known_elr


def common(one: list[Entry], other: list[Entry]) -> list[Entry]:
    length = 0
    for a, b in zip(one, other, strict=False):
        if a != b:
            break
        length += 1
    return one[:length]


@given(seed=st.integers(0, 1 << 32))
@hypothesis_settings(max_examples=60, deadline=None)
def test_whoever_leads_holds_what_was_committed(seed: int) -> None:
    PartitionLife(seed).live(60)


@given(seed=st.integers(0, 1 << 32))
@hypothesis_settings(max_examples=60, deadline=None)
def test_whoever_leads_holds_what_was_committed_in_two_zones(seed: int) -> None:
    PartitionLife(seed, min_zones=2).live(60)


def test_lives_in_two_zones_commit_something() -> None:
    """Or the test above would prove nothing."""
    lives = [PartitionLife(seed, min_zones=2) for seed in range(40)]
    for life in lives:
        life.live(60)
    assert sum(life.commits for life in lives) > 40


@pytest.mark.parametrize("seed", range(40))
def test_the_same_lives_every_time(seed: int) -> None:
    PartitionLife(seed).live(60)
