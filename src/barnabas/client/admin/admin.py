"""The small Admin: what the command line and a script need of a cluster's topics, settings, records and groups.

    with Admin("127.0.0.1:9092") as admin:
        admin.create_topic("orders", partitions=6)
        admin.describe_group("billing").lag_seconds

Each call waits for its answer (`timeout` seconds at most) and returns plain records from `descriptions`, or raises one
of `errors` with one line. Groups have their own file; here they are only passed on.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from types import TracebackType
from typing import Literal, Self, TypeAlias

from confluent_kafka import TopicCollection, TopicPartition

from barnabas.client.admin import acls, groups
from barnabas.client.admin.acls import EVERY_ACL, Acl, AclFilter
from barnabas.client.admin.configs import Change, ConfigKind, alter_configs, configs
from barnabas.client.admin.connection import AdminConnection
from barnabas.client.admin.descriptions import (
    ClusterInfo,
    ConfigValue,
    GroupDescription,
    GroupInfo,
    NodeInfo,
    OffsetReset,
    PartitionInfo,
    TopicDescription,
    TopicInfo,
)
from barnabas.client.admin.rdkafka import NewPartitions, NewTopic, OffsetSpec, TopicDescribed
from barnabas.client.common.connection import bootstrap_or_default
from barnabas.client.common.exit_hooks import ForkedHandle, register
from barnabas.client.common.times import epoch_ms
from barnabas.client.errors import BadSetting, UnknownTopic
from barnabas.model.errors import ErrorCode

Bound: TypeAlias = int | datetime | Literal["end"]

UP_TO_END = -1  # DeleteRecords' word for all records; ListOffsets gives the same where none is so late
ADMIN_CONNECT_TIMEOUT_S = 2.0  # a person waits for this one


class Admin:
    """Looks after a cluster: topics, settings, records and groups. Each call waits for its answer, or raises."""

    def __init__(
        self,
        bootstrap: str | None = None,
        *,
        timeout: float = 30.0,
        connect_timeout: float | None = ADMIN_CONNECT_TIMEOUT_S,
        config: Mapping[str, object] | None = None,
        **librdkafka_settings: object,
    ) -> None:
        self.bootstrap = bootstrap_or_default(bootstrap)
        self._connection = AdminConnection(self.bootstrap, timeout, connect_timeout, config, librdkafka_settings)
        register(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        self._connection.close()

    def at_exit(self) -> None:
        """Nothing is under way between two calls."""

    def after_fork(self, forked: ForkedHandle) -> None:
        self._connection.after_fork(forked)

    # --- the cluster -------------------------------------------------------------------------------------------------

    def cluster(self) -> ClusterInfo:
        found = self._connection.call(self._connection.client.describe_cluster, "describe the cluster")
        nodes = [NodeInfo(each.id, each.host, each.port, each.rack) for each in found.nodes]
        controller = found.controller.id if found.controller is not None else None
        return ClusterInfo(found.cluster_id, controller, sorted(nodes, key=lambda each: each.id))

    # --- rules -------------------------------------------------------------------------------------------------------

    def acls(self, wanted: AclFilter = EVERY_ACL) -> list[Acl]:
        """The access rules that the filter finds; all of them without one."""
        return acls.acls(self._connection, wanted)

    def create_acls(self, wanted: Iterable[Acl]) -> None:
        """One that is there already stays as it is."""
        acls.create_acls(self._connection, wanted)

    def delete_acls(self, wanted: Iterable[AclFilter]) -> list[Acl]:
        """Deletes all that any of the filters finds, and gives them."""
        return acls.delete_acls(self._connection, wanted)

    # --- topics ------------------------------------------------------------------------------------------------------

    def topics(self, internal: bool = False) -> list[TopicInfo]:
        """All topics by name; Kafka's own (`__consumer_offsets`) only when asked for."""
        names = self._connection.topic_names()
        found = [
            TopicInfo(
                each.name,
                _uuid(each.topic_id),
                len(each.partitions),
                max((len(part.replicas) for part in each.partitions), default=0),
                each.is_internal,
            )
            for each in self._described(names, "list topics")
        ]
        return sorted((each for each in found if internal or not each.internal), key=lambda each: each.name)

    def describe_topic(self, name: str) -> TopicDescription:
        """Partitions with leader, replicas and offsets, and every setting with where its value comes from."""
        found = self._described([name], f"describe topic {name!r}")[0]
        indexes = [part.id for part in found.partitions if part.leader is not None and part.leader.id >= 0]
        starts = self._connection.offsets({(name, index): OffsetSpec.earliest() for index in indexes})
        ends = self._connection.offsets({(name, index): OffsetSpec.latest() for index in indexes})
        partitions = [
            PartitionInfo(
                part.id,
                part.leader.id if part.leader is not None and part.leader.id >= 0 else None,
                [node.id for node in part.replicas],
                [node.id for node in part.isr],
                starts.get((name, part.id)),
                ends.get((name, part.id)),
            )
            for part in sorted(found.partitions, key=lambda part: part.id)
        ]
        return TopicDescription(name, _uuid(found.topic_id), found.is_internal, partitions, self.configs("topic", name))

    def create_topic(
        self,
        name: str,
        partitions: int | None = None,
        replication: int | None = None,
        configs: Mapping[str, object] | None = None,
        validate_only: bool = False,
    ) -> None:
        """Partitions and replication left out are the cluster's own defaults (`num.partitions`)."""
        wanted = NewTopic(
            name,
            num_partitions=-1 if partitions is None else partitions,
            replication_factor=-1 if replication is None else replication,
            config={key: _text(value) for key, value in (configs or {}).items()},
        )
        self._connection.call_one(
            self._connection.client.create_topics, f"create topic {name!r}", [wanted], validate_only=validate_only
        )
        if not validate_only:
            self._connection.await_topic(name)

    def delete_topic(self, name: str) -> None:
        self._connection.call_one(self._connection.client.delete_topics, f"delete topic {name!r}", [name])

    def grow_topic(self, name: str, partitions: int) -> None:
        """To this many partitions in all. Keys of new records then hash to other partitions than before."""
        doing = f"grow topic {name!r} to {partitions} partitions"
        if partitions < 1:
            raise BadSetting(f"{doing}: a topic has at least one partition")
        self._connection.call_one(self._connection.client.create_partitions, doing, [NewPartitions(name, partitions)])
        self._connection.await_topic(name, partitions)

    def delete_records(self, topic: str, before: Bound | Mapping[int, Bound]) -> dict[int, int]:
        """Forgets what is older than an offset, a moment, or everything ("end"); for all partitions, or each its own
        in a mapping. Returns the first offset that is left in each partition."""
        doing = f"delete records of {topic!r}"
        if isinstance(before, Mapping):
            bounds: dict[int, Bound] = dict(before)
        else:
            bounds = dict.fromkeys(self._partition_indexes(topic, doing), before)
        for bound in bounds.values():
            _check_bound(bound, doing)
        if isinstance(before, int):  # one number for partitions of different length: the short ones lose all
            ends = self._connection.offsets({(topic, index): OffsetSpec.latest() for index in bounds})
            bounds = {index: min(before, ends.get((topic, index), before)) for index in bounds}
        moments = self._offsets_of_moments(topic, bounds, doing)
        offsets = {at: moments[at] if isinstance(bound, datetime) else bound for at, bound in bounds.items()}
        targets = [TopicPartition(topic, at, UP_TO_END if to == "end" else to) for at, to in offsets.items()]
        answers = self._connection.call_all(self._connection.client.delete_records, doing, targets)
        return {partition.partition: deleted.low_watermark for partition, deleted in answers.items()}

    # --- settings ----------------------------------------------------------------------------------------------------

    def configs(self, kind: ConfigKind, name: str | int) -> dict[str, ConfigValue]:
        """Every setting of a topic, a node ("broker", its id) or a group."""
        return configs(self._connection, kind, str(name))

    def alter_configs(
        self,
        kind: ConfigKind,
        name: str | int,
        set: Mapping[str, object] | None = None,
        delete: Sequence[str] = (),
        append: Mapping[str, object] | None = None,
        subtract: Mapping[str, object] | None = None,
        validate_only: bool = False,
    ) -> None:
        """Only what is named changes. append and subtract are for settings that are lists (`cleanup.policy`)."""
        changes: list[Change] = [("set", key, _text(value)) for key, value in (set or {}).items()]
        changes += [("delete", key, None) for key in delete]
        changes += [("append", key, _text(value)) for key, value in (append or {}).items()]
        changes += [("subtract", key, _text(value)) for key, value in (subtract or {}).items()]
        alter_configs(self._connection, kind, str(name), changes, validate_only)

    # --- groups ------------------------------------------------------------------------------------------------------

    def groups(self) -> list[GroupInfo]:
        return groups.list_groups(self._connection)

    def group_lags(self, names: Sequence[str]) -> dict[str, int]:
        """Records that each of these groups has yet to read; those that have committed nothing are left out."""
        return groups.lags(self._connection, names)

    def describe_group(self, name: str, with_seconds: bool = True) -> GroupDescription:
        """With `with_seconds` one record is read from each partition that lags, to see how old it is."""
        return groups.describe_group(self._connection, name, with_seconds)

    def reset_group(
        self,
        name: str,
        topic: str,
        to: str | int | datetime | timedelta,
        dry_run: bool = False,
        partitions: Sequence[int] | None = None,
    ) -> list[OffsetReset]:
        """Moves a group without members to "earliest", "latest", an offset, a moment, a time ago (timedelta), or by a
        number of records ("+100", "-100"). With `dry_run` it only tells what it would do."""
        indexes = (
            list(partitions) if partitions is not None else self._partition_indexes(topic, f"reset group {name!r}")
        )
        return groups.reset_group(self._connection, name, topic, indexes, to, dry_run)

    def delete_group(self, name: str) -> None:
        self._connection.call_one(self._connection.client.delete_consumer_groups, f"delete group {name!r}", [name])

    # --- inside ------------------------------------------------------------------------------------------------------

    def _described(self, names: list[str], doing: str) -> list[TopicDescribed]:
        if not names:
            return []
        return list(
            self._connection.call_all(self._connection.client.describe_topics, doing, TopicCollection(names)).values()
        )

    def _offsets_of_moments(self, topic: str, bounds: Mapping[int, Bound], doing: str) -> dict[int, int]:
        """The offsets of those bounds that are moments; where all records are older, the end."""
        asked = {
            (topic, index): OffsetSpec.for_timestamp(epoch_ms(bound))
            for index, bound in bounds.items()
            if isinstance(bound, datetime)
        }
        return {index: offset for (_, index), offset in self._connection.all_offsets(asked, doing).items()}

    def _partition_indexes(self, topic: str, doing: str) -> list[int]:
        indexes = [part.id for part in self._described([topic], doing)[0].partitions]
        if not indexes:
            raise UnknownTopic(f"{doing}: no topic {topic!r}", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        return sorted(indexes)


def _check_bound(bound: object, doing: str) -> None:
    """DeleteRecords takes -1 for the end, so that a number below zero must not get there."""
    whole = isinstance(bound, int) and not isinstance(bound, bool) and bound >= 0
    if not whole and not isinstance(bound, datetime) and bound != "end":
        raise BadSetting(f'{doing}: before is an offset from 0 on, a datetime or "end", not {bound!r}')


def _uuid(value: object) -> str:
    """As Kafka prints it (base64 for addresses); librdkafka prints the other alphabet."""
    return str(value).replace("+", "-").replace("/", "_")


def _text(value: object) -> str:
    """Settings travel as text; Python's True is Kafka's true, and a list is joined with commas."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (list, tuple, set, frozenset)):
        return ",".join(str(each) for each in value)
    return str(value)
