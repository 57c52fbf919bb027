"""A follower that begins anew is sent what follows the records that it has passed over: its log has a hole."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from barnabas.broker.fetch.follower_sessions import NOTHING_AHEAD, Slot
from barnabas.sim.bugs.base import Bug

if TYPE_CHECKING:
    from barnabas.wire.messages import FetchRequestFetchPartition


def _make(right: Callable[[Slot, "FetchRequestFetchPartition"], None]) -> object:
    def update(self: Slot, asked: "FetchRequestFetchPartition") -> None:
        kept = getattr(self, "sent_to", NOTHING_AHEAD)
        right(self, asked)
        self.sent_to = kept

    return update


BUG = Bug(
    "ahead-kept", "what was sent ahead counts after a new start", Slot, "update", _make, nodes=3, scenario="distant"
)
