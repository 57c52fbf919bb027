"""The batches of one Produce request on their way into their partitions, and what became of each."""

from typing import TYPE_CHECKING

from barnabas.broker.api.leadership import leader_partition
from barnabas.broker.api.permissions import CLUSTER_ACTION, TOPIC, WRITE, refused
from barnabas.broker.api.produce_transactions import News, transactions_of
from barnabas.broker.api.transaction_verification import overtaken
from barnabas.broker.clock import wall_ms
from barnabas.broker.network.session import NODE_SOFTWARE, Session
from barnabas.broker.partition.leader_appends import VALIDATED_AT_ONCE_MAX, Appended
from barnabas.broker.partition.opened import OpenPartition
from barnabas.broker.partition.partition import HostedPartition
from barnabas.model.errors import ErrorCode, InvalidRecords, KafkaError, RefusedBatch
from barnabas.model.ids import AUDIT_TOPIC, INTERNAL_TOPICS, TopicPartition
from barnabas.model.limits import RECORD_ERRORS_LISTED_MAX
from barnabas.wire.apis import PRODUCE
from barnabas.wire.batch import BatchHeader
from barnabas.wire.produce.request import ProduceRequest
from barnabas.wire.record_validation import Stored
from barnabas.wire.schema_ids import UnregisteredSchemas

if TYPE_CHECKING:
    from barnabas.broker.access import Access
    from barnabas.broker.api.roles import ProduceNode
    from barnabas.broker.controller.contact import ControllerContact

ACK_ALL = -1


class Refused:
    """A batch that was not appended, and where the log begins if the partition got to see it."""

    __slots__ = ("error", "log_start_offset")

    def __init__(self, error: KafkaError, log_start_offset: int) -> None:
        # Where it was raised is of no use here, and would keep what was opened there (a bomb's bytes) in a cycle.
        error.__traceback__ = error.__context__ = None
        self.error = error
        self.log_start_offset = log_start_offset


Found = tuple[OpenPartition, Appended] | Refused
Batch = tuple[str | None, bytes | None, int, int, int]  # topic by name or id, partition, first byte, byte after it


class Appends:
    """The batches of one request on their way into their partitions, and what became of each."""

    __slots__ = (
        "_errors_left",
        "_node",
        "_noted",
        "_records_max",
        "_refused",
        "_session",
        "_transactional",
        "batches",
        "request",
        "results",
        "version",
    )

    def __init__(
        self,
        node: "ProduceNode",
        session: Session,
        request: ProduceRequest,
        version: int,
        not_enlisted: dict[TopicPartition, KafkaError] | None,
    ) -> None:
        self._node, self._session, self._refused = node, session, not_enlisted
        self.request, self.version = request, version
        self.batches: list[Batch] = [
            (name, topic_id, index, start, end)
            for name, topic_id, partitions in request.topics
            for index, start, end in partitions
        ]
        self.results: list[Found] = []
        self._records_max = VALIDATED_AT_ONCE_MAX // (len(self.batches) or 1)
        self._errors_left = RECORD_ERRORS_LISTED_MAX
        self._noted: News = {}
        self._transactional = request.transactional_id is not None

    def expect_delay(self, frame: memoryview) -> None:
        """What is left will be appended later. A batch whose transaction ends meanwhile must not come behind its
        marker, whether the coordinator was asked about it or found no need to be."""
        if self.request.transactional_id is not None:
            left = [
                (name, topic_id, [(index, start, end)])
                for name, topic_id, index, start, end in self.batches[len(self.results) :]
            ]
            self._noted = transactions_of(self._node, self._session, frame, left, self.version)

    @property
    def contact(self) -> "ControllerContact":
        return self._node.lifecycle.contact

    def append(self, frame: memoryview, batch: Batch, now_ms: int, validated: Stored | None = None) -> None:
        """Raises TakesLong, with nothing done, when the records have to be validated first."""
        partition = None
        try:
            partition = self._partition(batch)
            opened = partition.opened or partition.open()
            appended = opened.appends.append(
                frame,
                batch[3],
                batch[4],
                now_ms,
                self.version,
                self._transactional,
                validated=validated,
                records_max=self._records_max,
            )
            self.results.append((opened, appended))
        except KafkaError as error:
            self._refuse(error, partition, batch)

    async def append_validated(self, frame: memoryview, batch: Batch, header: BatchHeader) -> None:
        """The same after the records were validated; what was true before may not be any more, and is checked again."""
        partition = None
        try:
            partition = self._partition(batch)
            validated = await self._validated(partition, frame[batch[3] : batch[4]], header)
        except KafkaError as error:
            self._refuse(error, partition, batch)
        else:
            self.append(frame, batch, wall_ms(), validated)

    async def _validated(self, partition: HostedPartition, view: memoryview, header: BatchHeader) -> Stored:
        preparation, config = self._node.batch_preparation, partition.config
        try:
            return await preparation.prepare(config, view, header, partition.schemas)
        except UnregisteredSchemas:
            await partition.catch_up_schemas()  # it may have been registered a moment ago
        return await preparation.prepare(config, view, header, partition.schemas)

    def _refuse(self, error: KafkaError, partition: HostedPartition | None, batch: Batch) -> None:
        topic = batch[0] or self._node.image.topic_names.get(batch[1] or b"", "")
        self._node.partitions.counts.failed_produce(topic, error.code)
        if isinstance(error, InvalidRecords):
            del error.record_errors[self._errors_left :]
            self._errors_left -= len(error.record_errors)
        opened = partition.opened if partition is not None and isinstance(error, RefusedBatch) else None
        self.results.append(Refused(error, -1 if opened is None else opened.log.log_start_offset))

    def _may_write(self, access: "Access", topic: str) -> bool:
        """A refusal is told here, once a batch; the short way of Produce has only asked."""
        return access.may_write(self._session, topic) or access.requires(self._session, PRODUCE, WRITE, TOPIC, topic)

    def _may_write_internal(self, topic: str) -> bool:
        """Nodes append to the audit trail of the cluster; clients write to no internal topic."""
        if topic != AUDIT_TOPIC:
            return False
        if self._node.access is None:
            return self._session.software_name == NODE_SOFTWARE
        return self._node.access.allows_on_cluster(self._session, CLUSTER_ACTION)

    def _partition(self, batch: Batch) -> HostedPartition:
        """Where the batch goes; raises KafkaError when it may not go there."""
        node, request = self._node, self.request
        name, topic_id, index, start, _ = batch
        if name is None:
            name = node.image.topic_names.get(topic_id or b"")
            if name is None:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
        if node.access is not None and not self._may_write(node.access, name):
            raise refused(ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        partition = node.partitions.get(name, index)
        if partition is None:
            partition = leader_partition(node, name, index)
        if request.acks not in (-1, 0, 1):
            raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS)
        if start < 0:
            raise KafkaError(ErrorCode.INVALID_RECORD, "no records")
        if node.disk_space.ran_out and node.disk_space.is_lacking:
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, node.disk_space.refusal)
        if name in INTERNAL_TOPICS and not self._may_write_internal(name):
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{name} is written by the node itself")
        if self._refused and partition.id in self._refused:
            raise self._refused[partition.id]
        if self._noted and (noted := self._noted.get(partition.id)) and (error := overtaken(partition.open(), noted)):
            raise error
        if partition.leadership.under_min_isr and request.acks == ACK_ALL:
            raise KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS, f"too few replicas of {partition.id} are in sync")
        return partition
