"""What a mirror is told, and the two clusters of it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec
import re2

from barnabas.connect.cluster.connection import Cluster
from barnabas.connect.connectors.kafka.other import ClusterOptions, other_cluster
from barnabas.connect.connectors.mirror.names import CLUSTER_NAME, Naming
from barnabas.connect.contract import Options
from barnabas.connect.errors import BadOption
from barnabas.connect.options import read_options
from barnabas.model.expressions import expression_problem

ALL = (".*",)
PATTERNS_MAX = 100
_PATTERN_MAX_CHARS = 1024
_PATTERN_MAX_BYTES = 1 << 20  # of a compiled expression


class NamedCluster(ClusterOptions, kw_only=True, forbid_unknown_fields=True):
    name: str


class MirrorOptions(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    source: NamedCluster
    target: NamedCluster
    topics: tuple[str, ...] = ALL  # regular expressions (RE2) of whole names
    groups: tuple[str, ...] = ALL
    same_names: bool = False
    start: Literal["earliest", "latest"] = "earliest"
    group_offsets: Literal["both", "target", "none"] = "both"  # where translated offsets are committed
    groups_every_s: float = 2.0
    settings_every_s: float = 10.0
    heartbeats: bool = True
    offset_syncs: bool = True
    topic_settings: bool = True

    @property
    def naming(self) -> Naming:
        return Naming(self.source.name, self.target.name, self.same_names)


def mirror_options(given: Options) -> MirrorOptions:
    options = read_options("mirror", MirrorOptions, given)
    for side in (options.source, options.target):
        if not CLUSTER_NAME.fullmatch(side.name):
            raise BadOption(f"mirror: {side.name!r} cannot name a cluster", "Letters, digits, - and _, at most 40")
    if options.source.name == options.target.name:
        raise BadOption(f"mirror: both clusters are called {options.source.name!r}", "Give each a name of its own")
    if options.source.bootstrap == options.target.bootstrap:
        raise BadOption(f"mirror: both clusters are at {options.source.bootstrap}")
    for word, seconds in (("groups_every_s", options.groups_every_s), ("settings_every_s", options.settings_every_s)):
        if not 0.1 <= seconds <= 3600:
            raise BadOption(f"option {word!r} of mirror: {seconds} is not between 0.1 and 3600")
    return options


def check_different(source: Cluster, target: Cluster) -> None:
    """Raises BadOption where both addresses are of one cluster: it would copy its own copies without end."""
    ids = [each.admin().list_topics(timeout=20).cluster_id for each in (source, target)]
    if ids[0] is not None and ids[0] == ids[1]:
        raise BadOption(f"{source.bootstrap} and {target.bootstrap} are the same cluster ({ids[0]})")


def cluster_of(side: NamedCluster) -> Cluster:
    return other_cluster(side)


class Patterns:
    """Regular expressions of RE2, whose time is linear in the name."""

    def __init__(self, option: str, expressions: Sequence[str]) -> None:
        if len(expressions) > PATTERNS_MAX:
            raise BadOption(f"option {option!r} of mirror: {PATTERNS_MAX} expressions are the most")
        settings = re2.Options()
        settings.log_errors = False
        settings.max_mem = _PATTERN_MAX_BYTES
        self._compiled: list[re2._Regexp] = []
        for each in expressions:
            try:
                if len(each) > _PATTERN_MAX_CHARS:
                    raise re2.error("it is too long")
                self._compiled.append(re2.compile(each, settings))
            except re2.error as problem:
                why = expression_problem(problem)
                raise BadOption(f"option {option!r} of mirror: {each[:80]!r} is no regular expression: {why}") from None

    def match(self, name: str) -> bool:
        return any(each.fullmatch(name) for each in self._compiled)
