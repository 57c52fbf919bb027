"""A follower of a new leader cuts its log at its own high watermark, as Kafka did before KIP-101."""

from typing import Any

from barnabas.broker.partition import following
from barnabas.broker.partition.partition import HostedPartition
from barnabas.sim.bugs.base import Bug


def _make(right: Any) -> Any:
    def follow(self: Any, image: Any) -> None:
        newer = image.leader_epoch != self.leader_epoch
        right(self, image)
        if newer and not self.is_leader and self.is_open and not self.deleted:
            following.truncate(self, self.high_watermark)

    return follow


BUG = Bug(
    "cut-to-watermark",
    "a follower cuts to its watermark, not by epochs",
    HostedPartition,
    "follow",
    _make,
    nodes=3,
)
