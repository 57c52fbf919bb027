"""Which topics a mirror copies, and what they are called at the target.

The rules are MirrorMaker 2's DefaultReplicationPolicy and its default filters, so that its clients read what is here:
`orders` of the cluster east is `east.orders` in every other one, and a name's first part says where it comes from. A
topic is never mirrored into a cluster that its name has been through, and never out of a cluster under that cluster's
own name in front, which is what makes `east.east.heartbeats` of a wrong name. Elsewhere in a name the source's is a
word like others: `sales.east.orders` of east is copied.

With the same names on both sides only `heartbeats` has the prefix, as in MirrorMaker's IdentityReplicationPolicy: what
was copied is known by a header of the record.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

SEPARATOR = "."
HEARTBEATS = "heartbeats"
CHECKPOINTS_SUFFIX = ".checkpoints.internal"
ORIGIN_HEADER = "barnabas.mirror.origin"  # of a record that was copied under its own name: where it was written
FLOW_PREFIX = "mirror-"  # of the connectors that are mirrors

CLUSTER_NAME = re.compile(r"[A-Za-z0-9_-]{1,40}")  # no separator: it is the first part of names of topics
_NOT_COPIED = re.compile(
    r"__.*|\..*|mm2.*\.internal|.*[-.]internal|.*\.replica"
    rf"|{FLOW_PREFIX}[A-Za-z0-9_-]+\.(?:positions|dead|redrive)"  # of the connectors that mirror
)
_GROUPS_NOT_COPIED = re.compile(r"console-consumer-.*|connect-.*|__.*|barnabas-.*")


@dataclass(frozen=True, slots=True)
class Naming:
    source: str
    target: str
    same_names: bool = False

    @property
    def flow(self) -> str:
        """The name of the connector that copies."""
        return f"{FLOW_PREFIX}{self.source}-{self.target}"

    @property
    def checkpoints(self) -> str:
        """At the target."""
        return self.source + CHECKPOINTS_SUFFIX

    @property
    def offset_syncs(self) -> str:
        """At the source, which is where MirrorMaker has it by default."""
        return f"mm2-offset-syncs.{self.target}.internal"

    def at_target(self, topic: str) -> str:
        if self.same_names and not is_heartbeats(topic):
            return topic
        return f"{self.source}{SEPARATOR}{topic}"

    def may_copy(self, topic: str) -> bool:
        """Whatever a person has asked for: what is internal, or has been there, never."""
        if _NOT_COPIED.fullmatch(topic):
            return False
        if self.same_names and not is_heartbeats(topic):
            return True
        before = origins(topic)
        return self.target not in before and before[:1] != [self.source]

    def carries_origin(self, topic: str) -> bool:
        """Whether its records are known by a header, and not by the name of their topic."""
        return self.same_names and not is_heartbeats(topic)


def origins(topic: str) -> list[str]:
    """The clusters that a name has been through, the last one first, as far as a name can say."""
    return topic.split(SEPARATOR)[:-1]


def is_heartbeats(topic: str) -> bool:
    return topic.rsplit(SEPARATOR, 1)[-1] == HEARTBEATS


def may_copy_group(group: str) -> bool:
    return not _GROUPS_NOT_COPIED.fullmatch(group)
