"""What a step of the coordinator asks its driver to do: append records, release replies, compute in a thread.

The rule of the two lists: append `records` in order, in one batch where they fit; a reply with `after_commit` leaves
only when everything this shard has appended so far is committed (at once, when nothing is outstanding). Replies
without it say nothing that could still be lost and leave immediately.

A job is work too long for one turn of the loop (the assignment of a large group, a regular expression over thousands of
topics). The driver calls `compute` in another thread: it must only use values that nobody changes. Its result goes to
`GroupShard.finish`, a step like any other. A shard that is dropped meanwhile never sees it.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class RequestInfo:
    api_key: int
    api_version: int
    client_id: str
    client_host: str

    @property
    def shown_host(self) -> str:
        """The host as Kafka writes and shows it: an address that was not looked up stands behind a slash."""
        return self.client_host if "/" in self.client_host else f"/{self.client_host}"


@dataclass(frozen=True, slots=True)
class Reply:
    token: object
    response: dict[str, Any]
    after_commit: bool = True


@dataclass(frozen=True, slots=True)
class Job:
    compute: Callable[[], Any]
    finish: Callable[[Any], None]


@dataclass(frozen=True, slots=True)
class Effects:
    records: list[tuple[bytes, bytes | None]] = field(default_factory=list)
    replies: list[Reply] = field(default_factory=list)
    transaction: tuple[int, int] | None = None  # producer id and epoch, when the records belong to a transaction
    jobs: list[Job] = field(default_factory=list)
