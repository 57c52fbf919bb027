"""Watches free disk space. A node that runs out stays up, keeps its data, and asks the controller to fence it (see
broker/lifecycle.py), so that others lead what it led, until there is space for more than the next few batches.
"""

import logging
from typing import TYPE_CHECKING

from barnabas.storage.disk import FULL

if TYPE_CHECKING:
    from barnabas.broker.node import Node

log = logging.getLogger(__name__)

_ENOUGH_BYTES = 10 * 1024 * 1024


class DiskSpace:
    def __init__(self, node: "Node") -> None:
        self._node = node
        self._ran_out = False

    def failed(self, error: OSError) -> None:
        """Something could not be written. From any thread."""
        if error.errno in FULL and not self._ran_out:
            self._ran_out = True
            meanwhile = "others lead" if self._node.has_successor else "producers are refused, reads are served"
            log.error(
                "there is no room on the disk of %s: %s until there is. Delete what is not needed, shorten "
                "retention.ms or use a larger disk.",
                self._node.data_dir,
                meanwhile,
            )

    @property
    def is_lacking(self) -> bool:
        """Looks at the disk when it was full the last time."""
        if self._ran_out and self._node.ground.disk.space(str(self._node.data_dir))[1] >= _ENOUGH_BYTES:
            self._ran_out = False
            log.warning("there is room again on the disk of %s", self._node.data_dir)
        return self._ran_out
