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
        "markers", "barnabas(settings={}, nodes=3): how barnabas_node and barnabas_cluster are set up for this test"
    )


@pytest.fixture
def barnabas_node(request: pytest.FixtureRequest) -> "Iterator[RunningNode]":
    from barnabas.testing.node import running_node  # imported only when used: every pytest run loads this plugin

    with running_node(_options(request).get("settings")) as node:
        yield node


@pytest.fixture
def barnabas_cluster(request: pytest.FixtureRequest) -> "Iterator[RunningCluster]":
    from barnabas.testing.cluster import running_cluster

    options = _options(request)
    with running_cluster(options.get("nodes", 3), options.get("settings")) as cluster:
        yield cluster


def _options(request: pytest.FixtureRequest) -> dict[str, Any]:
    marker = request.node.get_closest_marker("barnabas")
    if marker is None:
        return {}
    if marker.args or not marker.kwargs.keys() <= {"settings", "nodes"}:
        pytest.fail("@pytest.mark.barnabas takes settings={...} and nodes=N, by name")
    return dict(marker.kwargs)
