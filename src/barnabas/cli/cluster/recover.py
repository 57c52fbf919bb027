"""`barnabas cluster recover`: make a cluster out of one node's folder when the other nodes are lost."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.common import human
from barnabas.cli.common.failure import Failure, warn
from barnabas.cli.common.options import AsJson, Yes, confirm
from barnabas.cli.common.screen import outcome

if TYPE_CHECKING:
    from barnabas.broker.quorum.recovery import Held


def recover(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="The data folder, or a copy of it.")],
    yes: Yes = False,
    as_json: AsJson = False,
) -> None:
    """Make a cluster out of one node's folder, when the others are lost.

    For a folder that waits for a quorum which will never be there again. Its node becomes the only voter and leads
    every partition it has a replica of: records that only other nodes had are lost. No node may run on the folder.
    The cluster gets a new id, so that it and folders of the lost nodes stay apart: new nodes begin with empty ones.
    Keep a copy.

    \b
    Example:
      barnabas cluster recover /var/lib/barnabas
      barnabas cluster recover copy --yes
    """
    from barnabas.broker.quorum.recovery import Recovery
    from barnabas.storage.directory import DirectoryError

    try:
        found = Recovery(folder)
    except DirectoryError as error:
        raise Failure(str(error), error.way_out) from None
    try:
        if not found.others:
            told = f"node {found.node_id} is a cluster of its own: nothing to recover, start it"
            outcome(as_json, {"node": found.node_id, "recovered": False}, told)
            return
        warn(loss(found.node_id, found.others, found.held()))
        confirm(f"Make node {found.node_id} the only voter?", yes)
        cluster_id = found.make_alone(int(time.time() * 1000))
    except DirectoryError as error:
        raise Failure(str(error), error.way_out) from None
    finally:
        found.close()
    told = (
        f"node {found.node_id} is the only voter now, of the new cluster {cluster_id}\n"
        "start it, then new nodes with empty folders; a cluster.id in its settings has to go"
    )
    outcome(as_json, {"node": found.node_id, "recovered": True, "cluster_id": cluster_id}, told)


def loss(node: int, others: list[int], held: Held) -> str:
    """What is given up, in one line."""
    lost = f"node {others[0]}" if len(others) == 1 else f"nodes {', '.join(map(str, others))}"
    text = f"what only {lost} had is lost. Node {node} will lead the {human.plural(held.here, 'partition')} it has"
    if held.behind:
        text += f", {held.behind} of them without having been in sync"
    if held.elsewhere:
        text += f"; {human.plural(held.elsewhere, 'partition')} it has no replica of will have no leader"
    return text + f". Go on only if {lost} will never be started again on the old folders."
