"""What a registry is started with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from barnabas.client.common.connection import addresses

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 8081
DEFAULT_TOPIC = "_schemas"
_LOOPBACK = ("127.0.0.1", "::1", "localhost")
_PASSWORDS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
_DEFAULT_MECHANISM = "SCRAM-SHA-512"


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

    @property
    def needs_login(self) -> bool:
        """Then users and rules of the cluster apply here as well."""
        return self.settings.get("security.protocol", "").upper().startswith("SASL_")

    @property
    def mechanism(self) -> str:
        """For passwords."""
        told = self.settings.get("sasl.mechanism", self.settings.get("sasl.mechanisms", "")).upper()
        return told if told in _PASSWORDS else _DEFAULT_MECHANISM

    def check(self) -> None:
        """Raises a Problem for what must not be served."""
        if self.host not in _LOOPBACK and self.needs_login and self.certificate is None:
            raise Problem(
                f"passwords would travel to {self.host} in plain text",
                "Give the registry a --certificate, or stay on 127.0.0.1 behind a proxy that has one.",
            )
        if self.host not in _LOOPBACK and self.settings.get("security.protocol", "").upper() == "SSL":
            raise Problem(
                f"the registry would let everybody on {self.host} use its own certificate, and has no users to ask for",
                "Log in at the cluster with SASL_SSL, or stay on 127.0.0.1.",
            )
        if self.address is not None and not self.address.startswith(("http://", "https://")):
            raise Problem(
                f"--address {self.address!r} is nothing that other instances can connect to",
                f"Write it as {self.scheme}://registry-1.example.org:{DEFAULT_PORT}.",
            )
        if self.key is not None and self.certificate is None:
            raise Problem("--key without --certificate", "Name both, or the certificate alone if it has the key.")
