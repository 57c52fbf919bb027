"""One member of a classic group, and the requests of it that are parked."""

from dataclasses import dataclass, field

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
    join_token: object | None = field(default=None, repr=False)
    sync_token: object | None = field(default=None, repr=False)
    # A member that has not seen its first generation. It cannot heartbeat yet; see NEW_MEMBER_JOIN_TIMEOUT_MS.
    is_new: bool = False

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
