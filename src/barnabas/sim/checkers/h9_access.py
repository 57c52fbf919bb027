"""H9: whoever has no right to do so reads, writes and changes nothing, whatever happens to the nodes meanwhile.

The stranger itself looks at the answers it gets (workloads/stranger.py). What it wrote or made without an answer is
looked for here.
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING

from barnabas.sim.checkers.base import Final
from barnabas.sim.workloads.stranger import MARK

if TYPE_CHECKING:
    from barnabas.sim.world import World


def check(world: "World", final: Final) -> Iterator[str]:
    for (topic, index), records in final.everything.items():
        for offset, value in records:
            if value.startswith(MARK):
                yield f"H9 {topic}-{index} has {value!r} of a stranger at {offset}"
    image = world.newest_image()
    if image is None:
        return
    for name in image.topics:
        if name.startswith(MARK.decode()):
            yield f"H9 a stranger has created {name}"
    for rule in image.acls.ids:
        if rule.principal.endswith(MARK.decode()):
            yield f"H9 a stranger has a rule: {rule}"
