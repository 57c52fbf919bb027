"""Objects are written to a real S3 endpoint as they are to the one in a test's process."""

from tests.unit.connect.s3.test_sink import *  # noqa: F403  # tests
