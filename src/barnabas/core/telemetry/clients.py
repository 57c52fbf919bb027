"""The client instances that ask for their subscription and push: whether each request is taken, as in Kafka.

| request | refused with                                                                                |
|---------|---------------------------------------------------------------------------------------------|
| get     | THROTTLING_QUOTA_EXCEEDED before the interval is over, unless the last push was told to ask |
| push    | INVALID_REQUEST for an instance id that is none, and after a push that was the last one     |
|         | THROTTLING_QUOTA_EXCEEDED before the interval is over, unless it is the last one or the first after a get |
|         | UNKNOWN_SUBSCRIPTION_ID when the subscriptions have changed                                 |
|         | UNSUPPORTED_COMPRESSION_TYPE, TELEMETRY_TOO_LARGE                                           |

What is known of an instance begins anew when the subscriptions change. It is forgotten when the instance has missed
three pushes, when the connection it came on closes (the caller says so), or when there are too many: the one that was
silent longest.
"""

from collections.abc import Sequence
from typing import NamedTuple

from msgspec import Struct

from barnabas.core.telemetry.subscriptions import Subscribed, Subscription, subscribed
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.limits import TELEMETRY_CLIENTS_MAX

ZERO_ID, ONE_ID = bytes(16), bytes(15) + b"\1"
RESERVED_IDS = frozenset({ZERO_ID, ONE_ID})
MISSED_PUSHES = 3
FORGOTTEN_MS = 60_000  # not sooner than this, however short the interval
_CODECS = range(5)
_NEVER = -(1 << 60)
_MAY_ASK_AGAIN = (ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)


class Push(Struct, frozen=True):
    subscription_id: int
    terminating: bool
    compression_type: int
    size: int


class Compared(NamedTuple):
    """What came of comparing a client with all subscriptions."""

    subscriptions: Sequence[Subscription]
    fitting: Sequence[Subscription]


class Instance(Struct):
    subscribed: Subscribed
    subscriptions: object  # those it was made for
    last_get_ms: int = _NEVER
    last_push_ms: int = _NEVER
    seen_ms: int = 0
    source: object = None  # of its last request: the caller's
    terminating: bool = False
    last_error: ErrorCode = ErrorCode.NONE

    @property
    def forgotten_ms(self) -> int:
        return self.seen_ms + max(FORGOTTEN_MS, MISSED_PUSHES * self.subscribed.interval_ms)

    def takes_get(self, now_ms: int) -> bool:
        if now_ms - max(self.last_get_ms, self.last_push_ms) >= self.subscribed.interval_ms:
            self.last_get_ms = now_ms
            return True
        return self.last_error in _MAY_ASK_AGAIN

    def takes_push(self, now_ms: int) -> bool:
        """The first one after a get may come at any time: clients spread it over the interval."""
        first = self.last_get_ms > self.last_push_ms
        if first or now_ms - self.last_push_ms >= self.subscribed.interval_ms:
            self.last_push_ms = now_ms
            return True
        return False


class Clients:
    def __init__(self) -> None:
        self._instances: dict[bytes, Instance] = {}  # who was silent longest stands first
        self._subscriptions: Sequence[Subscription] = ()
        self.throttled = 0
        self.unknown_subscriptions = 0

    def __len__(self) -> int:
        return len(self._instances)

    def __contains__(self, instance_id: bytes) -> bool:
        return instance_id in self._instances

    def subscriptions_changed(self, subscriptions: Sequence[Subscription]) -> None:
        self._subscriptions = subscriptions

    def knows(self, instance_id: bytes) -> bool:
        """Else a request of it comes with what it was compared with."""
        instance = self._instances.get(instance_id)
        return instance is not None and instance.subscriptions is self._subscriptions

    def source(self, instance_id: bytes) -> object:
        """What its last request came on."""
        instance = self._instances.get(instance_id)
        return None if instance is None else instance.source

    def came_on(self, instance_id: bytes, source: object) -> None:
        instance = self._instances.get(instance_id)
        if instance is not None:
            instance.source = source

    def forget(self, instance_id: bytes) -> None:
        self._instances.pop(instance_id, None)

    def forget_silent(self, now_ms: int) -> None:
        for instance_id in [key for key, each in self._instances.items() if each.forgotten_ms <= now_ms]:
            del self._instances[instance_id]

    def get(self, instance_id: bytes, compared: Compared, now_ms: int) -> Subscribed:
        """`instance_id` is the client's, or a new one. Raises KafkaError."""
        instance = self._instance(instance_id, compared, now_ms)
        if not instance.takes_get(now_ms):
            self.throttled += 1
            raise KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, "asked before the push interval was over")
        instance.last_error = ErrorCode.NONE
        return instance.subscribed

    def push(self, instance_id: bytes, compared: Compared, push: Push, max_bytes: int, now_ms: int) -> Subscribed:
        """May its payload be read? Raises KafkaError if not."""
        if instance_id in RESERVED_IDS:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "no client instance id")
        instance = self._instance(instance_id, compared, now_ms)
        error = self._refusal(instance, push, max_bytes, now_ms)
        instance.terminating = push.terminating
        instance.last_error = ErrorCode.NONE if error is None else error.code
        if error is not None:
            raise error
        return instance.subscribed

    def failed(self, instance_id: bytes, code: ErrorCode) -> None:
        """The payload of its push could not be read."""
        instance = self._instances.get(instance_id)
        if instance is not None:
            instance.last_error = code

    def _refusal(self, instance: Instance, push: Push, max_bytes: int, now_ms: int) -> KafkaError | None:
        if instance.terminating:
            return KafkaError(ErrorCode.INVALID_REQUEST, "a push after the one that was said to be the last")
        if not instance.takes_push(now_ms) and not push.terminating:
            self.throttled += 1
            return KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, "pushed before the push interval was over")
        if push.subscription_id != instance.subscribed.subscription_id:
            self.unknown_subscriptions += 1
            return KafkaError(ErrorCode.UNKNOWN_SUBSCRIPTION_ID, "the subscriptions are others by now")
        if push.compression_type not in _CODECS:
            return KafkaError(
                ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"unknown compression type {push.compression_type}"
            )
        if push.size > max_bytes:
            return KafkaError(ErrorCode.TELEMETRY_TOO_LARGE, f"{push.size} bytes where {max_bytes} are allowed")
        return None

    def _instance(self, instance_id: bytes, compared: Compared, now_ms: int) -> Instance:
        known = self.knows(instance_id)
        instance = self._instances.pop(instance_id, None)
        if instance is None or not known:
            instance = Instance(subscribed(compared.fitting, instance_id), compared.subscriptions)
            while len(self._instances) >= TELEMETRY_CLIENTS_MAX:
                del self._instances[next(iter(self._instances))]
        instance.seen_ms = now_ms
        self._instances[instance_id] = instance
        return instance
