"""A store in this process: the same tests run on s3proxy in tests/connect/s3."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from tests.support.fake_s3 import FakeS3
from tests.support.s3 import S3Bucket


@pytest.fixture(scope="session")
def s3() -> Iterator[FakeS3]:
    with FakeS3() as store:
        yield store


@pytest.fixture
def bucket(s3: FakeS3) -> S3Bucket:
    return s3.bucket(f"b-{uuid.uuid4().hex[:10]}")
