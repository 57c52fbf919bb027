"""Server-side assignors: complete, balanced, and calm."""

from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.core.groups.consumer.assignors import ASSIGNORS, Assignment, MemberSpec

TOPICS = [bytes([number]) * 16 for number in range(1, 6)]

counts_of = st.dictionaries(st.sampled_from(TOPICS), st.integers(1, 12), min_size=1)
members_of = st.dictionaries(
    st.text("abcdef", min_size=1, max_size=4), st.frozensets(st.sampled_from(TOPICS)), min_size=1, max_size=8
)


def specs(members: dict[str, frozenset[bytes]], counts: dict[bytes, int], last: Assignment) -> dict[str, MemberSpec]:
    return {
        name: MemberSpec(None, frozenset(topic for topic in topics if topic in counts), last.get(name, {}))
        for name, topics in members.items()
    }


def loads(assignment: Assignment) -> dict[str, int]:
    return {name: sum(map(len, topics.values())) for name, topics in assignment.items()}


def check_complete(assignment: Assignment, members: dict[str, MemberSpec], counts: dict[bytes, int]) -> None:
    wanted = {topic for member in members.values() for topic in member.topics}
    everything = {(topic, number) for topic in wanted for number in range(counts[topic])}
    given_out = [
        (topic, number) for topics in assignment.values() for topic, numbers in topics.items() for number in numbers
    ]
    assert sorted(given_out) == sorted(everything), "every partition once"
    assert assignment.keys() == members.keys()
    for name, topics in assignment.items():
        assert topics.keys() <= members[name].topics


@settings(max_examples=60, deadline=None)
@given(st.sampled_from(sorted(ASSIGNORS)), members_of, counts_of)
def test_every_partition_has_one_member_that_wants_it(
    name: str, members: dict[str, frozenset[bytes]], counts: dict[bytes, int]
) -> None:
    told = specs(members, counts, {})
    check_complete(ASSIGNORS[name](told, counts), told, counts)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sets(st.text("abcdef", min_size=1, max_size=3), min_size=1, max_size=8), min_size=1), counts_of)
def test_uniform_is_even_and_moves_no_more_than_it_must(generations: list[set[str]], counts: dict[bytes, int]) -> None:
    last: Assignment = {}
    for names in generations:
        told = specs({name: frozenset(counts) for name in sorted(names)}, counts, last)
        found = ASSIGNORS["uniform"](told, counts)
        check_complete(found, told, counts)
        sizes = loads(found)
        assert max(sizes.values()) - min(sizes.values()) <= 1
        total, share = sum(sizes.values()), sum(sizes.values()) // len(names)
        for name in names & last.keys():
            had = {(topic, number) for topic, numbers in last[name].items() for number in numbers}
            has = {(topic, number) for topic, numbers in found[name].items() for number in numbers}
            assert len(had & has) >= min(len(had), share), "a member keeps at least its share of what it had"
        again = specs({name: frozenset(counts) for name in sorted(names)}, counts, found)
        assert ASSIGNORS["uniform"](again, counts) == found, "nothing changed, nothing moves"
        last = found
        assert total == sum(counts.values())


@settings(max_examples=60, deadline=None)
@given(members_of, members_of, counts_of)
def test_uniform_with_different_topics_cannot_be_improved_by_one_move(
    before: dict[str, frozenset[bytes]], after: dict[str, frozenset[bytes]], counts: dict[bytes, int]
) -> None:
    last = ASSIGNORS["uniform"](specs(before, counts, {}), counts)
    told = specs(after, counts, last)
    found = ASSIGNORS["uniform"](told, counts)
    check_complete(found, told, counts)
    sizes = loads(found)
    for name, topics in found.items():
        for topic in topics:
            for other, spec in told.items():
                assert topic not in spec.topics or sizes[name] - sizes[other] <= 1
    assert ASSIGNORS["uniform"](specs(after, counts, found), counts) == found


def test_range_gives_runs_and_co_partitions() -> None:
    counts = {TOPICS[0]: 5, TOPICS[1]: 5}
    told = {
        "z": MemberSpec("i1", frozenset(counts), {}),
        "a": MemberSpec(None, frozenset(counts), {}),
    }
    found = ASSIGNORS["range"](told, counts)
    assert found["z"] == dict.fromkeys(counts, frozenset({0, 1, 2})), "by instance id before member ids"
    assert found["a"] == dict.fromkeys(counts, frozenset({3, 4}))


def test_a_thousand_members_and_partitions() -> None:
    counts = dict.fromkeys(TOPICS, 1000)
    told = specs({f"m{number:04}": frozenset(TOPICS) for number in range(1_000)}, counts, {})
    assert set(loads(ASSIGNORS["uniform"](told, counts)).values()) == {5}
