"""A connector that will not come back: everything that it keeps, here and in the other system, goes."""

from __future__ import annotations

from barnabas.client.admin.admin import Admin
from barnabas.client.errors import BarnabasError, UnknownGroup
from barnabas.connect.cluster.connection import Cluster
from barnabas.connect.errors import Unavailable
from barnabas.connect.operations import states
from barnabas.connect.operations.resetting import until_stopped


def forget(cluster: Cluster, name: str) -> list[str]:
    """What was removed, a line each. What the source keeps for it goes first: without the definition nobody knows how
    to reach it."""
    entry = states.found(cluster, name)
    definition = entry.definition
    states.set_state(cluster, name, "paused")
    until_stopped(cluster, entry)
    done = []
    if definition.side == "source" and definition.connector != "python":
        source = definition.source()
        try:
            source.remove()
        finally:
            source.close()
        done.append(f"what {definition.connector} kept for it")
    states.remove(cluster, name)
    own = (definition.positions_topic, definition.dead_topic, definition.redrive_topic)
    try:
        with Admin(cluster.bootstrap) as admin:
            known = {each.name for each in admin.topics()}
            for topic in (each for each in own if each in known):
                admin.delete_topic(topic)
                done.append(f"topic {topic}")
            try:
                admin.delete_group(definition.group)
                done.append(f"group {definition.group}")
            except UnknownGroup:
                pass
    except BarnabasError as error:
        raise Unavailable(str(error)) from None
    return done
