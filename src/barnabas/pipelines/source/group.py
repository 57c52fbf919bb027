"""How the group of a Spark query is told from that of any other program that commits offsets without joining.

Every offset that a query commits carries this metadata, which OffsetFetch gives back.
"""

COMMITTED_BY = "spark"


def is_of_spark(metadata: str | None) -> bool:
    """confluent-kafka sends the zero that ends a text in C as a part of it."""
    return metadata is not None and metadata.rstrip("\0") == COMMITTED_BY
