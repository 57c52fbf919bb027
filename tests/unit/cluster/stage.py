"""A controller with its driver reduced to the essential: decide, write (as bytes), read back, apply."""

from collections.abc import Callable, Collection
from random import Random
from typing import Any

from barnabas.core.cluster import (
    EMPTY_IMAGE,
    Controller,
    Endpoint,
    Heartbeat,
    MetadataImage,
    NewTopic,
    PartitionAlteration,
    PartitionImage,
    Reassignment,
    Record,
    Registration,
    decode_record,
    encode_record,
)
from barnabas.model.errors import ErrorCode
from barnabas.model.settings import Settings


class Stage:
    def __init__(
        self,
        brokers: int = 1,
        racks: int = 0,
        settings: Settings | None = None,
        seed: int = 1,
        controllers: Callable[[], Collection[int]] = tuple,
    ) -> None:
        self.log: list[bytes] = []
        self.ids = 0
        self.disks: dict[int, int] = {}
        self.now_ms = 0
        self.controller = Controller(
            EMPTY_IMAGE, settings or Settings(), random=Random(seed), new_id=self.new_id, controllers=controllers
        )
        for broker_id in range(1, brokers + 1):
            self.register(broker_id, rack=f"r{broker_id % racks}" if racks else None)

    def new_id(self) -> bytes:
        self.ids += 1
        return self.ids.to_bytes(16, "big")

    @property
    def image(self) -> MetadataImage:
        return self.controller.image

    def do(self, method: str, *args: Any, **named: Any) -> Any:
        """As the driver does it; what is applied has been through bytes."""
        records, answer = getattr(self.controller, method)(*args, **named)
        self.write(records)
        return answer

    def write(self, records: list[Record]) -> None:
        data = [encode_record(record) for record in records]
        self.log.extend(data)
        self.controller.image = self.image.apply(map(decode_record, data), offset=self.image.offset + len(data))

    def replayed(self) -> MetadataImage:
        return EMPTY_IMAGE.apply([decode_record(data) for data in self.log])

    # --- shorthand ----------------------------------------------------------------------------------------------

    def register(
        self,
        broker_id: int,
        *,
        rack: str | None = None,
        fenced: bool = False,
        clean: bool = True,
        new_disk: bool = False,
    ) -> int:
        """A broker has the same directory in all its lives, unless its disk is new."""
        endpoint = Endpoint("PLAINTEXT", "PLAINTEXT", f"host{broker_id}", 9092)
        if new_disk:
            self.disks[broker_id] = self.disks.get(broker_id, 0) + 1
        directory = b"disk" + bytes([broker_id, self.disks.get(broker_id, 0)]) + bytes(10)
        wanted = Registration(
            broker_id, self.new_id(), (endpoint,), rack=rack, directories=(directory,), fenced=fenced, clean=clean
        )
        epoch: int = self.do("register_broker", wanted, self.now_ms)
        return epoch

    def beat(self, broker_id: int, **wish: bool) -> Any:
        epoch = self.image.brokers[broker_id].broker_epoch
        return self.do("heartbeat", Heartbeat(broker_id, epoch, self.image.offset, **wish), self.now_ms)

    def fence(self, broker_id: int) -> None:
        self.beat(broker_id, want_fence=True)

    def unfence(self, broker_id: int) -> None:
        self.beat(broker_id)

    def create(self, name: str, partitions: int = 1, replicas: int = 1, **configs: str) -> Any:
        pairs = [(key.replace("_", "."), value) for key, value in configs.items()]
        (result,) = self.do("create_topics", [NewTopic(name, partitions, replicas, configs=pairs)])
        return result

    def alter(self, topic: str, index: int, *isr: int, leader: int | None = None) -> ErrorCode:
        """AlterPartition as the leader sends it."""
        old = self.partition(topic, index)
        leader = old.leader if leader is None else leader
        epochs = [(b, self.image.brokers[b].broker_epoch if b in self.image.brokers else 0) for b in isr]
        item = PartitionAlteration(self.image.topics[topic].id, index, old.leader_epoch, old.partition_epoch, epochs)
        broker = self.image.brokers[leader]
        (result,) = self.do("alter_partition", leader, broker.broker_epoch, [item])
        code: ErrorCode = result.code
        return code

    def move(self, topic: str, index: int, *replicas: int) -> ErrorCode:
        (result,) = self.do("alter_reassignments", [Reassignment(topic, index, replicas)])
        code: ErrorCode = result.code
        return code

    def partition(self, topic: str, index: int = 0) -> PartitionImage:
        found = self.image.partition(topic, index)
        assert found is not None
        return found
