"""A node in this process and a registry on it for all tests, each with subjects of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from barnabas.testing import RunningNode, running_node
from tests.support.registry import RegistryProcess


@pytest.fixture(scope="package")
def node() -> Iterator[RunningNode]:
    with running_node() as running:
        yield running


@pytest.fixture(scope="package")
def registry(node: RunningNode, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryProcess]:
    serving = RegistryProcess(tmp_path_factory.mktemp("registry"), node.bootstrap)
    try:
        serving.start()
        yield serving
    finally:
        serving.stop()
