"""A world around one shard that can fail: a log with an uncommitted end, partitions, markers on their way.

What is checked is what the promises say, seen from outside the shard: which markers reached which data (H4, H5), what a
rebuilt shard knows (S5), what stays open when faults stop (S6), who was told yes (fencing), which epochs were given.

A transaction, to the model, is an `Instance`: it begins with the first Ongoing record after an idle one. Data carries
the instance that granted it, markers the instance they were decided for.
"""

from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

from barnabas.core.txn import Effects, RequestInfo, SendMarkers, Transaction, TxnConfig, TxnShard, TxnState
from barnabas.core.txn.records import decode_key, decode_value, encode_key, encode_value
from barnabas.model.ids import TopicPartition
from barnabas.wire import codec
from tests.unit.txn.stage import START_MS, Record, compacted

Producer = tuple[int, int]
Instance = tuple[str, int]


@dataclass(frozen=True)
class Entry:
    """One thing in a partition: data (outcome None) or the end of what came before it."""

    producer: Producer
    instance: Instance
    outcome: bool | None = None


@dataclass
class Partition:
    entries: list[Entry] = field(default_factory=list)
    epochs: dict[int, int] = field(default_factory=dict)  # of each producer id
    coordinators: dict[int, int] = field(default_factory=dict)  # newest coordinator epoch heard for a producer id

    def write(self, producer: Producer, instance: Instance) -> bool:
        producer_id, epoch = producer
        if epoch < self.epochs.get(producer_id, -1):
            return False
        self.epochs[producer_id] = epoch
        self.entries.append(Entry(producer, instance))
        return True

    def end(self, sent: SendMarkers, instance: Instance) -> bool:
        producer_id, epoch = sent.producer_id, sent.producer_epoch
        if sent.coordinator_epoch < self.coordinators.get(producer_id, -1) or epoch < self.epochs.get(producer_id, -1):
            return False
        self.coordinators[producer_id] = sent.coordinator_epoch
        self.epochs[producer_id] = epoch
        self.entries.append(Entry((producer_id, epoch), instance, sent.commit))
        return True


@dataclass
class Pending:
    """The effects of one step, until its records are committed."""

    effects: Effects
    told: list[Any]  # what the client learns when its reply is released


class Model:
    def __init__(self, config: TxnConfig) -> None:
        self.config = config
        self.now_ms = START_MS
        self.coordinator_epoch = 1
        self.next_producer_id = 1
        self.ids_available = True
        self.log: list[Record] = []
        self.pending: list[Pending] = []
        self.in_flight: list[tuple[SendMarkers, Instance, TopicPartition, TxnShard]] = []
        self.reports: list[tuple[SendMarkers, TopicPartition, TxnShard]] = []
        self.partitions: dict[TopicPartition, Partition] = defaultdict(Partition)
        self.shard = self._new_shard()

    # --- the shard and its log --------------------------------------------------------------------------------------

    def ask(self, api_key: int, version: int, body: dict[str, Any]) -> dict[str, Any]:
        """What the shard decides; nobody knows of it before `commit`."""
        request = codec.decode_request(api_key, version, codec.encode_request(api_key, version, body))
        token: Any = object()
        info = RequestInfo(api_key, version, "", "")
        effects = self.shard.handle(request, info, self.now_ms, token)
        assert [reply.token for reply in effects.replies] == [token], "answered exactly once, and at once"
        codec.encode_response(api_key, version, effects.replies[0].response)
        self.add(effects)
        return dict(effects.replies[0].response)

    def add(self, effects: Effects) -> None:
        self.pending.append(Pending(effects, []))

    def commit(self) -> list[Any]:
        """Everything appended is safe: markers leave, and what replies say may be told."""
        pending, self.pending = self.pending, []
        for step in pending:
            self.log += step.effects.records
            for sent in step.effects.markers:
                instance = self.instance_of(sent.transactional_id)
                self.in_flight += [(sent, instance, where, self.shard) for where in sorted(sent.partitions)]
        return [fact for step in pending for fact in step.told]

    def crash(self, *, survives: int, compact: bool) -> None:
        """The coordinator is gone, with its replies. Of what it had appended a part may have reached the disk."""
        unsafe = [record for step in self.pending for record in step.effects.records]
        self.log += unsafe[:survives]
        self.pending = []
        self.coordinator_epoch += 1
        if compact:
            # Compaction may run at any time; history that the checks need is kept beside.
            self.shard = self.rebuilt(compacted(self.log))
        else:
            self.shard = self.rebuilt(self.log)
        self.add(self.shard.loaded(self.now_ms))

    def rebuilt(self, records: list[Record]) -> TxnShard:
        shard = self._new_shard()
        for key, value in records:
            assert shard.replay(key, value) is None
        return shard

    def tick(self, by_ms: int) -> None:
        self.now_ms += by_ms
        self.add(self.shard.tick(self.now_ms))

    def age(self, name: str, epoch: int) -> None:
        """As if the id had been initialized many times: its epochs are nearly used up."""
        known = self.shard.transactions[name]
        values = {field: getattr(known, field) for field in Transaction.__slots__}
        aged = Transaction(**values | {"producer_epoch": epoch, "state": TxnState.EMPTY, "partitions": frozenset()})
        record = (encode_key(name), encode_value(aged, 1))
        self.shard.replay(*record)
        self.log.append(record)

    def _new_shard(self) -> TxnShard:
        return TxnShard(self.config, self.coordinator_epoch, self._new_producer_id, lambda group_id: 7)

    def _new_producer_id(self) -> int | None:
        if not self.ids_available:
            return None
        self.next_producer_id += 1
        return self.next_producer_id - 1

    # --- markers ----------------------------------------------------------------------------------------------------

    def deliver(self, index: int) -> None:
        sent, instance, where, sender = self.in_flight.pop(index)
        if self.partitions[where].end(sent, instance) and sender is self.shard:
            self.reports.append((sent, where, sender))
            self.add(self.shard.markers_written(sent, [where], self.now_ms))

    def report_again(self, index: int) -> None:
        sent, where, sender = self.reports[index]
        if sender is self.shard:
            self.add(self.shard.markers_written(sent, [where], self.now_ms))

    def lose(self, index: int) -> None:
        sent, _, where, sender = self.in_flight.pop(index)
        if sender is self.shard:
            self.add(self.shard.markers_failed(sent, [where], self.now_ms))

    # --- what history says ------------------------------------------------------------------------------------------

    def all_records(self) -> list[Record]:
        return self.log + [record for step in self.pending for record in step.effects.records]

    def instance_of(self, name: str, records: list[Record] | None = None) -> Instance:
        """The transaction an id is in, or was in last, by the log alone."""
        count, idle = 0, True
        for transaction in histories(self.log if records is None else records)[name]:
            if transaction is None or transaction.state.is_idle:
                idle = True
            elif idle:
                count, idle = count + 1, False
        return name, count


def histories(records: list[Record]) -> dict[str, list[Transaction | None]]:
    found: dict[str, list[Transaction | None]] = defaultdict(list)
    for key, value in records:
        name = decode_key(key)
        found[name].append(None if value is None else decode_value(name, value))
    return found
