"""A request about the metadata log from another node: to the quorum's machine, and its answer back in Kafka's form.

What comes in is checked here, at the edge, because the machine trusts its peers: a member of this cluster names it,
an epoch is not near the end of the numbers, and nobody else stands for election in a quorum of one.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from msgspec.structs import replace

from barnabas.broker.api.failures import failure_body
from barnabas.broker.network.context import RequestContext
from barnabas.broker.network.session import Session
from barnabas.broker.quorum.reaching import where_reached
from barnabas.core.raft.messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchRequest,
    FetchSnapshotRequest,
    Request,
    Response,
    UpdateRaftVoterRequest,
    VoteRequest,
)
from barnabas.core.raft.wire_answers import response_body
from barnabas.core.raft.wire_form import METADATA_TOPIC_ID, request_from
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.limits import QUORUM_EPOCH_MAX
from barnabas.wire.apis import FETCH
from barnabas.wire.codec import Decoded
from barnabas.wire.headers import encode_response_frame

if TYPE_CHECKING:
    from barnabas.broker.quorum.driver import QuorumDriver
    from barnabas.wire import messages


class QuorumMember(Protocol):
    """A node of this cluster with its member of the quorum."""

    @property
    def cluster_id(self) -> str: ...
    @property
    def quorum(self) -> "QuorumDriver": ...


async def answer(node: QuorumMember, request: Decoded, context: RequestContext) -> Mapping[str, object]:
    return response_body(await _answered(node, request_from(context.api_key, request), context.session))


def is_quorum_fetch(request: "messages.FetchRequest") -> bool:
    """A Fetch of the metadata log is the quorum's; such a fetch names nothing else."""
    topics = request.topics
    return len(topics) == 1 and topics[0].topic_id == METADATA_TOPIC_ID


async def serve_fetch(
    node: QuorumMember, request: "messages.FetchRequest", session: Session, version: int, correlation_id: int
) -> bytes:
    try:
        body: Mapping[str, object] = response_body(await _answered(node, request_from(FETCH, request), session))
    except KafkaError as error:
        body = failure_body(FETCH, version, request, error)
    return encode_response_frame(FETCH, version, correlation_id, body)


async def _answered(node: QuorumMember, message: Request, session: Session) -> Response:
    """The leader is told by its address on the listener that the other node uses, as Kafka does."""
    _check(node, message)
    found = await node.quorum.request(message)
    told = getattr(found, "leader_endpoint", None)  # not of every response
    if told is None or not session.listener:
        return found
    here = where_reached(node.quorum.image, found.leader_id, told, session.listener)
    return found if here is told else replace(found, leader_endpoint=here)


def _check(node: QuorumMember, message: Request) -> None:
    epoch = 0
    match message:
        case VoteRequest():
            epoch = message.replica_epoch
        case BeginQuorumEpochRequest() | EndQuorumEpochRequest():
            epoch = message.leader_epoch
        case FetchRequest() | FetchSnapshotRequest() | UpdateRaftVoterRequest():
            epoch = message.current_leader_epoch
        case _:
            return  # an administrator's; the machine checks it
    if message.cluster_id != node.cluster_id:
        raise KafkaError(ErrorCode.INCONSISTENT_CLUSTER_ID, f"this is cluster {node.cluster_id}")
    if epoch > QUORUM_EPOCH_MAX:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"epoch {epoch}")
    stands = isinstance(message, VoteRequest | BeginQuorumEpochRequest | EndQuorumEpochRequest)
    if stands and node.quorum.is_alone:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "this node is a quorum of one")
