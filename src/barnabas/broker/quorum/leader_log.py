"""What a node's log says about the leader of its quorum: who leads, and, when nobody does for seconds, why not.

An election takes well below a second, so a quorum without a leader for longer has lost its majority. That is said again
more and more rarely until somebody leads. A node that has not known a leader since its start says so by itself
(`ControllerDriver.wait_for_leader`).
"""

import asyncio
import logging
from collections.abc import Callable

from barnabas.core.raft.effects import RoleChange

log = logging.getLogger(__name__)
events = logging.getLogger("barnabas.events")

_FIRST_SECONDS = 5.0
_LONGEST_SECONDS = 300.0


class LeaderLog:
    def __init__(self, node_id: int, why_no_leader: Callable[[], str], first_seconds: float = _FIRST_SECONDS) -> None:
        self._node_id = node_id
        self._why_no_leader = why_no_leader
        self._first_seconds = first_seconds
        self._told = (-1, -1)  # the leader and its epoch
        self._timer: asyncio.TimerHandle | None = None
        self._since = 0.0

    def role_changed(self, role: RoleChange) -> None:
        log.info("quorum: this node is %s in epoch %d", role.role, role.epoch)
        if role.leader_id is None:
            if self._timer is None and self._told != (-1, -1):
                self._since = asyncio.get_running_loop().time()
                self._tell_after(self._first_seconds)
            return
        self.close()
        if (role.leader_id, role.epoch) == self._told:
            return
        self._told = (role.leader_id, role.epoch)
        whose = "this node" if role.leader_id == self._node_id else f"node {role.leader_id}"
        events.info("%s leads the quorum in epoch %d", whose, role.epoch)

    def _tell_after(self, seconds: float) -> None:
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(seconds, self._tell, min(seconds * 2, _LONGEST_SECONDS))

    def _tell(self, next_seconds: float) -> None:
        log.warning(
            "the quorum has had no leader for %.0f s: %s. Until then nothing can be created, changed or failed over",
            asyncio.get_running_loop().time() - self._since,
            self._why_no_leader(),
        )
        self._tell_after(next_seconds)

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
