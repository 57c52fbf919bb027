"""Producer ids: every broker gets blocks of them from the controller (KIP-730)."""

from barnabas.core.cluster.brokers import check_epoch
from barnabas.core.cluster.image import MetadataImage
from barnabas.core.cluster.records import ProducerIds, Record
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.limits import PRODUCER_ID_BLOCK

_LAST = 2**63 - 1


def allocate(image: MetadataImage, broker_id: int, broker_epoch: int) -> tuple[list[Record], tuple[int, int]]:
    """The first id of a block that is the broker's own, and how many it has."""
    check_epoch(image, broker_id, broker_epoch)
    first = image.next_producer_id
    if first > _LAST - PRODUCER_ID_BLOCK:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, "producer ids are used up")
    following = first + PRODUCER_ID_BLOCK
    made = ProducerIds(broker_id=broker_id, broker_epoch=broker_epoch, next_producer_id=following)
    return [made], (first, PRODUCER_ID_BLOCK)
