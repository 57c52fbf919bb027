"""Error codes from the asker's side: which pass by themselves, and what has to be looked up before trying again.

The table is Kafka's: a code is here when the exception that Kafka's clients have for it is a RetriableException, and
is of kind LEADER when it is an InvalidMetadataException (tests/differential/test_retriable_codes.py compares). Whether
a request may be sent twice is not said here; that depends on the request.
"""

from enum import Enum

from barnabas.model.errors import ErrorCode


class Remedy(Enum):
    WAIT = "the same request to the same node, a moment later"
    LEADER = "look up who leads the partition"
    COORDINATOR = "look up who coordinates the key"
    CONTROLLER = "look up the active controller"


_REMEDIES = {
    ErrorCode.CORRUPT_MESSAGE: Remedy.WAIT,  # of a produced batch: it was damaged on its way
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: Remedy.LEADER,  # a node that has not heard of a new topic yet
    ErrorCode.LEADER_NOT_AVAILABLE: Remedy.LEADER,
    ErrorCode.NOT_LEADER_OR_FOLLOWER: Remedy.LEADER,
    ErrorCode.REQUEST_TIMED_OUT: Remedy.WAIT,
    ErrorCode.REPLICA_NOT_AVAILABLE: Remedy.LEADER,
    ErrorCode.NETWORK_EXCEPTION: Remedy.LEADER,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: Remedy.WAIT,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: Remedy.COORDINATOR,
    ErrorCode.NOT_COORDINATOR: Remedy.COORDINATOR,
    ErrorCode.NOT_ENOUGH_REPLICAS: Remedy.WAIT,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND: Remedy.WAIT,
    ErrorCode.NOT_CONTROLLER: Remedy.CONTROLLER,
    ErrorCode.CONCURRENT_TRANSACTIONS: Remedy.WAIT,
    ErrorCode.KAFKA_STORAGE_ERROR: Remedy.LEADER,
    ErrorCode.FETCH_SESSION_ID_NOT_FOUND: Remedy.WAIT,
    ErrorCode.INVALID_FETCH_SESSION_EPOCH: Remedy.WAIT,
    ErrorCode.LISTENER_NOT_FOUND: Remedy.LEADER,
    ErrorCode.FENCED_LEADER_EPOCH: Remedy.LEADER,
    ErrorCode.UNKNOWN_LEADER_EPOCH: Remedy.WAIT,  # the node has not heard of an election that we know of
    ErrorCode.OFFSET_NOT_AVAILABLE: Remedy.WAIT,
    ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE: Remedy.LEADER,
    ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE: Remedy.LEADER,
    ErrorCode.ELECTION_NOT_NEEDED: Remedy.LEADER,
    ErrorCode.UNSTABLE_OFFSET_COMMIT: Remedy.WAIT,
    ErrorCode.THROTTLING_QUOTA_EXCEEDED: Remedy.WAIT,
    ErrorCode.UNKNOWN_TOPIC_ID: Remedy.LEADER,
    ErrorCode.INCONSISTENT_TOPIC_ID: Remedy.LEADER,
    ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR: Remedy.WAIT,
    ErrorCode.SHARE_SESSION_NOT_FOUND: Remedy.WAIT,
    ErrorCode.INVALID_SHARE_SESSION_EPOCH: Remedy.WAIT,
    ErrorCode.SHARE_SESSION_LIMIT_REACHED: Remedy.WAIT,
}


def remedy(code: int) -> Remedy | None:
    """What to do before trying again; None: it does not pass by itself, or it is no error."""
    return _REMEDIES.get(code)  # type: ignore[call-overload, no-any-return]


def is_retriable(code: int) -> bool:
    return code in _REMEDIES


def name_of(code: int) -> str:
    """`not leader or follower` for 6."""
    try:
        return ErrorCode(code).name.lower().replace("_", " ")
    except ValueError:
        return f"error {code}"
