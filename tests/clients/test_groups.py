"""Consumer groups with real clients: sharing, publish/subscribe, rebalances, static members, both protocols and
the way between them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from confluent_kafka import Consumer, ConsumerGroupState, ConsumerGroupType
from confluent_kafka.admin import AdminClient

from tests.support.members import PROTOCOLS, QUIET, Member, shared, until, write
from tests.support.process import end

pytestmark = pytest.mark.timeout(120)
Create = Callable[..., str]
ALL_PROTOCOLS = ("range", "cooperative", "consumer")


@pytest.fixture
def join(bootstrap: str) -> Iterator[Callable[..., Member]]:
    members: list[Member] = []

    def make(*arguments: Any, **more: Any) -> Member:
        more["name"] = f"m{len(members)}"
        member = Member(bootstrap, *arguments, **more)
        members.append(member)
        return member

    yield make
    for member in members:
        member.close()


@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
def test_one_group_shares_and_other_groups_each_get_all(
    bootstrap: str, create: Create, topic: str, group: str, join: Callable[..., Member], protocol: str
) -> None:
    """Queue and publish/subscribe at once."""
    create(topic, 4)
    workers = [join(group, [topic], protocol) for _ in range(2)]
    other = join(f"{group}-other", [topic], protocol)
    until(
        lambda: shared(workers, 4) and shared([other], 4), "two workers share four partitions, the other group has all"
    )
    values = [f"v{i}".encode() for i in range(400)]
    write(bootstrap, topic, values, 4)
    until(lambda: sum(len(w.read) for w in workers) >= 400 and len(other.read) >= 400, "all records read")
    time.sleep(0.2)  # anything read twice would come now
    assert sorted(v for w in workers for v in w.values()) == sorted(values)
    assert sorted(other.values()) == sorted(values)
    assert all(w.read for w in workers)
    for member in (*workers, other):
        for partition in range(4):
            offsets = [o for p, o, _ in member.read if p == partition]
            assert offsets == sorted(offsets)


@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
def test_members_come_and_go(
    bootstrap: str, create: Create, topic: str, group: str, join: Callable[..., Member], protocol: str
) -> None:
    create(topic, 6)
    first = join(group, [topic], protocol)
    until(lambda: shared([first], 6), "the first has all")
    second, third = join(group, [topic], protocol), join(group, [topic], protocol)
    until(lambda: shared([first, second, third], 6), "three share")
    values = [f"v{i}".encode() for i in range(600)]
    write(bootstrap, topic, values[:300], 6)
    second.close()
    until(lambda: shared([first, third], 6), "two share what three had")
    write(bootstrap, topic, values[300:], 6)
    until(
        lambda: {v for m in (first, second, third) for v in m.values()} == set(values), "every record read by someone"
    )
    first.close()
    until(lambda: shared([third], 6), "the last has all again")
    assert not [e for m in (first, second, third) for e in m.errors]


@pytest.mark.parametrize("protocol", ALL_PROTOCOLS)
def test_more_members_than_partitions(
    create: Create, topic: str, group: str, join: Callable[..., Member], protocol: str
) -> None:
    """Those without a partition wait, and take over."""
    create(topic, 2)
    members = [join(group, [topic], protocol) for _ in range(4)]
    until(lambda: sorted(len(m.partitions) for m in members) == [0, 0, 1, 1], "two of four have one each")
    busy = [m for m in members if m.partitions]
    for member in busy:
        member.close()
    idle = [m for m in members if m not in busy]
    until(lambda: sorted(p for m in idle for p in m.partitions) == [0, 1], "the waiting two take over")


def test_cooperative_members_keep_what_they_have(
    create: Create, topic: str, group: str, join: Callable[..., Member]
) -> None:
    """KIP-429: a newcomer costs the others only what moves."""
    create(topic, 4)
    first = join(group, [topic], "cooperative")
    until(lambda: shared([first], 4), "the first has all")
    second = join(group, [topic], "cooperative")
    until(lambda: shared([first, second], 4), "two share")
    kept = first.partitions
    revoked = [parts for what, parts in first.history if what == "revoke" and parts]
    assert len(revoked) == 1, first.history
    assert len(revoked[0]) == 2
    assert kept.isdisjoint(revoked[0])


def test_a_static_member_comes_back_without_a_rebalance(
    create: Create, topic: str, group: str, join: Callable[..., Member], admin: AdminClient
) -> None:
    """KIP-345."""
    create(topic, 4)
    settings = {"session.timeout.ms": 20000}
    first = join(group, [topic], "range", **{"group.instance.id": "one", **settings})
    second = join(group, [topic], "range", **{"group.instance.id": "two", **settings})
    until(lambda: shared([first, second], 4), "two share")
    before, had = len(first.history), second.partitions
    second.close()
    back = join(group, [topic], "range", **{"group.instance.id": "two", **settings})
    until(lambda: back.partitions == had, "it gets what it had")
    assert len(first.history) == before, "the other member was disturbed"
    described = admin.describe_consumer_groups([group])[group].result(10)
    assert {m.group_instance_id for m in described.members} == {"one", "two"}


def test_a_member_that_dies_is_replaced_after_its_session(
    create: Create, topic: str, group: str, join: Callable[..., Member], bootstrap: str
) -> None:
    """Without a goodbye: the socket is open, nothing is heard."""
    import os
    import signal
    import subprocess
    import sys

    create(topic, 2)
    script = (
        "import sys,time\nfrom confluent_kafka import Consumer\n"
        "c=Consumer({'bootstrap.servers':sys.argv[1],'group.id':sys.argv[2],'session.timeout.ms':6000,'heartbeat.interval.ms':300})\n"
        "c.subscribe([sys.argv[3]],on_assign=lambda c,p:print('assigned',flush=True))\n"
        "while True: c.poll(0.1)\n"
    )
    child = subprocess.Popen([sys.executable, "-c", script, bootstrap, group, topic], stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None
        assert child.stdout.readline().strip() == b"assigned"
        os.kill(child.pid, signal.SIGSTOP)
        began = time.monotonic()
        survivor = join(group, [topic])
        until(lambda: shared([survivor], 2), "the survivor has all", 25)
        assert time.monotonic() - began < 20
    finally:
        end(child)


def test_the_new_protocol_in_the_eyes_of_an_administrator(
    create: Create, topic: str, group: str, join: Callable[..., Member], admin: AdminClient
) -> None:
    create(topic, 3)
    member = join(group, [topic], "consumer")
    until(lambda: shared([member], 3), "it has all")
    described = admin.describe_consumer_groups([group])[group].result(10)
    assert described.type == ConsumerGroupType.CONSUMER
    assert described.state == ConsumerGroupState.STABLE
    assert sorted(p.partition for p in described.members[0].assignment.topic_partitions) == [0, 1, 2]
    listed = admin.list_consumer_groups(types={ConsumerGroupType.CONSUMER}).result(10)
    assert group in {g.group_id for g in listed.valid}
    assert group not in {
        g.group_id for g in admin.list_consumer_groups(types={ConsumerGroupType.CLASSIC}).result(10).valid
    }


def test_a_regular_expression_finds_topics_made_later(
    create: Create, topic: str, group: str, join: Callable[..., Member], bootstrap: str
) -> None:
    """RE2, matched by the server: the new protocol."""
    create(f"{topic}-one", 1)
    member = join(group, [f"^{topic}-.*"], "consumer", **{"topic.metadata.refresh.interval.ms": 1000})
    until(lambda: member.assigned == {(f"{topic}-one", 0)}, "the first topic")
    create(f"{topic}-two", 2)
    until(lambda: len(member.assigned) == 3, "the second topic", 60)
    write(bootstrap, f"{topic}-two", [b"found"])
    until(lambda: b"found" in member.values(), "its record")


@pytest.mark.parametrize("polled", [0.0, 0.01, 0.1, None], ids=["at once", "10 ms", "100 ms", "assigned"])
def test_a_member_that_unsubscribes_and_subscribes_at_once_reads_on(
    create: Create, topic: str, group: str, bootstrap: str, polled: float | None
) -> None:
    """librdkafka leaves and joins again under the same id; it has stopped sending heartbeats after that when it was
    answered sooner than by Kafka, whose coordinator makes an assignment once a second."""
    create(topic, 1)
    write(bootstrap, topic, [b"first"])
    for number in range(5):
        _subscribes_anew(bootstrap, topic, f"{group}-{number}", polled)


def _subscribes_anew(bootstrap: str, topic: str, group: str, polled: float | None) -> None:
    settings = {"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest"}
    consumer = Consumer({**QUIET, **PROTOCOLS["consumer"], **settings})

    def is_read() -> bool:
        message = consumer.poll(0.05)
        return message is not None and message.value() == b"first"

    try:
        consumer.subscribe([topic])
        if polled is None:
            until(lambda: consumer.poll(0.05) is not None or bool(consumer.assignment()), "an assignment")
        else:
            consumer.poll(polled)
        consumer.unsubscribe()
        consumer.subscribe([topic])
        until(is_read, "the record")
    finally:
        consumer.close()


@pytest.mark.timeout(180)
@pytest.mark.parametrize(
    ("old", "new"), [("range", "consumer"), ("cooperative", "consumer"), ("consumer", "cooperative")]
)
def test_a_live_group_changes_protocol(
    create: Create,
    topic: str,
    group: str,
    join: Callable[..., Member],
    bootstrap: str,
    admin: AdminClient,
    old: str,
    new: str,
) -> None:
    """KIP-848's migration, member by member, while records flow: nothing lost, no partition with two owners for
    long."""
    create(topic, 4)
    members = [join(group, [topic], old) for _ in range(2)]
    until(lambda: shared(members, 4), f"two {old} members share")
    sent: list[bytes] = []

    def more(count: int = 100) -> None:
        values = [f"v{len(sent) + i}".encode() for i in range(count)]
        sent.extend(values)
        write(bootstrap, topic, values, 4)

    everyone = list(members)
    more()
    for _ in range(2):
        newcomer = join(group, [topic], new)
        everyone.append(newcomer)
        until(lambda: shared([*members, newcomer], 4), f"a {new} member joined", 60)  # noqa: B023
        more()
        members.pop(0).close()
        members.append(newcomer)
        until(lambda: shared(members, 4), f"a {old} member left", 60)
        more()
    until(lambda: {v for m in everyone for v in m.values()} == set(sent), "every record read")

    def described() -> tuple[ConsumerGroupType, ConsumerGroupState]:
        found = admin.describe_consumer_groups([group])[group].result(10)
        return found.type, found.state

    kind = ConsumerGroupType.CONSUMER if new == "consumer" else ConsumerGroupType.CLASSIC
    until(lambda: described() == (kind, ConsumerGroupState.STABLE), "the group is stable, and of the new kind", 20)
