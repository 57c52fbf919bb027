"""The same groups to Kafka's server-side assignors and to ours.

Range gives every member the very same partitions. Uniform, where all members read the same topics, gives the same
numbers of partitions and moves no more of them. Where they read different topics neither is best in every case: ours
moves single partitions only, Kafka's does not move where it could. Over all such groups ours is as even and moves less.
"""

from __future__ import annotations

import subprocess
from random import Random
from typing import NamedTuple

import pytest

from barnabas.core.groups.consumer.assignors import ASSIGNORS, MemberSpec
from tests.support.paths import LIBS, ROOT, require_setup

pytestmark = [pytest.mark.timeout(120)]

CASES = 2_000
Pairs = set[tuple[int, int]]  # topic, partition


class Case(NamedTuple):
    assignor: str
    counts: list[int]
    topics: dict[str, frozenset[int]]
    current: dict[str, Pairs]

    def line(self) -> str:
        members = [
            f"{name}|{','.join(map(str, sorted(topics)))}|{','.join(f'{t}.{n}' for t, n in sorted(self.current[name]))}"
            for name, topics in self.topics.items()
        ]
        return ";".join([self.assignor, ",".join(map(str, self.counts)), *members])

    def sizes(self, found: dict[str, Pairs]) -> list[int]:
        return sorted(len(found.get(name, ())) for name in self.topics)

    def unevenness(self, found: dict[str, Pairs]) -> int:
        return sum(size * size for size in self.sizes(found))

    def moves(self, found: dict[str, Pairs]) -> int:
        return sum(len(pairs - found.get(name, set())) for name, pairs in self.current.items())


def _case(random: Random) -> Case:
    counts = [random.randint(1, 8) for _ in range(random.randint(1, 6))]
    numbers = range(len(counts))
    same = frozenset(random.sample(numbers, random.randint(1, len(counts))))
    mixed = random.random() < 0.5
    topics = {
        f"m{i}": frozenset(random.sample(numbers, random.randint(1, len(counts)))) if mixed else same
        for i in range(random.randint(1, 7))
    }
    current: dict[str, Pairs] = {name: set() for name in topics}
    if random.random() < 0.7:
        for topic, count in enumerate(counts):
            readers = [name for name in topics if topic in topics[name]]
            for number in range(count if readers else 0):
                if random.random() < 0.9:
                    current[random.choice(readers)].add((topic, number))
    return Case(random.choice(["uniform", "uniform", "range"]), counts, topics, current)


def _id(topic: int) -> bytes:
    return (topic + 1).to_bytes(16, "big")


def _ours(case: Case) -> dict[str, Pairs]:
    specs = {}
    for name, topics in case.topics.items():
        held = {topic for topic, _ in case.current[name]}
        current = {_id(topic): frozenset(n for t, n in case.current[name] if t == topic) for topic in held}
        specs[name] = MemberSpec(None, frozenset(map(_id, topics)), current)
    found = ASSIGNORS[case.assignor](specs, {_id(topic): count for topic, count in enumerate(case.counts)})
    return {
        name: {(int.from_bytes(topic, "big") - 1, n) for topic, numbers in mine.items() for n in numbers}
        for name, mine in found.items()
    }


def _theirs(line: str) -> dict[str, Pairs]:
    found: dict[str, Pairs] = {}
    for member in line.split(";"):
        name, pairs = member.split("|")
        found[name] = {(int(t), int(n)) for t, n in (pair.split(".") for pair in pairs.split(",") if pair)}
    return found


def test_assignments_are_as_even_as_kafkas_and_move_no_more() -> None:
    require_setup()
    random = Random(3)
    cases = [_case(random) for _ in range(CASES)]
    asked = "\n".join(case.line() for case in cases) + "\n"
    source = str(ROOT / "tests" / "java" / "Assignors.java")
    command = ["java", "-XX:TieredStopAtLevel=1", "-cp", f"{LIBS}/*", source]
    answer = subprocess.run(command, input=asked, capture_output=True, text=True, timeout=100)
    assert answer.returncode == 0, answer.stderr
    mixed: list[tuple[int, int]] = []
    for case, line in zip(cases, answer.stdout.splitlines(), strict=True):
        ours, theirs = _ours(case), _theirs(line)
        if case.assignor == "range":
            assert all(ours[name] == theirs.get(name, set()) for name in case.topics), case.line()
        elif len(set(case.topics.values())) == 1:
            assert case.sizes(ours) == case.sizes(theirs), case.line()
            assert case.moves(ours) <= case.moves(theirs), case.line()
        else:
            mixed.append((case.unevenness(ours) - case.unevenness(theirs), case.moves(ours) - case.moves(theirs)))
    assert sum(uneven > 0 for uneven, _ in mixed) < len(mixed) * 0.03
    assert sum(uneven for uneven, _ in mixed) <= 0
    assert sum(more > 0 for _, more in mixed) < len(mixed) * 0.02
    assert sum(more for _, more in mixed) < 0
