"""One member of a classic group, and the requests of it that are parked."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from barnabas.core.coordinator.contract import Token
from barnabas.core.groups.embedded import read_subscription

if TYPE_CHECKING:
    from barnabas.wire.messages import JoinGroupResponseBody, SyncGroupResponseBody

Protocols = tuple[tuple[str, bytes], ...]  # name and metadata, the most wanted first


@dataclass(slots=True)
class ClassicMember:
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: Protocols
    assignment: bytes = b""
    # A parked JoinGroup or SyncGroup. While one waits the session does not run out: the coordinator owes the answer.
    join_token: Token[JoinGroupResponseBody] | None = field(default=None, repr=False)
    sync_token: Token[SyncGroupResponseBody] | None = field(default=None, repr=False)
    # A member that has not seen its first generation. It cannot heartbeat yet; see NEW_MEMBER_JOIN_TIMEOUT_MS.
    is_new: bool = False
    _topics: tuple[bytes, frozenset[str] | None] | None = field(default=None, repr=False, compare=False)

    @property
    def is_static(self) -> bool:
        return self.instance_id is not None

    @property
    def is_waiting(self) -> bool:
        return self.join_token is not None or self.sync_token is not None

    def metadata_for(self, protocol: str | None) -> bytes:
        for name, metadata in self.protocols:
            if name == protocol:
                return metadata
        return b""

    def topics_for(self, protocol: str | None, known: frozenset[str] | None = None) -> frozenset[str] | None:
        """What it reads, as its metadata for a protocol says; None when that cannot be told.

        Read when the member joins: a thousand members that are read when their generation begins take 40 ms.
        `known` is kept instead where it is the same, since the members of a group mostly read the same topics.
        """
        metadata = self.metadata_for(protocol)
        if self._topics is None or self._topics[0] is not metadata:
            subscription = read_subscription(metadata)
            topics = frozenset(subscription.topics) if subscription is not None else None
            self._topics = (metadata, known if known == topics else topics)
        return self._topics[1]
