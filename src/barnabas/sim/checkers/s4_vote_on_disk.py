"""S4 for the quorum: an epoch or a vote that anybody may have heard of is on the platter, flushed.

Whatever the member's machine holds when nothing waits to be written has been let out. So the file must say the same.
"""

import json
from typing import TYPE_CHECKING

from barnabas.broker.quorum.state_file import FILE
from barnabas.sim.platter import File

if TYPE_CHECKING:
    from barnabas.sim.computer import Computer
    from barnabas.sim.world import World


class VotesOnDisk:
    def __init__(self, world: "World") -> None:
        self._world = world
        self._looked_at: dict[int, object] = {}
        self.problems: list[str] = []

    def look(self, computer: "Computer") -> None:
        driver = getattr(computer.node, "quorum", None)
        if driver is None or driver._waiting or driver._queue or driver.closed:
            return
        state = driver.raft.state
        if state is self._looked_at.get(computer.number) or computer.platter.lying_syncs:
            return
        self._looked_at[computer.number] = state
        voted = -1 if state.voted_for is None else state.voted_for.id
        file = computer.platter.find(f"{driver._log.folder}/{FILE}")
        kept = json.loads(bytes(file.stable)) if isinstance(file, File) and file.stable else {}
        on_disk = (kept.get("leaderEpoch", 0), kept.get("votedId", -1))
        if on_disk != (state.epoch, voted):
            text = f"{computer.name}: epoch {state.epoch}, vote for {voted}; on its disk {on_disk}"
            self._world.trace.note(f"PROBLEM {text}")
            self.problems.append(f"S4 {text}")
