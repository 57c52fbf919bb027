"""What goes wrong, in one clear line, as exceptions a program can tell apart.

Everything this package raises is a `BarnabasError`. Its text is written for the person who reads it: what failed,
where, and the way out when there is one. `code` carries Kafka's error code when a broker refused the request.

librdkafka has two families of codes: a broker's own (0 and up, and -1, the same numbers as the protocol) and its local
ones (-199 to -100). `translate` maps both; what it does not know stays a `Refused` or a plain `BarnabasError`, never a
bare `KafkaException`, so that `except BarnabasError` is always enough.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeGuard

from barnabas.model.errors import ErrorCode

if TYPE_CHECKING:
    from confluent_kafka import KafkaError, KafkaException


class BarnabasError(Exception):
    """The root of everything this package raises."""

    code: ErrorCode | None = None

    def __init__(self, message: str, code: ErrorCode | None = None) -> None:
        super().__init__(message)
        self.code = code


class CannotReach(BarnabasError):
    """Nobody answered at the bootstrap address, or what answered does not speak Kafka."""

    def __init__(self, address: str, reason: str) -> None:
        super().__init__(f"cannot reach {address}: {reason}")
        self.address = address
        self.reason = reason


class TimedOut(BarnabasError):
    """The cluster is there, but the answer did not come in time."""


class Refused(BarnabasError):
    """A broker understood the request and refused it; `code` says why."""


class UnknownTopic(Refused):
    """There is no such topic (or no such partition of it)."""


class TopicExists(Refused):
    """There is already a topic with this name."""


class UnknownGroup(Refused):
    """There is no such consumer group."""


class GroupNotEmpty(Refused):
    """The group has live members, so it can neither be reset nor deleted."""


class BadSetting(BarnabasError):
    """A setting that does not exist, or a value that it cannot have."""


class NotAllowed(Refused):
    """The principal may not do this."""


class DeliveryFailed(BarnabasError):
    """A record, or several, did not reach the log. `failures` counts them."""

    def __init__(self, message: str, code: ErrorCode | None = None, failures: int = 1) -> None:
        super().__init__(message, code)
        self.failures = failures


class DeliveryToUnknownTopic(DeliveryFailed, UnknownTopic):
    """A record was not delivered because its topic does not exist and the cluster does not create it."""


class DeliveryNotAllowed(DeliveryFailed, NotAllowed):
    """A record was not delivered because the principal may not write to its topic."""


class SerializationError(BarnabasError):
    """A key or value could not be turned into bytes; nothing was sent."""


class DeserializationError(BarnabasError):
    """A record that was read could not be turned into a key or value. It knows its place, and keeps the bytes."""

    def __init__(self, topic: str, partition: int, offset: int, part: str, reason: str, data: bytes | None) -> None:
        super().__init__(f"{topic}-{partition} at offset {offset}: the {part} is not readable: {reason}")
        self.topic = topic
        self.partition = partition
        self.offset = offset
        self.part = part
        self.reason = reason
        self.data = data


class RegistryError(BarnabasError):
    """A schema registry understood the request and refused it. `status` is HTTP's, `error_code` the registry's: 409 for
    a schema that is not compatible, 40403 for one that it does not have."""

    def __init__(self, message: str, status: int, error_code: int) -> None:
        super().__init__(message)
        self.status = status
        self.error_code = error_code


class Closed(BarnabasError):
    """The producer or consumer was closed already."""


class UsedAfterFork(BarnabasError):
    """A client made before a fork was used in the child, where its threads do not exist."""


class TransactionAborted(BarnabasError):
    """A transaction could not be committed: none of it will ever be read. Doing it again is safe, and may succeed."""


class Fenced(Refused):
    """The cluster does not take this producer's writes any more. It cannot be used again; its successor can."""


_BY_CODE: dict[ErrorCode, type[BarnabasError]] = {
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION: UnknownTopic,
    ErrorCode.UNKNOWN_TOPIC_ID: UnknownTopic,
    ErrorCode.TOPIC_ALREADY_EXISTS: TopicExists,
    ErrorCode.GROUP_ID_NOT_FOUND: UnknownGroup,
    ErrorCode.NON_EMPTY_GROUP: GroupNotEmpty,
    ErrorCode.UNKNOWN_MEMBER_ID: GroupNotEmpty,  # how a broker refuses an outside commit to a group with members
    ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC: GroupNotEmpty,
    ErrorCode.INVALID_CONFIG: BadSetting,
    ErrorCode.REQUEST_TIMED_OUT: TimedOut,
    ErrorCode.TOPIC_AUTHORIZATION_FAILED: NotAllowed,
    ErrorCode.GROUP_AUTHORIZATION_FAILED: NotAllowed,
    ErrorCode.CLUSTER_AUTHORIZATION_FAILED: NotAllowed,
    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED: NotAllowed,
}

_LOCAL_CANNOT_REACH = frozenset({-195, -193, -187, -181, -169})  # transport, resolve, all down, ssl, authentication
_LOCAL_TIMED_OUT = frozenset({-192, -185, -180, -166})  # message, request, for a coordinator, request in queue
_LOCAL_UNKNOWN_TOPIC = frozenset({-188, -190})  # topic, partition
_LOCAL_BAD_SETTING = frozenset({-186})
_LOCAL_FENCED = -144
FENCED_WHY = (
    "fenced: a newer producer with the same transactional id has taken over, or a transaction stayed open longer than "
    "its timeout. This one may not write any more; make a new Producer"
)


def cause_of(error: KafkaException | Exception) -> KafkaError | None:
    """The KafkaError inside a KafkaException; None for any other exception."""
    argument: object = error.args[0] if error.args else None
    return argument if _is_kafka_error(argument) else None


def _is_kafka_error(found: object) -> TypeGuard[KafkaError]:
    return hasattr(found, "code") and hasattr(found, "retriable")


def translate(error: KafkaException | KafkaError | Exception, doing: str, address: str = "") -> BarnabasError:
    """One of ours for one of librdkafka's. `doing` opens the line: "create topic 'orders'"."""
    if isinstance(error, BarnabasError):
        return error
    inner = cause_of(error) if isinstance(error, Exception) else error
    if inner is None:
        return BarnabasError(f"{doing}: {error}")
    number = inner.code()
    reason = _reason(inner)
    if number in _LOCAL_CANNOT_REACH:
        return CannotReach(address or "the cluster", f"{doing}: {reason}")
    if number in _LOCAL_TIMED_OUT:
        where = f" (asked {address})" if address else ""
        return TimedOut(f"{doing}: no answer in time{where}")
    if number in _LOCAL_UNKNOWN_TOPIC:
        return UnknownTopic(f"{doing}: {reason}", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if number in _LOCAL_BAD_SETTING:
        return BadSetting(f"{doing}: {reason}")
    if number in (_LOCAL_FENCED, ErrorCode.PRODUCER_FENCED):
        return Fenced(f"{doing}: {FENCED_WHY}", ErrorCode.PRODUCER_FENCED)
    if number < -1 or number == 0:
        return BarnabasError(f"{doing}: {reason}")
    try:
        code = ErrorCode(number)
    except ValueError:
        return Refused(f"{doing}: {reason}")
    return _BY_CODE.get(code, Refused)(f"{doing}: {reason}", code)


def _reason(error: KafkaError) -> str:
    """librdkafka's text without its "Broker: " and "Local: " prefixes, in lower case as the rest of the line."""
    text = error.str() or error.name()
    for prefix in ("Broker: ", "Local: "):
        text = text.removeprefix(prefix)
    return text[:1].lower() + text[1:] if text[1:2].islower() else text
