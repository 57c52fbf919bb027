"""From clusters, as a person names them, to the connectors that mirror between them.

    clusters:
      east: {bootstrap: "east.example.org:9092"}
      west: {bootstrap: "west.example.org:9092", settings: {security.protocol: SSL}}
    flows: [east->west, west->east]     # left out: every cluster to every other
    topics: ["orders.*"]

Each flow is a connector of its target, by the name mirror-EAST-WEST.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import permutations
from pathlib import Path

import msgspec
import yaml

from barnabas.connect.connectors.mirror.options import MirrorOptions, Patterns, cluster_of, mirror_options
from barnabas.connect.contract import Options
from barnabas.connect.definition.definition import Definition, Engine
from barnabas.connect.definition.loading import documents, no_yaml, text_of
from barnabas.connect.definition.references import resolved
from barnabas.connect.errors import BadOption
from barnabas.connect.hints import hint

_CLUSTERS_MAX = 20
_ARROW = "->"
_OF_A_FLOW = tuple(name for name in MirrorOptions.__struct_fields__ if name not in ("source", "target"))
_TOP = ("clusters", "flows", "engine", "commit_ms", *_OF_A_FLOW)


class Flow(msgspec.Struct, frozen=True):
    definition: Definition
    target: str  # the bootstrap of the cluster whose connector it is

    @property
    def options(self) -> MirrorOptions:
        """With secrets resolved. Raises BadOption."""
        return mirror_options(resolved(self.definition.options))


def flows_between(
    clusters: Mapping[str, Options],
    pairs: Sequence[tuple[str, str]],
    options: Options,
    engine: Engine = "process",
    commit_ms: int = 100,
) -> list[Flow]:
    """Raises BadOption for what cannot be right."""
    if not 2 <= len(clusters) <= _CLUSTERS_MAX:
        raise BadOption(f"a mirror is between 2 to {_CLUSTERS_MAX} clusters, not {len(clusters)}")
    found = []
    for source, target in pairs:
        given = {
            "source": {"name": source, **clusters[source]},
            "target": {"name": target, **clusters[target]},
            **options,
        }
        naming = _checked(mirror_options(resolved(given))).naming
        definition = Definition(
            name=naming.flow,
            side="source",
            connector="mirror",
            options=given,
            topic="{topic}",
            engine=engine,
            commit_ms=commit_ms,
        )
        found.append(Flow(definition, resolved(str(clusters[target]["bootstrap"]))))
    return found


def _checked(options: MirrorOptions) -> MirrorOptions:
    """Now, before anything is started that would only say so in its log."""
    Patterns("topics", options.topics)
    Patterns("groups", options.groups)
    for side in (options.source, options.target):
        try:
            cluster_of(side)
        except BadOption as problem:
            raise BadOption(f"cluster {side.name!r}: {problem.message}", problem.way_out) from None
    return options


def pairs_of(clusters: Sequence[str], both: bool) -> list[tuple[str, str]]:
    """From the first to the others, or from each to each."""
    return list(permutations(clusters, 2)) if both else [(clusters[0], each) for each in clusters[1:]]


def load_flows(path: Path) -> list[Flow]:
    text = text_of(path)
    try:
        found = documents(text)
    except BadOption as problem:
        raise BadOption(f"{path}: {problem.message}", problem.way_out) from None
    except (yaml.YAMLError, RecursionError, ValueError) as problem:
        raise no_yaml(str(path), text, problem) from None
    if len(found) != 1 or not isinstance(found[0], dict):
        raise BadOption(f"{path}: a mirror is one document with clusters and flows")
    try:
        return _flows(found[0])
    except BadOption as problem:
        raise BadOption(f"{path}: {problem.message}", problem.way_out) from None


def _flows(given: Options) -> list[Flow]:
    for word in given:
        if word not in _TOP:
            raise BadOption(f"there is no {word!r} here", hint(word, _TOP))
    clusters = given.get("clusters")
    if not isinstance(clusters, dict) or not all(
        isinstance(each, dict) and "bootstrap" in each for each in clusters.values()
    ):
        raise BadOption("'clusters' is missing", 'It says names and addresses: east: {bootstrap: "HOST:PORT"}.')
    named = {str(name): each for name, each in clusters.items()}
    pairs = (
        [_pair(each, named) for each in _listed(given["flows"])] if given.get("flows") else pairs_of(list(named), True)
    )
    options = {name: value for name, value in given.items() if name in _OF_A_FLOW}
    for word in ("topics", "groups"):
        if isinstance(options.get(word), str):
            options[word] = [options[word]]
    engine, commit_ms = given.get("engine", "process"), given.get("commit_ms", 100)
    if engine not in ("process", "spark"):
        raise BadOption(f"engine is process or spark, not {engine!r}")
    if not isinstance(commit_ms, int) or not 1 <= commit_ms <= 60_000:
        raise BadOption(f"commit_ms is 1 to 60000, not {commit_ms!r}")
    return flows_between(named, pairs, options, engine, commit_ms)


def _listed(flows: object) -> list[object]:
    """One alone need not be a list."""
    if isinstance(flows, str):
        return [flows]
    if not isinstance(flows, list):
        raise BadOption(f"flows is a list of SOURCE{_ARROW}TARGET, not {flows!r}")
    return flows


def _pair(text: object, clusters: Mapping[str, object]) -> tuple[str, str]:
    source, arrow, target = str(text).partition(_ARROW)
    source, target = source.strip(), target.strip()
    if not arrow:
        raise BadOption(f"flow {text!r} is not SOURCE{_ARROW}TARGET")
    for each in (source, target):
        if each not in clusters:
            raise BadOption(f"flow {text!r}: there is no cluster {each!r}", hint(each, clusters))
    return source, target
