"""With the same names on both sides: the flow from the target to the source, as the one of the other direction sees it.

A partition of the source then has records of the target, too, and what a group has read of those is said by the map of
the flow back. Until that map is there an offset can only be too high, so it has to be known whether there will be one:
by the definition of the flow back, which is in the source's cluster.
"""

from __future__ import annotations

import time

from barnabas.connect.cluster import definitions
from barnabas.connect.cluster.connection import Cluster
from barnabas.connect.connectors.mirror.maps import Maps
from barnabas.connect.connectors.mirror.names import Naming
from barnabas.connect.connectors.mirror.offset_map import OffsetMap
from barnabas.connect.connectors.mirror.options import ALL, Patterns
from barnabas.connect.definition.definition import Definition

SETTLE_S = 10.0  # flows that are started together write their definitions one after the other
_LOOK_S = 2.0  # for the positions
_DEFINITION_S = 5.0


class FlowBack:
    def __init__(self, source: Cluster, naming: Naming, settle_s: float = SETTLE_S) -> None:
        """`naming` is that of the other direction. `settle_s`: for how long a definition has to be missing until it is
        known that there is none."""
        self._source, self._name = source, Naming(naming.target, naming.source, True).flow
        self._maps = Maps(source, self._name, _LOOK_S)
        self._settle_s = settle_s
        self._look_at = 0.0
        self._missing_since: float | None = None
        self._topics: Patterns | None = None  # that it copies; None: there is no definition, or none was looked for
        self._has_prefix = False  # by its definition it copies to other names, so that the two have nothing in common

    def refresh(self) -> None:
        self._maps.refresh()
        if time.monotonic() >= self._look_at:
            entry = definitions.read_all(self._source).get(self._name)
            self._look_at = time.monotonic() + _DEFINITION_S
            self._learn(None if entry is None else entry.definition)

    def _learn(self, definition: Definition | None) -> None:
        if definition is None:
            self._topics, self._has_prefix = None, False
            self._missing_since = time.monotonic() if self._missing_since is None else self._missing_since
            return
        self._topics, self._missing_since = _topics(definition), None
        self._has_prefix = not definition.options.get("same_names", False)

    @property
    def is_missing(self) -> bool:
        """It is known that there is none that writes to the same names, and there was none."""
        if self._has_prefix:
            return True
        if self._missing_since is None or self._maps.places:
            return False
        return time.monotonic() - self._missing_since >= self._settle_s

    def copies(self, topic: str) -> bool:
        """Whether there is a map of its partitions, or may be one later."""
        return not self.is_missing and (self._topics is None or self._topics.match(topic))

    def of(self, topic: str, partition: int) -> OffsetMap | None:
        return self._maps.of(topic, partition)

    def close(self) -> None:
        self._maps.close()


def _topics(definition: Definition) -> Patterns:
    return Patterns("topics", list(definition.options.get("topics", ALL)))
