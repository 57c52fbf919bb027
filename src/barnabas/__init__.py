"""Barnabas: event streaming that speaks Kafka's protocol.

    from barnabas import Producer, Consumer

Each name below is loaded when it is first used, so that importing the package (as the broker does) costs nothing and
never loads a client library.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barnabas.client.admin.admin import Admin
    from barnabas.client.consumer.async_consumer import AsyncConsumer
    from barnabas.client.consumer.consumer import Consumer
    from barnabas.client.consumer.message import Message
    from barnabas.client.consumer.streams import MessageStreams, create_message_streams
    from barnabas.client.copy.copying import Copied, copy
    from barnabas.client.copy.outputs import Output
    from barnabas.client.errors import (
        BadSetting,
        BarnabasError,
        CannotReach,
        Closed,
        DeliveryFailed,
        DeserializationError,
        Fenced,
        GroupNotEmpty,
        NotAllowed,
        Refused,
        RegistryError,
        SerializationError,
        TimedOut,
        TopicExists,
        TransactionAborted,
        UnknownGroup,
        UnknownTopic,
        UsedAfterFork,
    )
    from barnabas.client.producer.async_producer import AsyncProducer
    from barnabas.client.producer.delivery import Deliveries, Delivery, RecordMetadata
    from barnabas.client.producer.producer import Producer
    from barnabas.client.serde.registry.registry import Registry
    from barnabas.client.serde.serializers import Avro, Bytes, Json, Protobuf, Serializer, String
    from barnabas.client.transactions.transaction import Transaction
    from barnabas.model.ids import TopicPartition
    from barnabas.model.partitioning import murmur2, partition_for_key

_HOMES = {
    "client.admin.admin": ["Admin"],
    "client.consumer.async_consumer": ["AsyncConsumer"],
    "client.producer.async_producer": ["AsyncProducer"],
    "client.consumer.consumer": ["Consumer"],
    "client.copy.copying": ["Copied", "copy"],
    "client.producer.delivery": ["Deliveries", "Delivery", "RecordMetadata"],
    "client.errors": [
        "BadSetting",
        "BarnabasError",
        "CannotReach",
        "Closed",
        "DeliveryFailed",
        "DeserializationError",
        "Fenced",
        "GroupNotEmpty",
        "NotAllowed",
        "Refused",
        "RegistryError",
        "SerializationError",
        "TimedOut",
        "TopicExists",
        "TransactionAborted",
        "UnknownGroup",
        "UnknownTopic",
        "UsedAfterFork",
    ],
    "client.consumer.message": ["Message"],
    "client.copy.outputs": ["Output"],
    "model.partitioning": ["murmur2", "partition_for_key"],
    "client.producer.producer": ["Producer"],
    "client.serde.registry.registry": ["Registry"],
    "client.serde.serializers": ["Avro", "Bytes", "Json", "Protobuf", "Serializer", "String"],
    "client.transactions.transaction": ["Transaction"],
    "client.consumer.streams": ["MessageStreams", "create_message_streams"],
    "model.ids": ["TopicPartition"],
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Admin",
    "AsyncConsumer",
    "AsyncProducer",
    "Avro",
    "BadSetting",
    "BarnabasError",
    "Bytes",
    "CannotReach",
    "Closed",
    "Consumer",
    "Copied",
    "Deliveries",
    "Delivery",
    "DeliveryFailed",
    "DeserializationError",
    "Fenced",
    "GroupNotEmpty",
    "Json",
    "Message",
    "MessageStreams",
    "NotAllowed",
    "Output",
    "Producer",
    "Protobuf",
    "RecordMetadata",
    "Refused",
    "Registry",
    "RegistryError",
    "SerializationError",
    "Serializer",
    "String",
    "TimedOut",
    "TopicExists",
    "TopicPartition",
    "Transaction",
    "TransactionAborted",
    "UnknownGroup",
    "UnknownTopic",
    "UsedAfterFork",
    "copy",
    "create_message_streams",
    "murmur2",
    "partition_for_key",
]


def __getattr__(name: str) -> Any:  # any name of the table, each with its own type to a type checker
    if name == "__version__":
        from importlib.metadata import version

        return version("barnabas")
    home = _HOME_OF.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{home}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
