from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.unit.client.registry.small_registry import SmallRegistry, served


@pytest.fixture
def small() -> Iterator[SmallRegistry]:
    with served(SmallRegistry()) as registry:
        yield registry
