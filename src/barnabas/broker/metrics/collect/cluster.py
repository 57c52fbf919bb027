"""The controller, the quorum and the metadata as this node sees them."""

from collections.abc import Iterator

from barnabas.broker.controller.driver import ControllerDriver
from barnabas.broker.metrics.exposition import family, labels, single
from barnabas.broker.quorum.driver import QuorumDriver
from barnabas.core.cluster.image import MetadataImage

_AT_ONCE = 20  # topics between two looks at the clock; one may have thousands of partitions
_CONTROLLER = "kafka_controller_kafkacontroller_"
_RAFT = "kafka_server_raftmetrics_"


def collect(image: MetadataImage, controller: ControllerDriver, quorum: QuorumDriver) -> Iterator[str]:
    yield single(f"{_CONTROLLER}activecontrollercount", int(controller.is_active))
    yield single("barnabas_controller_elections_total", controller.changes.elections)
    if controller.is_active:
        yield from _cluster(image)
    view = quorum.view()
    yield (
        single(f"{_RAFT}current_leader", view.leader_id)
        + single(f"{_RAFT}current_epoch", view.leader_epoch)
        + single(f"{_RAFT}high_watermark", view.high_watermark)
        + single(f"{_RAFT}log_end_offset", quorum.next_offset)
        + family(f"{_RAFT}current_state", [(labels(current_state=quorum.raft.role.name), 1)])
        + single("barnabas_quorum_voters", len(view.voters.voters))
        + single("barnabas_metadata_lag_records", max(view.high_watermark - 1 - image.offset, 0))
    )
    end = quorum.next_offset
    lags = {
        replica.replica_id: max(end - replica.log_end_offset, 0)
        for replica in (*view.current_voters, *view.observers)
        if replica.log_end_offset >= 0
    }
    yield family("barnabas_quorum_lag_records", [(labels(replica=str(each)), lag) for each, lag in lags.items()])


def _cluster(image: MetadataImage) -> Iterator[str]:
    partitions = offline = 0
    for position, topic in enumerate(image.topics.values()):
        partitions += len(topic.partitions)
        offline += sum([each.leader < 0 for each in topic.partitions])
        if not position % _AT_ONCE:
            yield ""
    fenced = sum(broker.fenced for broker in image.brokers.values())
    yield (
        single(f"{_CONTROLLER}offlinepartitionscount", offline)
        + single(f"{_CONTROLLER}globalpartitioncount", partitions)
        + single(f"{_CONTROLLER}globaltopiccount", len(image.topics))
        + single(f"{_CONTROLLER}activebrokercount", len(image.brokers) - fenced)
        + single(f"{_CONTROLLER}fencedbrokercount", fenced)
        + single("kafka_brokers", len(image.brokers))
    )
