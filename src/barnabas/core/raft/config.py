"""The settings a member of the quorum obeys, under Kafka's names (`controller.quorum.*`), and its bounds."""

from msgspec import Struct

from barnabas.core.raft.voters import Endpoint, ReplicaKey

# Replicas that are no voters but fetch: every broker is one. Kafka forgets one after five minutes of silence; the
# number keeps a client that invents replica ids from growing a leader's memory.
OBSERVERS_MAX = 10_000
OBSERVER_SESSION_TIMEOUT_MS = 5 * 60_000
PARKED_FETCHES_MAX = 10_000  # long polls that wait at a leader: one for each replica, and no more
PROPOSALS_MAX = 10_000  # proposals on their way at once; a controller has a handful
SNAPSHOT_MAX_BYTES = 4 << 30  # a download that claims more is refused: an image of a million partitions is 200 MB


class RaftConfig(Struct, frozen=True):
    node_id: int
    directory_id: bytes
    cluster_id: str
    endpoints: tuple[Endpoint, ...]  # our own controller listeners, as other controllers reach them
    bootstrap_servers: tuple[Endpoint, ...] = ()  # asked for the leader by a node that knows no voter
    told_voters: dict[int, Endpoint] = {}  # by the settings, on the listener that this node uses itself
    controller_listeners: frozenset[str] = frozenset()  # names of listeners on which only the quorum is served
    auto_join: bool = False  # an observer asks to be a voter as soon as it follows a leader (controllers only)
    election_timeout_ms: int = 1_000
    election_backoff_max_ms: int = 1_000
    fetch_timeout_ms: int = 2_000
    request_timeout_ms: int = 2_000
    retry_backoff_ms: int = 20
    fetch_max_wait_ms: int = 500
    fetch_max_bytes: int = 1_048_576
    fetch_snapshot_max_bytes: int = 1_048_576
    discovery_backoff_ms: int = 100  # our own: between two questions "who leads?" of a node without a leader
    # Our own: a follower whose leader closed the connection waits this long at most before it asks around. Pre-votes
    # make the question harmless when only this link broke, so it need not be the whole fetch timeout.
    leader_lost_backoff_ms: int = 100

    @property
    def key(self) -> ReplicaKey:
        return ReplicaKey(self.node_id, self.directory_id)

    @property
    def check_quorum_timeout_ms(self) -> int:
        """Longer than a follower's fetch timeout, so that a follower gives up on a leader first (Kafka's factor)."""
        return self.fetch_timeout_ms * 3 // 2
