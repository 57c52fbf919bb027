"""The same partitions to Kafka's controller and to ours: who leads, who is in sync, who is eligible, whether a move is
done, whether an epoch begins.

Kafka's own class decides (PartitionChangeBuilder of the release under test), on some thousand states and wishes. Two
differences are ours, and left out by name: whom a partition without in-sync and eligible replicas turns to when several
are remembered (Kafka: nobody; ours: the last leader), and that replicas are no longer eligible as soon as enough are in
sync or they leave the assignment (Kafka waits for the next change).
"""

from __future__ import annotations

import subprocess
from random import Random
from typing import NamedTuple

import pytest

from barnabas.core.cluster import BrokerImage, MetadataImage, PartitionImage, TopicImage
from barnabas.core.cluster.partitions.partition_change import Wish, changed
from barnabas.core.cluster.partitions.rules import TopicRules
from tests.support.paths import LIBS, ROOT, require_setup

pytestmark = [pytest.mark.timeout(120)]

BROKERS = range(1, 6)
CASES = 6_000


class Case(NamedTuple):
    partition: PartitionImage
    min_isr: int
    up: frozenset[int]
    wish: Wish

    def line(self) -> str:
        old, wish = self.partition, self.wish
        election = "PREFERRED" if wish.preferred else "UNCLEAN" if wish.unclean else "ONLINE"
        fields = (
            _text(old.replicas),
            _text(old.isr),
            _text(old.elr),
            _text(old.last_known_elr),
            str(old.leader),
            _text(old.adding_replicas),
            _text(old.removing_replicas),
            str(self.min_isr),
            _text(sorted(self.up)),
            "-" if wish.isr is None else _text(wish.isr),
            _text(sorted(wish.doubtful)),
            election,
            "-" if wish.replicas is None else _text(wish.replicas),
            _text(wish.adding or ()),
            _text(wish.removing or ()),
        )
        return ";".join(fields)


def _text(numbers: object) -> str:
    return ",".join(map(str, numbers))  # type: ignore[call-overload]


def _case(random: Random) -> Case:
    replicas = random.sample(BROKERS, random.choice([1, 2, 3, 3, 3, 4]))
    min_isr = random.choice([1, 1, 2, 2, 3])
    isr = [b for b in replicas if random.random() < 0.6]
    leader = random.choice(isr) if isr else -1
    up = {b for b in BROKERS if random.random() < 0.7} | set(isr)
    adding: list[int] = []
    removing: list[int] = []
    if len(replicas) >= 2 and random.random() < 0.25:
        cut = random.randrange(1, len(replicas))
        adding = [b for b in replicas[:cut] if random.random() < 0.5]
        removing = [b for b in replicas[cut:] if random.random() < 0.6]
    elr: list[int] = []
    if len(isr) < min(min_isr, len(replicas)):
        elr = [b for b in replicas if b not in isr and random.random() < 0.5]
    last_known = (random.choice(replicas),) if leader == -1 and random.random() < 0.5 else ()
    wish = _wish(random, replicas, isr, leader, up, bool(adding or removing))
    partition = PartitionImage(
        leader=leader,
        leader_epoch=5,
        replicas=tuple(replicas),
        isr=tuple(isr),
        partition_epoch=9,
        directories=(bytes(16),) * len(replicas),
        adding_replicas=tuple(adding),
        removing_replicas=tuple(removing),
        elr=tuple(elr),
        last_known_elr=last_known,
    )
    return Case(partition, min_isr, frozenset(up), wish)


def _wish(random: Random, replicas: list[int], isr: list[int], leader: int, up: set[int], is_moving: bool) -> Wish:
    kind = random.choice(["fenced", "altered", "power loss", "back", "preferred", "unclean", "moved"])
    if kind in ("fenced", "power loss"):
        gone = random.choice(replicas)
        up.discard(gone)
        doubtful = frozenset({gone}) if kind == "power loss" else frozenset()
        return Wish(isr=[b for b in isr if b != gone], doubtful=doubtful)
    if kind == "altered" and leader != -1:
        return Wish(isr=[leader] + [b for b in replicas if b != leader and b in up and random.random() < 0.6])
    if kind == "moved" and not is_moving:
        target = random.sample(BROKERS, random.choice([1, 2, 3]))
        removing = tuple(b for b in replicas if b not in target)
        adding = tuple(b for b in target if b not in replicas)
        return Wish(replicas=(*target, *removing), adding=adding, removing=removing)
    return Wish(preferred=kind == "preferred", unclean=True if kind == "unclean" else None)


def _ours(case: Case) -> tuple[object, ...]:
    brokers = {b: BrokerImage(b, b"", 0, (), None, False, False, (bytes([b]) * 16,), {}) for b in BROKERS}
    topic = TopicImage("t", b"t" * 16, (case.partition,), {})
    image = MetadataImage(brokers=brokers, topics={"t": topic}, topic_names={topic.id: "t"})
    change = changed(image, topic, 0, TopicRules(case.min_isr), case.wish, case.up.__contains__)
    new = case.partition if change is None else image.apply([change]).topics["t"].partitions[0]
    epochs = new.leader_epoch - case.partition.leader_epoch
    moving = frozenset(new.adding_replicas), frozenset(new.removing_replicas)
    return new.replicas, frozenset(new.isr), frozenset(new.elr), new.leader, *moving, epochs


def _theirs(case: Case, line: str) -> tuple[object, ...]:
    replicas, isr, elr, leader, adding, removing, epochs = line.split(";")
    kept = _numbers(replicas)
    enough = len(_numbers(isr)) >= min(case.min_isr, len(kept))
    eligible = frozenset() if enough else frozenset(_numbers(elr)) & frozenset(kept)
    moving = frozenset(_numbers(adding)), frozenset(_numbers(removing))
    return kept, frozenset(_numbers(isr)), eligible, int(leader), *moving, int(epochs)


def _numbers(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(","))) if text else ()


def test_partitions_become_what_they_become_in_kafka() -> None:
    require_setup()
    random = Random(7)
    cases = [_case(random) for _ in range(CASES)]
    asked = "\n".join(case.line() for case in cases) + "\n"
    source = str(ROOT / "tests" / "java" / "Elections.java")
    done = subprocess.run(
        ["java", "-cp", f"{LIBS}/*", source], input=asked, capture_output=True, text=True, check=True, timeout=100
    )
    answers = done.stdout.splitlines()
    assert len(answers) == CASES
    different = [
        f"{case.line()}\n  ours   {_ours(case)}\n  Kafka  {_theirs(case, answer)}"
        for case, answer in zip(cases, answers, strict=True)
        if _ours(case) != _theirs(case, answer)
    ]
    assert not different, f"{len(different)} of {CASES} differ\n" + "\n".join(different[:10])
