"""Brokers of the cluster: registration, heartbeats and fencing, controlled shutdown, leaving for good (KIP-631).

A broker registers, catches up with the metadata log, is unfenced by a heartbeat, and is fenced again when it asks for
it or when its heartbeats stop for `broker.session.timeout.ms`. Sessions are soft state: they are not in the log, and
a new controller gives every broker a fresh one. Each change of a broker carries the changes of leadership that follow
from it.
"""

from collections.abc import Callable

from barnabas.core.cluster.image import BrokerImage, MetadataImage, PartitionImage
from barnabas.core.cluster.items import Heartbeat, HeartbeatResult, Registration
from barnabas.core.cluster.partitions.elections import leadership_changes
from barnabas.core.cluster.partitions.partition_change import NOBODY
from barnabas.core.cluster.partitions.rules import RulesOf
from barnabas.core.cluster.records import ChangeBroker, PartitionChange, Record, RegisterBroker, UnregisterBroker
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.ids import ZERO_UUID


class Sessions:
    """When each broker was last heard of."""

    def __init__(self) -> None:
        self._last_contact_ms: dict[int, int] = {}

    def touch(self, broker_id: int, now_ms: int) -> None:
        self._last_contact_ms[broker_id] = now_ms

    def forget(self, broker_id: int) -> None:
        self._last_contact_ms.pop(broker_id, None)

    def is_live(self, broker_id: int, now_ms: int, timeout_ms: int) -> bool:
        last = self._last_contact_ms.get(broker_id)
        return last is not None and now_ms - last < timeout_ms

    def expired(self, image: MetadataImage, now_ms: int, timeout_ms: int) -> list[int]:
        """Unfenced brokers not heard of for too long; one without a session begins its first here."""
        late = []
        for broker in image.live_brokers():
            last = self._last_contact_ms.setdefault(broker.broker_id, now_ms)
            if now_ms - last >= timeout_ms:
                late.append(broker.broker_id)
        return late


def check_epoch(image: MetadataImage, broker_id: int, broker_epoch: int) -> BrokerImage:
    """The broker, if it is who it says: a request of an earlier life is refused."""
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"no broker {broker_id}")
    if broker.broker_epoch != broker_epoch:
        raise KafkaError(ErrorCode.STALE_BROKER_EPOCH, f"broker {broker_id} has another epoch now")
    return broker


def register(
    image: MetadataImage, wanted: Registration, *, session_is_live: bool, rules_of: RulesOf
) -> tuple[list[Record], int]:
    """The records of a registration and the broker's new epoch.

    A second node with the id of one that is up is refused. The same data directory is locked by its process: whoever
    registers with it is that broker, started again, however fresh the session of its last life is.
    """
    old = image.brokers.get(wanted.broker_id)
    if (
        old is not None
        and old.incarnation_id != wanted.incarnation_id
        and set(old.directories).isdisjoint(wanted.directories)
        and session_is_live
        and old.alive
    ):
        raise KafkaError(
            ErrorCode.DUPLICATE_BROKER_REGISTRATION, f"another broker with id {wanted.broker_id} is up already"
        )
    epoch = max(image.offset + 1, old.broker_epoch + 1 if old else 0)
    records: list[Record] = [
        RegisterBroker(
            broker_id=wanted.broker_id,
            incarnation_id=wanted.incarnation_id,
            broker_epoch=epoch,
            endpoints=wanted.endpoints,
            rack=wanted.rack,
            fenced=wanted.fenced,
            directories=wanted.directories,
            features=dict(wanted.features),
        )
    ]
    me = frozenset({wanted.broker_id})
    changes = leadership_changes(
        image.apply(records),
        me,
        rules_of,
        doubtful=NOBODY if wanted.clean else me,
        lost=_lost_by(wanted) if wanted.directories else None,
    )
    if not wanted.clean:
        changes += _new_epochs(image, wanted.broker_id, changes)
    return records + changes, epoch


def _lost_by(wanted: Registration) -> Callable[[PartitionImage], frozenset[int]]:
    """Of which partitions the log is gone: those in a directory that the broker does not have any more."""
    have, me = frozenset((*wanted.directories, ZERO_UUID)), frozenset({wanted.broker_id})

    def lost(partition: PartitionImage) -> frozenset[int]:
        where = dict(zip(partition.replicas, partition.directories, strict=False))
        return NOBODY if where.get(wanted.broker_id, ZERO_UUID) in have else me

    return lost


def _new_epochs(image: MetadataImage, broker_id: int, changes: list[Record]) -> list[Record]:
    """The same leader in a new epoch, for what the broker led and still leads after an unclean stop."""
    changed = {(change.topic_id, change.partition) for change in changes if isinstance(change, PartitionChange)}
    return [
        PartitionChange(topic_id=topic.id, partition=index, leader=broker_id)
        for topic, index, partition in image.partitions_of(broker_id)
        if partition.leader == broker_id and (topic.id, index) not in changed
    ]


def change(
    image: MetadataImage,
    broker_id: int,
    rules_of: RulesOf,
    *,
    fenced: bool | None = None,
    in_controlled_shutdown: bool | None = None,
) -> list[Record]:
    """Fence, unfence or begin the shutdown of a broker, with the leadership changes that follow."""
    records: list[Record] = [
        ChangeBroker(
            broker_id=broker_id,
            broker_epoch=image.brokers[broker_id].broker_epoch,
            fenced=fenced,
            in_controlled_shutdown=in_controlled_shutdown,
        )
    ]
    return records + leadership_changes(image.apply(records), [broker_id], rules_of)


def heartbeat(image: MetadataImage, beat: Heartbeat, rules_of: RulesOf) -> tuple[list[Record], HeartbeatResult]:
    broker = check_epoch(image, beat.broker_id, beat.broker_epoch)
    caught_up = beat.current_metadata_offset >= broker.broker_epoch
    records: list[Record] = []
    fenced, leads = broker.fenced, False
    if beat.want_shutdown and not broker.fenced:
        if not broker.in_controlled_shutdown:
            records = change(image, beat.broker_id, rules_of, in_controlled_shutdown=True)
        leads = any(p.leader == beat.broker_id for _, _, p in image.apply(records).partitions_of(beat.broker_id))
    elif beat.want_fence and not broker.fenced:
        records, fenced = change(image, beat.broker_id, rules_of, fenced=True), True
    elif not beat.want_fence and broker.fenced and caught_up:
        records, fenced = change(image, beat.broker_id, rules_of, fenced=False), False
    done = beat.want_shutdown and not leads
    return records, HeartbeatResult(caught_up, fenced, done)


def unregister(image: MetadataImage, broker_id: int, rules_of: RulesOf) -> list[Record]:
    broker = image.brokers.get(broker_id)
    if broker is None:
        raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"no broker {broker_id}")
    records: list[Record] = [UnregisterBroker(broker_id=broker_id, broker_epoch=broker.broker_epoch)]
    return records + leadership_changes(image.apply(records), [broker_id], rules_of)
