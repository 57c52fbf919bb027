"""What a leader of the quorum reads from its disk for others: batches of the log, pieces of a snapshot."""

from msgspec.structs import replace

from barnabas.broker.quorum.metadata_log import MetadataLog
from barnabas.core.raft.effects import ServeFetch, ServeSnapshot
from barnabas.core.raft.messages import FetchSnapshotResponse, Response
from barnabas.model.errors import ErrorCode


class Serving:
    def __init__(self, log: MetadataLog) -> None:
        self._log = log

    def read(self, wanted: ServeFetch | ServeSnapshot) -> Response:
        if isinstance(wanted, ServeFetch):
            records = self._log.read(wanted.fetch_offset, wanted.end_offset, wanted.max_bytes)
            return replace(wanted.response, records=records)
        return self._snapshot(wanted)

    def _snapshot(self, wanted: ServeSnapshot) -> FetchSnapshotResponse:
        answer = FetchSnapshotResponse(
            leader_id=wanted.leader_id, leader_epoch=wanted.leader_epoch, snapshot_id=wanted.snapshot_id
        )
        found = self._log.snapshots.piece(wanted.snapshot_id, wanted.position, wanted.max_bytes)
        if found is None:
            return replace(answer, error_code=ErrorCode.SNAPSHOT_NOT_FOUND)
        size, data = found
        if wanted.position >= size:
            return replace(answer, error_code=ErrorCode.POSITION_OUT_OF_RANGE)
        return replace(answer, size=size, position=wanted.position, unaligned_records=data)
