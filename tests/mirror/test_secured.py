"""A mirror between two clusters that were secured by one flag, one of them of three nodes, with a user of its own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.mirror.sides import MirrorProcess
from tests.security.test_one_word import Secured, is_free, start, stop
from tests.support.members import until
from tests.support.process import free_port

PASSWORD = "password-of-a-mirror"
# What a mirror needs at each side: it reads and writes both, for heartbeats, checkpoints and positions.
RIGHTS = (
    ("read,write,create,describe,describe-configs,alter,alter-configs", "topic:*"),
    ("read,describe", "group:*"),
    ("write,describe", "transactional-id:*"),
    ("describe,create", "cluster"),
)
SIDE = """
  {name}:
    bootstrap: "{bootstrap}"
    settings:
      security.protocol: SASL_SSL
      sasl.mechanism: SCRAM-SHA-512
      sasl.username: mirror
      sasl.password: "${{env:MIRROR_PASSWORD}}"
      ssl.ca.location: "{authority}"
"""


pytestmark = pytest.mark.timeout(240)


@pytest.fixture
def clusters(tmp_path: Path) -> Iterator[tuple[Secured, Secured]]:
    made: list[Secured] = []
    try:
        port = next(found for found in iter(free_port, 0) if all(is_free(found + more) for more in range(3)))
        (tmp_path / "east").mkdir()
        made.append(start(tmp_path / "east", "--nodes", "3", port=port))
        (tmp_path / "west").mkdir()
        made.append(start(tmp_path / "west"))
        yield made[0], made[1]
    finally:
        for secured in made:
            stop(secured)


def _values(secured: Secured, topic: str) -> list[str]:
    done = secured.run("consume", topic)
    return sorted(done.stdout.split()) if done.returncode == 0 else []


def test_both_ways_with_a_user_of_its_own(
    clusters: tuple[Secured, Secured], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    east, west = clusters
    for side in clusters:
        side.ok("topic", "create", "orders", "-p", "3")
        side.ok("user", "create", "mirror", "--password-file", "-", stdin=PASSWORD)
        for operations, resource in RIGHTS:
            side.ok("acl", "add", "mirror", operations, resource)
    east.ok("produce", "orders", stdin="e1\ne2\n")
    file = tmp_path / "mirror.yaml"
    sides = "".join(
        SIDE.format(name=name, bootstrap=side.bootstrap, authority=side.folder / "ca.pem")
        for name, side in (("east", east), ("west", west))
    )
    file.write_text(f'clusters:{sides}topics: ["orders"]\n')
    monkeypatch.setenv("MIRROR_PASSWORD", PASSWORD)
    mirror = MirrorProcess(tmp_path / "mirror.log", str(file))
    try:
        mirror.start()
        west.ok("produce", "orders", stdin="w1\n")
        until(lambda: _values(west, "east.orders") == ["e1", "e2"], "west has what east wrote", 60)
        until(lambda: _values(east, "west.orders") == ["w1"], "east has what west wrote", 60)
        east.ok("cluster", "kill-test", "--yes")  # a node of three dies, and comes back
        east.ok("produce", "orders", stdin="e3\n")
        until(lambda: _values(west, "east.orders") == ["e1", "e2", "e3"], "it goes on after a killed node", 60)
        assert PASSWORD not in mirror.log_path.read_text()
    finally:
        mirror.stop()
