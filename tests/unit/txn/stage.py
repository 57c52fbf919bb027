"""A shard with a driver made of lists: records are kept, markers are held until someone says what became of them.

Requests and answers go through the codec, so a field that does not exist in that version cannot pass unseen.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from barnabas.core.txn import Effects, RequestInfo, SendMarkers, TxnConfig, TxnShard
from barnabas.core.txn.records import encode_key, encode_value
from barnabas.model.ids import TopicPartition
from barnabas.wire import codec

Record = tuple[bytes, bytes | None]
START_MS = 1_000_000


def compacted(records: list[Record]) -> list[Record]:
    """The last value of each key, where it stood; tombstones too are gone once they have done their work."""
    last = {key: place for place, (key, _) in enumerate(records)}
    return [(key, value) for place, (key, value) in enumerate(records) if last[key] == place and value is not None]


def _offsets_partition(group_id: str) -> int:
    return sum(map(ord, group_id)) % 50  # for a name of one letter, where Kafka puts it


@dataclass
class Stage:
    config: TxnConfig = field(default_factory=TxnConfig)
    coordinator_epoch: int = 1
    first_producer_id: int = 1000
    now_ms: int = START_MS
    ids_left: int | None = None  # None: never short of producer ids
    log: list[Record] = field(default_factory=list)
    new_records: list[Record] = field(default_factory=list)
    new_markers: list[SendMarkers] = field(default_factory=list)
    markers: list[SendMarkers] = field(default_factory=list)  # asked for, and not yet reported on

    def __post_init__(self) -> None:
        self._next_producer_id = self.first_producer_id
        self.shard = self._new_shard()

    def ask(self, api_key: int, version: int, body: dict[str, Any]) -> Any:
        codec.STRICT = True
        request = codec.decode_request(api_key, version, codec.encode_request(api_key, version, body))
        token: Any = object()
        effects = self.shard.handle(request, RequestInfo(api_key, version, "client", "host"), self.now_ms, token)
        assert [reply.token for reply in effects.replies] == [token], "each token is answered exactly once"
        self.take(effects)
        answer = codec.encode_response(api_key, version, effects.replies[0].response)
        return codec.decode_response(api_key, version, answer)

    def take(self, effects: Effects) -> None:
        self.log += effects.records
        self.new_records += effects.records
        self.markers += effects.markers
        self.new_markers += effects.markers

    def write_markers(self, *, only: set[TopicPartition] | None = None) -> None:
        """The held markers reach their partitions."""
        held, self.markers = self.markers, []
        for sent in held:
            done = sent.partitions if only is None else sent.partitions & only
            if done != sent.partitions:
                self.markers.append(replace(sent, partitions=sent.partitions - done))
            self.take(self.shard.markers_written(sent, done, self.now_ms))

    def fail_markers(self) -> None:
        held, self.markers = self.markers, []
        for sent in held:
            self.take(self.shard.markers_failed(sent, sent.partitions, self.now_ms))

    def advance(self, by_ms: int) -> None:
        """Time passes, and the timers that come due are served, one deadline after the other."""
        until_ms = self.now_ms + by_ms
        while (due_ms := self.shard.next_deadline_ms()) is not None and due_ms <= until_ms:
            self.now_ms = max(self.now_ms, due_ms)
            self.take(self.shard.tick(self.now_ms))
        self.now_ms = until_ms

    def reload(self, *, compact: bool = False) -> None:
        """The coordinator dies and is rebuilt from its log; what it had asked of others is forgotten."""
        self.markers = []
        self.coordinator_epoch += 1
        self.shard = self._new_shard()
        for key, value in compacted(self.log) if compact else self.log:
            assert self.shard.replay(key, value) is None
        self.take(self.shard.loaded(self.now_ms))

    def set_epoch(self, name: str, epoch: int) -> None:
        """As if the id had been initialized until its epoch was this."""
        transaction = replace(self.shard.transactions[name], producer_epoch=epoch)
        record = (encode_key(name), encode_value(transaction, 1))
        self.log.append(record)
        self.shard.replay(*record)

    def _new_shard(self) -> TxnShard:
        return TxnShard(self.config, self.coordinator_epoch, self._new_producer_id, _offsets_partition)

    def _new_producer_id(self) -> int | None:
        if self.ids_left is not None:
            if not self.ids_left:
                return None
            self.ids_left -= 1
        self._next_producer_id += 1
        return self._next_producer_id - 1
