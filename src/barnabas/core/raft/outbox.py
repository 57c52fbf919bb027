"""Gathers what a step asks for, and hands it over as one value."""

from barnabas.core.raft.effects import (
    Done,
    Effects,
    Flush,
    LogChange,
    PersistentState,
    Reply,
    RoleChange,
    Send,
    ServeFetch,
    ServeSnapshot,
    SnapshotPart,
)
from barnabas.core.raft.voters import VoterSet


class Outbox:
    __slots__ = (
        "committed",
        "done",
        "flush",
        "log",
        "persist",
        "reads",
        "replies",
        "role",
        "send",
        "snapshot_part",
        "voters",
    )

    def __init__(self) -> None:
        self._clear()

    def take(self, role: RoleChange | None) -> Effects:
        effects = Effects(
            self.persist,
            self.log,
            self.flush,
            self.send,
            self.replies,
            self.reads,
            self.snapshot_part,
            self.done,
            self.committed,
            role,
            self.voters,
        )
        self._clear()
        return effects

    def _clear(self) -> None:
        self.persist: PersistentState | None = None
        self.log: list[LogChange] = []
        self.flush: Flush | None = None
        self.send: list[Send] = []
        self.replies: list[Reply] = []
        self.reads: list[ServeFetch | ServeSnapshot] = []
        self.snapshot_part: SnapshotPart | None = None
        self.done: list[Done] = []
        self.committed: int | None = None
        self.role = False
        self.voters: VoterSet | None = None
