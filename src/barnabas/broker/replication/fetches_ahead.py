"""How many fetches a follower has under way to one leader: one, or several to a leader that is far away.

How far it is, the shortest round trip of the last seconds says: most fetches wait at the leader for records, the
shortest did not. Several are under way only while records come, so an idle follower costs what it did.
"""

AHEAD_MAX = 5  # fewer than wait at the leader (fetch/follower_sessions.py): what names partitions comes on top
DISTANT_SECONDS = 0.002
_MEASURED_SECONDS = 5.0  # what a round trip was counts for so long
_UNKNOWN = 3600.0


class FetchesAhead:
    def __init__(self, *, allowed: bool) -> None:
        self._allowed = allowed
        self.continue_each_other = False  # do the fetches of this session? From then on all do: the leader counts on it
        self._round_trip = _UNKNOWN
        self._measured_at = 0.0
        self._received_at = -_UNKNOWN

    def connected(self) -> None:
        self._round_trip = _UNKNOWN

    def answered(self, taken: float, now: float, *, in_session: bool) -> None:
        if taken <= self._round_trip or now - self._measured_at > _MEASURED_SECONDS:
            self._round_trip, self._measured_at = taken, now
        if self._allowed and in_session and self._round_trip >= DISTANT_SECONDS:
            self.continue_each_other = True

    def received(self, now: float) -> None:
        """Records."""
        self._received_at = now

    def count(self, now: float, wait_ms: int) -> int:
        if not self.continue_each_other or self._round_trip < DISTANT_SECONDS:
            return 1
        if now - self._received_at > wait_ms / 1000:
            return 1
        return min(1 + int(self._round_trip / DISTANT_SECONDS), AHEAD_MAX)
