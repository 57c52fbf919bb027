"""Large groups: what an assignment costs grows with the partitions, not with partitions times members."""

import random
import time

import pytest

from barnabas.core.groups.consumer.assignors import ASSIGNORS, Assignment, MemberSpec


def group(members: int, topics: int, partitions: int) -> tuple[dict[str, MemberSpec], dict[bytes, int]]:
    rng = random.Random(7)
    ids = [number.to_bytes(16, "big") for number in range(1, topics + 1)]
    specs = {f"m{n:05}": MemberSpec(None, frozenset(rng.sample(ids, 20)), {}) for n in range(members)}
    return specs, dict.fromkeys(ids, partitions)


def cpu_seconds(name: str, specs: dict[str, MemberSpec], counts: dict[bytes, int]) -> tuple[float, Assignment]:
    best, found = float("inf"), {}
    for _ in range(3):
        begun = time.process_time()
        found = ASSIGNORS[name](specs, counts)
        best = min(best, time.process_time() - begun)
    return best, found


@pytest.mark.parametrize("name", ["uniform", "range"])
def test_a_thousand_members_with_mixed_subscriptions(name: str) -> None:
    specs, counts = group(1_000, 100, 100)
    large, found = cpu_seconds(name, specs, counts)
    assert large < 0.4, "it was seconds when every partition looked at every member"
    joined = {member_id: MemberSpec(None, spec.topics, found[member_id]) for member_id, spec in specs.items()}
    joined["new"] = MemberSpec(None, frozenset(list(counts)[:20]), {})
    again, moved_to = cpu_seconds(name, joined, counts)
    assert again < 0.4
    if name == "uniform":
        sizes = [sum(map(len, topics.values())) for topics in moved_to.values()]
        assert max(sizes) - min(sizes) <= 1
        kept = sum(
            len(numbers & moved_to[member_id].get(topic_id, frozenset()))
            for member_id, topics in found.items()
            for topic_id, numbers in topics.items()
        )
        assert kept == 10_000 - len([1 for topics in moved_to["new"].values() for _ in topics])
