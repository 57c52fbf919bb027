"""The settings of `replica.fetch.*`, as the fetchers of this node's followers use them."""

from typing import NamedTuple

from barnabas.model.settings import Settings


class FetchLimits(NamedTuple):
    """What the settings say about every fetch of a follower."""

    wait_ms: int
    min_bytes: int
    max_bytes: int
    partition_max_bytes: int
    timeout_ms: int
    backoff_seconds: float

    @classmethod
    def of(cls, settings: Settings) -> "FetchLimits":
        return cls(
            settings.int("replica.fetch.wait.max.ms"),
            settings.int("replica.fetch.min.bytes"),
            settings.int("replica.fetch.response.max.bytes"),
            settings.int("replica.fetch.max.bytes"),
            settings.int("replica.socket.timeout.ms"),
            settings.int("replica.fetch.backoff.ms") / 1000,
        )
