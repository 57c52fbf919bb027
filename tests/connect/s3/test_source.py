"""Objects of a real S3 endpoint become records as those of the one in a test's process do."""

from tests.unit.connect.s3.test_source import *  # noqa: F403  # tests
