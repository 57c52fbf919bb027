"""A flow with the options that it was started with: those that the target has of it count."""

from __future__ import annotations

import msgspec

from barnabas.connect.cluster import definitions
from barnabas.connect.connectors.mirror.flows import Flow
from barnabas.connect.connectors.mirror.options import cluster_of


def as_started(flow: Flow) -> Flow:
    """As it was typed where the target has none. Addresses stay those that were typed: others may not be reached from
    here. Raises Unavailable."""
    cluster = cluster_of(flow.options.target)
    cluster.check()
    entry = definitions.read_all(cluster).get(flow.definition.name)
    if entry is None or entry.definition.connector != flow.definition.connector:
        return flow
    typed = {word: flow.definition.options[word] for word in ("source", "target")}
    return Flow(msgspec.structs.replace(entry.definition, options={**entry.definition.options, **typed}), flow.target)
