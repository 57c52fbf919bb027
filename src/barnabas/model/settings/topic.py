"""Settings of a topic. Each falls back to the node's setting behind it (`synonyms`, the strongest first), then to the
default.
"""

from barnabas.model.settings.rows import BOOLEAN, DOUBLE, INT, LIST, LONG, LONG_MAX, STRING, topic
from barnabas.model.settings.valid import at_least, between, list_of, one_of, throttled_replicas

_STRATEGIES = "io.confluent.kafka.serializers.subject"
TOPIC_NAME_STRATEGY = f"{_STRATEGIES}.TopicNameStrategy"
SUBJECT_NAME_STRATEGIES = (
    TOPIC_NAME_STRATEGY,
    f"{_STRATEGIES}.RecordNameStrategy",
    f"{_STRATEGIES}.TopicRecordNameStrategy",
)

# Confluent's and ours are internal: like Kafka, which does not know them, a topic shows them only where they are set.
# fmt: off
ROWS = (
    topic("cleanup.policy", LIST, ("delete",), list_of("compact", "delete"), synonyms=("log.cleanup.policy",),
          doc="What becomes of old records: delete drops whole old segments, compact keeps the newest of each key; "
              "both may be given."),
    topic("compression.gzip.level", INT, -1, between(1, 9, also=(-1,)), synonyms=("compression.gzip.level",),
          doc="How hard gzip tries when compression.type is gzip; -1 is gzip's own default."),
    topic("compression.lz4.level", INT, 9, between(1, 17), synonyms=("compression.lz4.level",),
          doc="How hard lz4 tries when compression.type is lz4."),
    topic("compression.type", STRING, "producer",
          one_of("uncompressed", "zstd", "lz4", "snappy", "gzip", "producer", "none"), synonyms=("compression.type",),
          doc="How batches are stored: producer keeps what came in, uncompressed (or none) opens it, a codec "
              "compresses it anew."),
    topic("compression.zstd.level", INT, 3, between(-131072, 22), synonyms=("compression.zstd.level",),
          doc="How hard zstd tries when compression.type is zstd."),
    topic("confluent.key.schema.validation", BOOLEAN, False, internal=True,
          doc="Whether a record is refused unless the schema id of its key is in the schema registry."),
    topic("confluent.key.subject.name.strategy", STRING, TOPIC_NAME_STRATEGY, one_of(*SUBJECT_NAME_STRATEGIES),
          internal=True,
          doc="Where the schema id of a key has to be registered: TopicNameStrategy under the topic's name "
              "with -key, the others under any subject."),
    topic("confluent.value.schema.validation", BOOLEAN, False, internal=True,
          doc="Whether a record is refused unless the schema id of its value is in the schema registry."),
    topic("confluent.value.subject.name.strategy", STRING, TOPIC_NAME_STRATEGY, one_of(*SUBJECT_NAME_STRATEGIES),
          internal=True,
          doc="Where the schema id of a value has to be registered: TopicNameStrategy under the topic's name "
              "with -value, the others under any subject."),
    topic("delete.retention.ms", LONG, 86_400_000, at_least(0), synonyms=("log.cleaner.delete.retention.ms",),
          doc="How long a compacted topic still shows that a key was deleted, for readers that started from the "
              "beginning."),
    topic("file.delete.delay.ms", LONG, 60_000, at_least(0), synonyms=("log.segment.delete.delay.ms",),
          doc="How long the files of a removed segment stay on disk, for reads that are under way."),
    topic("flush.messages", LONG, LONG_MAX, at_least(1), synonyms=("log.flush.interval.messages",),
          doc="After how many records the log is forced to disk; 1 means that an acknowledged record has been "
              "fsynced."),
    topic("flush.ms", LONG, LONG_MAX, at_least(0),
          synonyms=("log.flush.interval.ms", "log.flush.scheduler.interval.ms"),
          doc="How long records may wait before the log is forced to disk."),
    topic("follower.replication.throttled.replicas", LIST, (), throttled_replicas(),
          doc="Replicas (partition:broker, or *) that are filled no faster than follower.replication.throttled.rate."),
    topic("index.interval.bytes", INT, 4_096, at_least(0), synonyms=("log.index.interval.bytes",),
          doc="After how many bytes of log an index gets its next entry."),
    topic("internal.segment.bytes", INT, None, internal=True,
          doc="Overrides segment.bytes without its lower bound, so that tests can have small segments."),
    topic("leader.preferred.racks", LIST, (), list_of(), synonyms=("leader.preferred.racks",), internal=True,
          doc="Zones (broker.rack) in which leaders should be, the best one first: replicas are placed so that one is "
              "there, and it is the preferred leader."),
    topic("leader.replication.throttled.replicas", LIST, (), throttled_replicas(),
          doc="Replicas (partition:broker, or *) that fill others no faster than leader.replication.throttled.rate."),
    topic("link.cluster.id", STRING, "", internal=True,
          doc="Of a topic that a link made: the cluster that it comes from. It stays when the topic is promoted."),
    topic("link.leader.epoch", INT, 0, at_least(0), internal=True,
          doc="Of a topic that a link made: the lowest leader epoch of this cluster; records of the source have lower "
              "ones."),
    topic("link.name", STRING, "", internal=True,
          doc="The link that fills the topic from another cluster. Clients may only read it; without this setting it "
              "is promoted to an ordinary topic."),
    topic("link.topic.id", STRING, "", internal=True,
          doc="Of a topic that a link made: its id at the source."),
    topic("local.retention.bytes", LONG, -2, at_least(-2), synonyms=("log.local.retention.bytes",), effective=False,
          doc="Accepted for compatibility; there is no tiered storage, so all data is local."),
    topic("local.retention.ms", LONG, -2, at_least(-2), synonyms=("log.local.retention.ms",), effective=False,
          doc="Accepted for compatibility; there is no tiered storage, so all data is local."),
    topic("max.compaction.lag.ms", LONG, LONG_MAX, at_least(1), synonyms=("log.cleaner.max.compaction.lag.ms",),
          doc="The longest a record may wait before it is compacted."),
    topic("max.message.bytes", INT, 1_048_588, at_least(0), synonyms=("message.max.bytes",),
          doc="The largest batch of records the topic takes, after compression."),
    topic("message.timestamp.after.max.ms", LONG, 3_600_000, at_least(0),
          synonyms=("log.message.timestamp.after.max.ms",),
          doc="How far in the future, by the node's clock, a record's timestamp may lie."),
    topic("message.timestamp.before.max.ms", LONG, LONG_MAX, at_least(0),
          synonyms=("log.message.timestamp.before.max.ms",),
          doc="How far in the past, by the node's clock, a record's timestamp may lie."),
    topic("message.timestamp.type", STRING, "CreateTime", one_of("CreateTime", "LogAppendTime"),
          synonyms=("log.message.timestamp.type",),
          doc="Whose clock stamps a record: CreateTime the producer's, LogAppendTime the node's."),
    topic("min.cleanable.dirty.ratio", DOUBLE, 0.5, between(0, 1), synonyms=("log.cleaner.min.cleanable.ratio",),
          doc="The share of a log that must be uncompacted before it is worth compacting."),
    topic("min.compaction.lag.ms", LONG, 0, at_least(0), synonyms=("log.cleaner.min.compaction.lag.ms",),
          doc="How long a record stays untouched by compaction."),
    topic("min.insync.replicas", INT, 1, at_least(1), synonyms=("min.insync.replicas",),
          doc="How many replicas must have a record before a producer with acks=all is answered."),
    topic("min.insync.zones", INT, 1, at_least(1), synonyms=("min.insync.zones",), internal=True,
          doc="In how many zones (broker.rack) replicas must have a record before a producer with acks=all is "
              "answered; 1 is off. A broker without a rack is in no zone."),
    topic("preallocate", BOOLEAN, False, synonyms=("log.preallocate",), effective=False,
          doc="Accepted for compatibility; files grow as they are written."),
    topic("remote.log.copy.disable", BOOLEAN, False, effective=False,
          doc="Accepted for compatibility; there is no tiered storage."),
    topic("remote.log.delete.on.disable", BOOLEAN, False, effective=False,
          doc="Accepted for compatibility; there is no tiered storage."),
    topic("remote.storage.enable", BOOLEAN, False, effective=False,
          doc="Only false is accepted: there is no tiered storage."),
    topic("retention.bytes", LONG, -1, synonyms=("log.retention.bytes",),
          doc="How large a partition may grow before its oldest segments are deleted; -1 for no limit."),
    topic("retention.ms", LONG, 604_800_000, at_least(-1),
          synonyms=("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
          doc="How long records are kept before their segment is deleted; -1 for ever."),
    topic("segment.bytes", INT, 1_073_741_824, at_least(1048576), synonyms=("log.segment.bytes",),
          doc="The size at which a log file is closed and the next one begun."),
    topic("segment.index.bytes", INT, 10_485_760, at_least(4), synonyms=("log.index.size.max.bytes",),
          doc="The largest size of a segment's index; a full index also begins a new segment."),
    topic("segment.jitter.ms", LONG, 0, at_least(0), synonyms=("log.roll.jitter.ms", "log.roll.jitter.hours"),
          effective=False,
          doc="Accepted for compatibility; segments begin when their time has come, without a random share."),
    topic("segment.ms", LONG, 604_800_000, at_least(1), synonyms=("log.roll.ms", "log.roll.hours"),
          doc="The age at which a log file is closed even if it is not full, so that retention and compaction reach "
              "it."),
    topic("unclean.leader.election.enable", BOOLEAN, False, synonyms=("unclean.leader.election.enable",),
          doc="Whether a replica that lags may lead when no other is left, at the price of lost records."),
)
# fmt: on
