"""Node settings that Kafka does not document. Its own tests and tuning guides use them, so they are known here and
not warned about; they are not shown unless set. Ours that Kafka does not know are among them.
"""

from barnabas.model.settings.rows import BOOLEAN, CLUSTER_WIDE, DOUBLE, INT, LONG, LONG_MAX, STRING, node
from barnabas.model.settings.valid import at_least, between

# fmt: off
ROWS = (
    node("controller.performance.always.log.threshold.ms", LONG, 2_000, at_least(0), internal=True, effective=False,
         doc="Accepted for compatibility; the controller writes no timing log."),
    node("controller.performance.sample.period.ms", LONG, 60_000, at_least(100), internal=True, effective=False,
         doc="Accepted for compatibility; the controller writes no timing log."),
    node("group.consumer.assignor.offload.enable", BOOLEAN, True, mode=CLUSTER_WIDE, internal=True,
         doc="Whether assignments of large consumer-protocol groups are computed in a background thread (KIP-1263); "
             "small groups are assigned at once."),
    node("group.consumer.regex.refresh.interval.ms", INT, 600_000, at_least(10000), internal=True, effective=False,
         doc="Accepted for compatibility; a pattern is matched again when topics change."),
    node("group.share.initialize.retry.interval.ms", INT, 30_000, at_least(1), internal=True, effective=False,
         doc="Accepted for compatibility; share groups are not served yet."),
    node("group.share.persister.class.name", STRING, "org.apache.kafka.server.share.persister.DefaultStatePersister",
         internal=True, effective=False,
         doc="Accepted for compatibility; share groups are not served yet."),
    node("internal.metadata.delete.delay.millis", LONG, 60_000, internal=True, effective=False,
         doc="Accepted for compatibility; old metadata goes with the snapshot that replaces it."),
    node("internal.metadata.log.segment.bytes", INT, None, internal=True, effective=False,
         doc="Accepted for compatibility; the metadata log has segments of a fixed size."),
    node("internal.metadata.max.batch.size.in.bytes", INT, 8_388_608, internal=True, effective=False,
         doc="Accepted for compatibility; one change is one batch."),
    node("follower.replication.throttled.rate", LONG, LONG_MAX, at_least(0), mode=CLUSTER_WIDE, internal=True,
         doc="Bytes a second for the replicas that a topic's follower.replication.throttled.replicas names."),
    node("leader.replication.throttled.rate", LONG, LONG_MAX, at_least(0), mode=CLUSTER_WIDE, internal=True,
         doc="Bytes a second for the replicas that a topic's leader.replication.throttled.replicas names."),
    node("log.verify.interval.ms", LONG, 86_400_000, at_least(1), internal=True,
         doc="Our own: how often every log is read, slowly, and its CRCs are checked."),
    node("log.initial.task.delay.ms", LONG, 30_000, at_least(0), internal=True, effective=False,
         doc="Accepted for compatibility; background tasks wait for their first interval."),
    node("producer.id.expiration.check.interval.ms", INT, 600_000, at_least(1), internal=True,
         doc="How often producer ids that have expired are looked for."),
    node("remote.log.index.file.cache.ttl.ms", LONG, 900_000, at_least(-1), internal=True, effective=False,
         doc="Accepted for compatibility; there is no tiered storage."),
    node("remote.log.manager.task.retry.backoff.max.ms", LONG, 30_000, at_least(1), internal=True, effective=False,
         doc="Accepted for compatibility; there is no tiered storage."),
    node("remote.log.manager.task.retry.backoff.ms", LONG, 500, at_least(1), internal=True, effective=False,
         doc="Accepted for compatibility; there is no tiered storage."),
    node("remote.log.manager.task.retry.jitter", DOUBLE, 0.2, between(0, 0.5), internal=True, effective=False,
         doc="Accepted for compatibility; there is no tiered storage."),
    node("replica.alter.log.dirs.io.max.bytes.per.second", LONG, LONG_MAX, at_least(0), mode=CLUSTER_WIDE,
         internal=True, effective=False, doc="Accepted for compatibility; a node has one data folder."),
    node("server.max.startup.time.ms", LONG, LONG_MAX, at_least(0), internal=True, effective=False,
         doc="Accepted for compatibility; a start takes as long as it takes."),
    node("share.coordinator.cold.partition.snapshot.interval.ms", INT, 300_000, at_least(1), internal=True,
         effective=False,
         doc="Accepted for compatibility; share groups are not served yet."),
    node("share.coordinator.state.topic.prune.interval.ms", INT, 300_000, at_least(1), internal=True, effective=False,
         doc="Accepted for compatibility; share groups are not served yet."),
    node("unclean.leader.election.interval.ms", LONG, 300_000, at_least(1), internal=True, effective=False,
         doc="Accepted for compatibility; an unclean election happens when it is needed."),
    node("unstable.api.versions.enable", BOOLEAN, False, internal=True, effective=False,
         doc="Accepted for compatibility; every version that is served is stable."),
    node("unstable.feature.versions.enable", BOOLEAN, False, internal=True, effective=False,
         doc="Accepted for compatibility; every level that is offered is stable."),
)
# fmt: on
