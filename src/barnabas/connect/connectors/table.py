"""Every connector that ships: the word for it in a definition, and where its classes are. Imported when it is used, so
that a worker has in memory what its connectors need and no more."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

from barnabas.connect.contract import Sink, Source
from barnabas.connect.errors import BadOption
from barnabas.connect.hints import hint


@dataclass(frozen=True)
class Shipped:
    about: str
    source: str = ""  # module:Class below barnabas.connect.connectors
    sink: str = ""
    example: str = ""  # options to begin with, for `connect new`: of the source, where there is one


CONNECTORS = {
    "postgres": Shipped(
        "PostgreSQL: changes by logical replication; upserts or rows appended",
        "postgres.source:PostgresSource",
        "postgres.sink:PostgresSink",
        'url: "postgresql://app@127.0.0.1/shop"\npassword: "${env:PGPASSWORD}"\ntables: [public.orders]',
    ),
    "sql": Shipped(
        "any database of SQLAlchemy, by an increasing column or a timestamp",
        "sql.source:SqlSource",
        example='url: "sqlite:////srv/shop.db"\ntables: [orders]\nincreasing: id',
    ),
    "duckdb": Shipped("a DuckDB file as a warehouse", sink="duckdb.sink:DuckdbSink", example="path: warehouse.duckdb"),
    "s3": Shipped(
        "objects as Parquet or JSON lines, by partition and hour",
        "s3.source:S3Source",
        "s3.sink:S3Sink",
        "bucket: events\nprefix: orders/\nregion: eu-central-1",
    ),
    "opensearch": Shipped(
        "OpenSearch or Elasticsearch, by bulk requests",
        sink="opensearch.sink:OpensearchSink",
        example='url: "http://127.0.0.1:9200"\nindex: "{topic}"',
    ),
    "logs": Shipped(
        "lines of files that grow and rotate, journald, syslog",
        "logs.source:LogsSource",
        example='paths: ["/var/log/nginx/*.log"]\npattern: nginx',
    ),
    "files": Shipped(
        "whole files of a folder; files of lines",
        "files.source:FilesSource",
        "files.sink:FilesSink",
        "folder: /srv/inbox",
    ),
    "jms": Shipped(
        "queues and topics of a JMS broker, by STOMP",
        "jms.source:JmsSource",
        "jms.sink:JmsSink",
        'url: "stomp://127.0.0.1:61613"\nqueues: [ORDERS]',
    ),
    "mqtt": Shipped(
        "sensors by MQTT",
        "mqtt.source:MqttSource",
        "mqtt.sink:MqttSink",
        'url: "mqtt://127.0.0.1:1883"\ntopics: ["plant/+/temperature"]',
    ),
    "http": Shipped("a webhook; requests to a service", "http.source:HttpSource", "http.sink:HttpSink", "port: 8090"),
    "kafka": Shipped(
        "topics of another cluster",
        "kafka.source:KafkaSource",
        "kafka.sink:KafkaSink",
        'bootstrap: "other.example.org:9092"\ntopics: [orders]',
    ),
    "mirror": Shipped(
        "topics and groups of another cluster, as MirrorMaker 2 does it",
        "mirror.source:MirrorSource",
        example='source: {name: east, bootstrap: "east.example.org:9092"}\n'
        'target: {name: west, bootstrap: "127.0.0.1:9092"}',
    ),
}


def source_class(name: str) -> type[Source]:
    found = _class(name, known(name).source, "source")
    assert issubclass(found, Source)
    return found


def sink_class(name: str) -> type[Sink]:
    found = _class(name, known(name).sink, "sink")
    assert issubclass(found, Sink)
    return found


def known(name: str) -> Shipped:
    if name not in CONNECTORS:
        raise BadOption(f"there is no connector {name!r}", hint(name, CONNECTORS))
    return CONNECTORS[name]


def _class(name: str, place: str, side: str) -> type:
    if not place:
        other = "sink" if side == "source" else "source"
        raise BadOption(f"{name} is a {other}, not a {side}")
    module, _, attribute = place.partition(":")
    try:
        found: type = getattr(import_module(f"barnabas.connect.connectors.{module}"), attribute)
    except ModuleNotFoundError as missing:
        if (missing.name or "").startswith("barnabas"):
            raise
        raise BadOption(f"{name} needs {missing.name}", "Install it: pip install 'barnabas[connect]'") from None
    return found
