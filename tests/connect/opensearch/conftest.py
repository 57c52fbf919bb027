"""One OpenSearch for all tests, each with indexes of its own."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from tests.support.opensearch import OpenSearchProcess


@pytest.fixture(scope="session")
def opensearch(tmp_path_factory: pytest.TempPathFactory) -> Iterator[OpenSearchProcess]:
    running = OpenSearchProcess(tmp_path_factory.mktemp("opensearch"))
    try:
        running.start()
        yield running
    finally:
        running.kill()


@pytest.fixture
def index() -> str:
    return f"test-{uuid.uuid4().hex[:10]}"
