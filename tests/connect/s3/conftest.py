"""One S3 server for all tests, each with a bucket of its own."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from tests.support.s3 import S3Bucket, S3Process


@pytest.fixture(scope="session")
def s3(tmp_path_factory: pytest.TempPathFactory) -> Iterator[S3Process]:
    running = S3Process(tmp_path_factory.mktemp("s3"))
    try:
        running.start()
        yield running
    finally:
        running.kill()


@pytest.fixture
def bucket(s3: S3Process) -> S3Bucket:
    return s3.bucket(f"b-{uuid.uuid4().hex[:10]}")
