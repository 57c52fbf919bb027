"""Begin anew: a source's positions are forgotten, a sink's group and the target's own offsets are moved."""

from __future__ import annotations

import time
from collections.abc import Sequence

from confluent_kafka import KafkaException

from barnabas.client.admin.admin import Admin
from barnabas.client.admin.descriptions import OffsetReset
from barnabas.client.errors import BarnabasError, UnknownGroup, UnknownTopic
from barnabas.connect.cluster import positions, status
from barnabas.connect.cluster.connection import Cluster, called
from barnabas.connect.cluster.definitions import Entry
from barnabas.connect.definition.definition import Definition
from barnabas.connect.errors import BadOption, Unavailable
from barnabas.connect.operations import states

_CALL_S = 30.0
_STOPPED_S = 40.0


def reset(cluster: Cluster, name: str, to: str) -> list[str]:
    """What was done, a line each. The connector is paused meanwhile, and runs on afterwards if it did before."""
    entry = states.found(cluster, name)
    was_running = states.set_state(cluster, name, "paused")
    until_stopped(cluster, entry)
    try:
        if entry.definition.side == "source":
            return _reset_source(cluster, entry.definition, to)
        return _reset_sink(cluster, entry.definition, to)
    finally:
        if was_running:
            states.set_state(cluster, name, "running")


def until_stopped(cluster: Cluster, entry: Entry) -> None:
    deadline = time.monotonic() + _STOPPED_S
    while True:
        busy = [
            each.worker
            for each in status.read_all(cluster)
            if each.connector == entry.definition.name and not each.is_silent and each.state != "stopped"
        ]
        if not busy:
            return
        if time.monotonic() > deadline:
            raise Unavailable(f"worker {busy[0]} has not stopped {entry.definition.name} in {_STOPPED_S:.0f} s")
        time.sleep(0.5)


def _reset_source(cluster: Cluster, definition: Definition, to: str) -> list[str]:
    if to not in ("beginning", "earliest"):
        raise BadOption(f"a source begins anew at its beginning, not at {to!r}")
    done = []
    for partition in cluster.partitions_of(definition.positions_topic):
        splits = list(positions.read(cluster, definition, [partition]))
        if splits:
            _forget(cluster, definition, partition, splits)
            done += [f"forgot the position of {split}" for split in splits]
    return done


def _forget(cluster: Cluster, definition: Definition, partition: int, splits: Sequence[str]) -> None:
    """Under the transactional id of the partition: a worker that still runs is fenced."""
    producer = cluster.producer(transactional_id=positions.transactional_id(definition, partition))
    called(lambda: producer.init_transactions(_CALL_S))
    called(producer.begin_transaction)
    for split in splits:
        producer.produce(definition.positions_topic, None, split.encode(), partition)
    called(lambda: producer.commit_transaction(_CALL_S))


def _reset_sink(cluster: Cluster, definition: Definition, to: str) -> list[str]:
    done = []
    sink = None if definition.connector == "python" else definition.sink()  # functions keep no offset in the target
    try:
        with Admin(cluster.bootstrap) as admin:
            known = {each.name for each in admin.topics()}
            for topic in _topics(definition, known):
                for each in _moved(admin, definition, topic, to):
                    if sink is not None:
                        sink.reset(each.topic, each.partition, each.after)
                    done.append(f"{each.topic}-{each.partition}: from offset {each.after}")
    except (UnknownTopic, UnknownGroup) as error:
        raise BadOption(str(error)) from None
    except (BarnabasError, KafkaException) as error:
        raise Unavailable(str(error)) from None
    finally:
        if sink is not None:
            sink.close()
    return done


def _moved(admin: Admin, definition: Definition, topic: str, to: str) -> list[OffsetReset]:
    target: str | int = {"beginning": "earliest", "end": "latest"}.get(to, to)
    if isinstance(target, str) and target.isdigit():
        target = int(target)
    return admin.reset_group(definition.group, topic, target)


def _topics(definition: Definition, known: set[str]) -> list[str]:
    import re

    chosen = []
    for each in definition.topics:
        chosen += [name for name in known if re.match(each, name)] if each.startswith("^") else [each]
    return sorted(set(chosen))
