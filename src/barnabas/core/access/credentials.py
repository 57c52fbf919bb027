"""What the cluster keeps of passwords. A module of its own, so that a node without users imports no more than this."""

from typing import NamedTuple


class ScramCredential(NamedTuple):
    salt: bytes
    stored_key: bytes
    server_key: bytes
    iterations: int

    def __repr__(self) -> str:
        return f"ScramCredential(iterations={self.iterations})"  # its keys are nobody's business


NO_USER = ("", 1)
"""The credential of no user (a name is never empty). Its stored key is the cluster's secret for the salts of users that
do not exist: it is written with the first user, so that every node gives the same salt, before and after a restart."""
