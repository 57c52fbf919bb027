"""Importing this package registers every scenario."""

from tests.differential.scenarios import (  # noqa: F401
    cluster,
    configs,
    consumer_groups,
    fetching,
    groups,
    offsets,
    producing,
    security,
    telemetry,
    topics,
    transactional_data,
    transactions,
)
