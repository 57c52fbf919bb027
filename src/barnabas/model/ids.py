"""Names and identities: topics, partitions, uuids.

A uuid is 16 raw bytes everywhere inside; Kafka prints it as base64url without padding, and so do we.
"""

import base64
import os
import re
from typing import NamedTuple

ZERO_UUID = bytes(16)
LOST_DIRECTORY = (1).to_bytes(16, "big")  # Kafka's reserved id for the directory of a replica that is gone (KIP-858)
METADATA_TOPIC = "__cluster_metadata"
OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTION_TOPIC = "__transaction_state"
SCHEMAS_TOPIC = "_schemas"  # the schema registry's, an ordinary topic of clients
AUDIT_TOPIC = "__audit"  # our own; Kafka has none
INTERNAL_TOPICS = frozenset({OFFSETS_TOPIC, TRANSACTION_TOPIC, AUDIT_TOPIC})

_LEGAL = re.compile(r"[a-zA-Z0-9._-]+")
TOPIC_NAME_MAX_CHARS = 249  # with "-<partition>" and a suffix it must still be a file name (255 bytes)


class TopicPartition(NamedTuple):
    topic: str
    partition: int

    def __str__(self) -> str:
        return f"{self.topic}-{self.partition}"


def new_uuid() -> bytes:
    """A random id whose text does not begin with a dash, so that it is never taken for a flag."""
    while True:
        value = os.urandom(16)
        if not uuid_text(value).startswith("-") and value != ZERO_UUID:
            return value


def uuid_text(value: bytes) -> str:
    return base64.urlsafe_b64encode(value).rstrip(b"=").decode()


def parse_uuid(text: str) -> bytes:
    value = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    if len(value) != 16:
        raise ValueError(f"not a uuid: {text!r}")
    return value


def topic_name_problem(name: str) -> str | None:
    """Why a topic may not have this name, or None when it may."""
    if not name:
        return "the name is empty"
    if name in (".", ".."):
        return f"{name!r} is not a name"
    if len(name) > TOPIC_NAME_MAX_CHARS:
        return f"the name is longer than {TOPIC_NAME_MAX_CHARS} characters"
    if not _LEGAL.fullmatch(name):
        return "only ASCII letters, digits, '.', '_' and '-' may stand in a name"
    return None
