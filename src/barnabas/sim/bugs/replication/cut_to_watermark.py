"""A follower of a new leader cuts its log at its own high watermark, as Kafka did before KIP-101."""

from collections.abc import Callable

from barnabas.broker.partition.partition import HostedPartition
from barnabas.core.cluster.image import PartitionImage
from barnabas.sim.bugs.base import Bug


def _make(right: Callable[[HostedPartition, PartitionImage], None]) -> object:
    def apply_image(self: HostedPartition, image: PartitionImage) -> None:
        newer = image.leader_epoch != self.leader_epoch
        right(self, image)
        opened = self.opened
        if newer and not self.is_leader and opened is not None and not self.deleted:
            opened.follower.truncate(opened.high_watermark)

    return apply_image


BUG = Bug(
    "cut-to-watermark",
    "a follower cuts to its watermark, not by epochs",
    HostedPartition,
    "apply_image",
    _make,
    nodes=3,
)
