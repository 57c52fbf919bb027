"""The Java client, whose behaviour is Kafka's own: groups of both protocols, and one call of everything its Admin
can ask of us."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from tests.support.java import JavaTools
from tests.support.members import write

pytestmark = pytest.mark.timeout(120)
Create = Callable[..., str]


def members(
    java: JavaTools, bootstrap: str, topic: str, group: str, expected: int, protocols: str
) -> tuple[list[set[int]], str]:
    """What each member owned in the end, and the last line: how many records were read, and how many twice."""
    out = java.run(
        "GroupMembers", bootstrap, topic, group, str(expected), protocols, timeout_seconds=90
    ).out.splitlines()
    owned = []
    for line in out[:-1]:
        found = re.fullmatch(r"\[(.*)\] read (\d+) failure null", line)
        assert found, out
        owned.append({int(p) for p in found[1].split(", ") if p})
    return owned, out[-1]


@pytest.mark.parametrize("protocol", ["classic", "cooperative", "consumer", "consumer:range", "consumer:uniform"])
def test_members_share(java: JavaTools, bootstrap: str, create: Create, topic: str, group: str, protocol: str) -> None:
    create(topic, 6)
    write(bootstrap, topic, [b"%d" % i for i in range(300)], 6)
    owned, last = members(java, bootstrap, topic, group, 300, ",".join([protocol] * 3))
    assert sorted(p for parts in owned for p in parts) == list(range(6))
    assert [len(parts) for parts in owned] == [2, 2, 2]
    assert last.startswith("distinct 300 "), last


def test_both_protocols_in_one_group(java: JavaTools, bootstrap: str, create: Create, topic: str, group: str) -> None:
    """Half way through a migration: members of either protocol, one group, every partition owned once."""
    create(topic, 6)
    write(bootstrap, topic, [b"%d" % i for i in range(300)], 6)
    owned, last = members(java, bootstrap, topic, group, 300, "cooperative,consumer,cooperative")
    assert sorted(p for parts in owned for p in parts) == list(range(6))
    assert all(owned)
    assert last.startswith("distinct 300 "), last


def test_a_group_goes_on_where_it_was(java: JavaTools, bootstrap: str, create: Create, topic: str, group: str) -> None:
    """The committed offsets hold for either protocol."""
    create(topic, 2)
    write(bootstrap, topic, [b"%d" % i for i in range(100)], 2)
    assert members(java, bootstrap, topic, group, 100, "classic")[1] == "distinct 100 twice 0"
    write(bootstrap, topic, [b"%d" % i for i in range(60)], 2)
    assert members(java, bootstrap, topic, group, 60, "consumer")[1] == "distinct 60 twice 0"
    write(bootstrap, topic, [b"%d" % i for i in range(40)], 2)
    assert members(java, bootstrap, topic, group, 40, "cooperative")[1] == "distinct 40 twice 0"


def test_the_admin_client(java: JavaTools, bootstrap: str, topic: str, group: str) -> None:
    out = java.run("AdminTour", bootstrap, topic, group).out
    assert dict(line.split(": ", 1) for line in out.splitlines()) == {
        "create": "3 60000",
        "create again": "TopicExistsException",
        "list": "true",
        "describe": "3",
        "describe by id": "true",
        "describe unknown": "UnknownTopicOrPartitionException",
        "grow": "null",
        "configs": "true",
        "alter": "null",
        "altered": "70000",
        "end": "0",
        "max timestamp": "-1",
        "earliest local": "0",
        "delete records": "0",
        "commit": "null",
        "offsets": "by hand",
        "groups": "true",
        "describe group": "Empty",
        "describe unknown group": "GroupIdNotFoundException",
        "forget offsets": "null",
        "delete group": "null",
        "cluster": "1",
        "log dirs": "true",
        "quorum": "1",
        "features": "true",
        "elect": "true",  # an answer for the partition: election not needed
        "config resources": "true",
        "delete": "null",
    }
