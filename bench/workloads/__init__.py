"""The rows, in the order they are run and shown."""

from __future__ import annotations

from typing import Any

from ..workload import Workload
from .cluster import Cluster
from .cluster_groups import ClusterGroups
from .connections import Connections
from .consume import Consume
from .datasize import DataSize
from .fetch import Fetch
from .group import Group
from .guarantees import Guarantees
from .idle import Idle
from .latency import Latency
from .many_partitions import ManyPartitions
from .partitions import Partitions
from .produce import Produce
from .produce_java import ProduceJava
from .recovery import Recovery
from .requests import Requests
from .security import Security
from .spark_activity import SparkActivity
from .spark_anomalies import SparkAnomalies
from .spark_connector import SparkConnector
from .spark_later import SparkLater
from .spark_metrics import SparkMetrics
from .spark_read import SparkRead
from .spark_sink import SparkSink
from .start import Start
from .transactions import Transactions

ALL: tuple[type[Workload[Any]], ...] = (
    Produce,
    ProduceJava,
    Requests,
    Consume,
    Fetch,
    Security,
    Latency,
    Transactions,
    Guarantees,
    Start,
    Partitions,
    Group,
    Connections,
    Idle,
    DataSize,
    Recovery,
    Cluster,
    ClusterGroups,
    ManyPartitions,
    SparkRead,
    SparkSink,
    SparkConnector,
    SparkActivity,
    SparkMetrics,
    SparkAnomalies,
    SparkLater,
)
