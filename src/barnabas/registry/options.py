"""What a registry is started with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from barnabas.client.common.connection import addresses

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8081
DEFAULT_TOPIC = "_schemas"


class Problem(Exception):
    """Why a registry does not start, in one line, with the way out."""

    def __init__(self, message: str, way_out: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.way_out = way_out


@dataclass(frozen=True, slots=True)
class RegistryOptions:
    """`settings`: how to connect to the cluster, by librdkafka's names."""

    bootstrap: str
    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    topic: str = DEFAULT_TOPIC
    address: str | None = None  # where other instances reach this one; None: host and port
    certificate: str | None = None
    key: str | None = None
    ca: str | None = None  # who signs the certificates of other instances
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)

    @property
    def addresses(self) -> list[tuple[str, int]]:
        return addresses(self.bootstrap)

    @property
    def scheme(self) -> str:
        return "https" if self.certificate else "http"

    def check(self) -> None:
        if self.key is not None and self.certificate is None:
            raise Problem("--key without --certificate", "Name both, or the certificate alone if it has the key.")
