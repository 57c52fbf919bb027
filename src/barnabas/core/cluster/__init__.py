"""The cluster's state and the machine that changes it: records, the image they build, the controller that decides."""

from barnabas.core.cluster.controller import Controller
from barnabas.core.cluster.image import (
    EMPTY_IMAGE,
    NO_LEADER,
    BrokerImage,
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from barnabas.core.cluster.internal_topics import internal_topic
from barnabas.core.cluster.items import (
    AlteredPartition,
    ConfigChange,
    ConfigResult,
    DeletedTopic,
    ElectionResult,
    FeatureUpdate,
    Heartbeat,
    HeartbeatResult,
    MorePartitions,
    NewTopic,
    OngoingMove,
    PartitionAlteration,
    Reassignment,
    ReassignmentResult,
    Registration,
    ReplicaDirectory,
    TopicResult,
)
from barnabas.core.cluster.record_codec import decode_record, encode_record
from barnabas.core.cluster.records import Endpoint, MetadataRecordError, Record

__all__ = [
    "EMPTY_IMAGE",
    "NO_LEADER",
    "AlteredPartition",
    "BrokerImage",
    "ConfigChange",
    "ConfigResult",
    "Controller",
    "DeletedTopic",
    "ElectionResult",
    "Endpoint",
    "FeatureUpdate",
    "Heartbeat",
    "HeartbeatResult",
    "MetadataImage",
    "MetadataRecordError",
    "MorePartitions",
    "NewTopic",
    "OngoingMove",
    "PartitionAlteration",
    "PartitionImage",
    "Reassignment",
    "ReassignmentResult",
    "Record",
    "Registration",
    "ReplicaDirectory",
    "TopicImage",
    "TopicResult",
    "decode_record",
    "encode_record",
    "internal_topic",
]
