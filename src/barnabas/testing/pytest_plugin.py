"""The pytest fixtures: `barnabas_node`, a fresh node for each test that asks for one, and `barnabas_cluster`, several.

@pytest.mark.barnabas(settings={"auto.create.topics.enable": False}, nodes=3)
def test_publishes(barnabas_cluster): ...
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from barnabas.testing.cluster import RunningCluster
    from barnabas.testing.node import RunningNode


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "barnabas(settings={}, nodes=3, movable_clock=False, secure=False, users={}): how this test's nodes are set up",
    )


@pytest.fixture
def barnabas_node(request: pytest.FixtureRequest) -> "Iterator[RunningNode]":
    from barnabas.testing.node import running_node  # imported only when used: every pytest run loads this plugin

    options = _options(request, "barnabas_node", {"settings", "movable_clock", "secure", "users"})
    with running_node(options.pop("settings", None), **options) as node:
        yield node


@pytest.fixture
def barnabas_cluster(request: pytest.FixtureRequest) -> "Iterator[RunningCluster]":
    from barnabas.testing.cluster import running_cluster

    options = _options(request, "barnabas_cluster", {"settings", "nodes"})
    with running_cluster(options.get("nodes", 3), options.get("settings")) as cluster:
        yield cluster


# What the test's marker was given, by keyword.
def _options(request: pytest.FixtureRequest, fixture: str, used: set[str]) -> dict[str, Any]:
    marker = request.node.get_closest_marker("barnabas")
    if marker is None:
        return {}
    if marker.args or not marker.kwargs.keys() <= {"settings", "nodes", "movable_clock", "secure", "users"}:
        pytest.fail(
            "@pytest.mark.barnabas takes settings={...}, nodes=N, movable_clock=True, secure=True and users={...}, by"
            " name",
            pytrace=False,
        )
    both = {"barnabas_node", "barnabas_cluster"} <= set(request.fixturenames)  # then the mark is for either
    if not both and (unused := sorted(marker.kwargs.keys() - used)):
        other = "barnabas_cluster" if fixture == "barnabas_node" else "barnabas_node"
        pytest.fail(f"@pytest.mark.barnabas({unused[0]}=...) is for the fixture {other}, not {fixture}", pytrace=False)
    return dict(marker.kwargs)
