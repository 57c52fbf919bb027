"""Whether the node can serve clients, for whoever sends them to it: one reason why not, or nothing."""

from barnabas.broker.controller.driver import ControllerDriver
from barnabas.core.cluster.image import MetadataImage

_BEHIND_RECORDS = 10_000  # of the metadata log: a node so far behind is catching up


def why_not_ready(
    image: MetadataImage,
    controller: ControllerDriver,
    high_watermark: int,
    *,
    broker_id: int | None,
    is_open: bool,
    stopping: bool,
) -> str:
    """`broker_id`: None of a node that is only a controller."""
    if stopping:
        return "the node is stopping"
    if not controller.leader_is_known.is_set():
        return "no leader of the quorum is known"
    if not is_open:
        return "the node is starting: it registers, catches up with the metadata and puts its logs in order"
    if broker_id is not None:
        broker = image.brokers.get(broker_id)
        if broker is None:
            return "the node is not registered as a broker"
        if broker.fenced:
            return "the controller has fenced the node"
    if (behind := high_watermark - 1 - image.offset) > _BEHIND_RECORDS:
        return f"the metadata of the node is {behind} records behind"
    return ""
