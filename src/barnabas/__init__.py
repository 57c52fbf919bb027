"""Barnabas: event streaming that speaks Kafka's protocol.

    from barnabas import Producer, Consumer

Each name below is loaded when it is first used, so that importing the package (as the broker does) costs nothing and
never loads a client library.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barnabas.client.admin import Admin
    from barnabas.client.async_consumer import AsyncConsumer
    from barnabas.client.async_producer import AsyncProducer
    from barnabas.client.consumer import Consumer
    from barnabas.client.copying import Copied, copy
    from barnabas.client.delivery import Deliveries, Delivery, RecordMetadata
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
        SerializationError,
        TimedOut,
        TopicExists,
        TransactionAborted,
        UnknownGroup,
        UnknownTopic,
        UsedAfterFork,
    )
    from barnabas.client.message import Message
    from barnabas.client.outputs import Output
    from barnabas.client.partitioners import murmur2, partition_for_key
    from barnabas.client.producer import Producer
    from barnabas.client.serializers import Avro, Bytes, Json, Protobuf, Serializer, String
    from barnabas.client.streams import MessageStreams, create_message_streams
    from barnabas.client.transaction import Transaction
    from barnabas.model.ids import TopicPartition

_HOMES = {
    "client.admin": ["Admin"],
    "client.async_consumer": ["AsyncConsumer"],
    "client.async_producer": ["AsyncProducer"],
    "client.consumer": ["Consumer"],
    "client.copying": ["Copied", "copy"],
    "client.delivery": ["Deliveries", "Delivery", "RecordMetadata"],
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
        "SerializationError",
        "TimedOut",
        "TopicExists",
        "TransactionAborted",
        "UnknownGroup",
        "UnknownTopic",
        "UsedAfterFork",
    ],
    "client.message": ["Message"],
    "client.outputs": ["Output"],
    "client.partitioners": ["murmur2", "partition_for_key"],
    "client.producer": ["Producer"],
    "client.serializers": ["Avro", "Bytes", "Json", "Protobuf", "Serializer", "String"],
    "client.transaction": ["Transaction"],
    "client.streams": ["MessageStreams", "create_message_streams"],
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


def __getattr__(name: str) -> Any:
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
