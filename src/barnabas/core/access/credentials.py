"""What the cluster keeps of passwords and of delegation tokens.

A module of its own, so that a node without users imports no more than this.
"""

from typing import NamedTuple


class ScramCredential(NamedTuple):
    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int
    source: str = ""  # the id of the cluster that a link brought it from; empty: it was set here

    def __repr__(self) -> str:
        return f"ScramCredential(iterations={self.iterations})"  # its keys are nobody's business


NO_USER = ("", 1)
"""The credential of no user (a name is never empty). Its stored key is the cluster's secret for the salts of users that
do not exist: it is written with the first user, so that every node gives the same salt, before and after a restart."""


class DelegationToken(NamedTuple):
    """Principals are written as TYPE:NAME. Times are wall time."""

    token_id: str
    owner: str  # whom a client is once it has logged in with it
    requester: str  # who created it
    renewers: tuple[str, ...]
    issued_ms: int
    max_ms: int  # never renewed beyond
    expires_ms: int

    def has_expired(self, now_ms: int) -> bool:
        return self.max_ms < now_ms or self.expires_ms < now_ms

    def concerns(self, principal: str) -> bool:
        """Who may see it without a rule, and whom a filter by owner means, as in Kafka."""
        return principal in (self.owner, self.requester) or principal in self.renewers

    def may_be_renewed_by(self, principal: str) -> bool:
        return principal == self.owner or principal in self.renewers
