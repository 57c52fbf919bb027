"""Connectors: records from other systems into topics, and from topics into other systems.

What somebody who writes a connector needs is in `contract.py`; docs/connectors/index.md has the story.
"""

from barnabas.connect.contract import Behind, Chunk, Delivered, Reader, Record, Rejected, Sink, Source, Writer
from barnabas.connect.errors import BadOption, Refused, Unavailable

__all__ = [
    "BadOption",
    "Behind",
    "Chunk",
    "Delivered",
    "Reader",
    "Record",
    "Refused",
    "Rejected",
    "Sink",
    "Source",
    "Unavailable",
    "Writer",
]
