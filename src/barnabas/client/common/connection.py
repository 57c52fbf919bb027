"""How each client connects to the cluster: its librdkafka settings, its log, and a check that a broker answers.

librdkafka connects in the background and retries for ever, which is right for a service and baffling for a person who
mistyped an address. So each client checks when it is made, within `connect_timeout` seconds, that something at its
bootstrap address speaks Kafka; later outages are waited out as usual. `connect_timeout=None` skips the check.

librdkafka's log goes to the Python logger `barnabas.client`, which has no handler of its own: nothing reaches stderr
unless the program asks for it.
"""

from __future__ import annotations

import inspect
import logging
import os
import re
import socket
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from confluent_kafka import KafkaError, KafkaException

from barnabas.client.common.rdkafka import Reachable
from barnabas.client.common.setting_names import in_our_words, suggestion
from barnabas.client.errors import BadSetting, CannotReach

DEFAULT_BOOTSTRAP = "127.0.0.1:9092"
DEFAULT_PORT = 9092
CONNECT_TIMEOUT_S = 5.0
PROBE_TIMEOUT_S = 2.0  # one address; a host that drops packets must not eat the whole time of the others
RETRY_S = 0.1
ASK_SLICE_S = 0.01
ASK_S = 0.3
_PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_NO_SUCH_PROPERTY = re.compile(r'No such configuration property: "([^"]*)"')

V = TypeVar("V")

logger = logging.getLogger("barnabas.client")
logger.addHandler(logging.NullHandler())
logger.propagate = True
logging.getLogger("barnabas").addHandler(logging.NullHandler())


def bootstrap_or_default(bootstrap: str | None) -> str:
    """What was given, else BARNABAS_BOOTSTRAP from the environment (as the command line has it), else this machine."""
    if bootstrap is None:
        return os.environ.get("BARNABAS_BOOTSTRAP") or DEFAULT_BOOTSTRAP
    if not isinstance(bootstrap, str):
        raise BadSetting(f'bootstrap is one text, "host:port" or "host:port,host:port", not {bootstrap!r}')
    addresses(bootstrap)
    return bootstrap


class Troubles:
    """Remembers what librdkafka complained about last, and of a login, to give the reason when a wait runs out."""

    def __init__(self) -> None:
        self.last = ""
        self.refused_login = ""

    def __call__(self, error: KafkaError) -> None:
        if error.code() == KafkaError._AUTHENTICATION:
            self.refused_login = error.str()
        self.note(error.str())

    def note(self, text: str) -> None:
        self.last = text
        logger.warning("%s", text)


def librdkafka_settings(
    bootstrap: str, ours: Mapping[str, object], config: Mapping[str, object] | None, extra: Mapping[str, object]
) -> dict[str, object]:
    """Ours first, then `config` by librdkafka's names, then keywords with _ for the dot; the later wins."""
    settings: dict[str, object] = {
        "bootstrap.servers": bootstrap,
        "client.id": "barnabas",
        "logger": logger,
        "topic.metadata.refresh.interval.ms": 30_000,  # a topic that grew is seen within half a minute, not five
        "reconnect.backoff.max.ms": 1_000,  # librdkafka's 10 s make a restarted node look dead for long
    }
    settings.update(ours)
    settings.update(config or {})
    settings.update({name.replace("_", "."): value for name, value in extra.items()})
    return with_profile(bootstrap, settings)


def with_profile(bootstrap: str, settings: Mapping[str, V]) -> dict[str, V | str]:
    """The settings, and under them those of the client profile for this cluster (profile.py); whoever names a
    security.protocol has said how to connect."""
    from barnabas.client.common.kafka_names import TOKEN_LOGIN
    from barnabas.client.common.profile import profile_for

    if "security.protocol" in settings:
        return dict(settings)
    profile = profile_for(addresses(bootstrap))
    if TOKEN_LOGIN in profile:
        raise BadSetting("librdkafka cannot log in with a delegation token (tokenauth): use a Java client, or a user")
    return {**profile, **settings}


def open_handle(
    kind: Callable[..., object], settings: dict[str, object], doing: str, owner: type | None = None
) -> Any:  # whoever opens one declares which protocol of rdkafka.py it is
    """Makes the librdkafka object; a setting it does not know or accept becomes one clear line, and an unknown one
    comes with the name it resembles, among those of librdkafka and the keyword arguments of `owner`."""
    try:
        return kind(settings)
    except KafkaException as error:
        reason = error.args[0].str()
        if (unknown := _NO_SUCH_PROPERTY.search(reason)) is not None:
            options = [] if owner is None else list(inspect.signature(owner).parameters)
            raise BadSetting(f"{doing}: there is no setting {unknown[1]!r}{suggestion(unknown[1], options)}") from None
        raise BadSetting(f"{doing}: {in_our_words(reason)}") from None
    except (TypeError, ValueError) as error:
        raise BadSetting(f"{doing}: {error}") from None


def addresses(bootstrap: str) -> list[tuple[str, int]]:
    """`host`, `host:port`, `[v6]:port`, `PLAINTEXT://host:port`, several with commas."""
    found = []
    for item in bootstrap.split(","):
        scheme, _, text = item.strip().rpartition("://")
        if scheme and scheme.upper() not in _PROTOCOLS:
            raise BadSetting(f"bootstrap {bootstrap!r}: leave out {scheme}://, it is host:port alone")
        if not text:
            continue
        host, colon, port = text.rpartition(":")
        if not colon or (":" in host and not host.endswith("]")):
            host, port = text, str(DEFAULT_PORT)
        if not port.isdigit() or not 0 < int(port) < 65_536:
            raise BadSetting(f"bootstrap {bootstrap!r}: {port!r} is not a port")
        found.append((host.strip("[]"), int(port)))
    if not found:
        raise BadSetting("bootstrap is empty: give host:port of a node")
    return found


def ensure_reachable(
    handle: Reachable, bootstrap: str, timeout_s: float, troubles: Troubles, settings: Mapping[str, object]
) -> None:
    """Returns when the cluster has answered; raises CannotReach after `timeout_s` seconds at the latest, and at once
    when it refuses the login. `settings` are those of the handle."""
    deadline = time.monotonic() + timeout_s
    ensure_listening(bootstrap, timeout_s)
    if not _answers(handle, max(1.0, deadline - time.monotonic()), troubles):
        from barnabas.client.common.unreachable import why_silent

        reason = why_silent(addresses(bootstrap), settings, troubles.refused_login, troubles.last)
        raise CannotReach(bootstrap, reason)


def ensure_listening(bootstrap: str, timeout_s: float) -> None:
    """Returns when something takes connections at one of the addresses; raises CannotReach after `timeout_s`."""
    targets = addresses(bootstrap)
    deadline = time.monotonic() + timeout_s
    while True:
        reasons = []
        for host, port in targets:
            left = max(0.05, min(PROBE_TIMEOUT_S, deadline - time.monotonic()))
            try:
                socket.create_connection((host, port), timeout=left).close()
                return
            except OSError as error:
                reasons.append(_socket_reason(error))
        if time.monotonic() + RETRY_S >= deadline:
            raise CannotReach(bootstrap, f"{'; '.join(dict.fromkeys(reasons))}. Is a node up? Try: barnabas up")
        time.sleep(RETRY_S)


def _answers(handle: Reachable, timeout_s: float, troubles: Troubles) -> bool:
    """The cluster id costs nothing when librdkafka is connected already; when it is not, asking for metadata makes it
    connect, where waiting for the id would wait for its next idle second.

    Complaints are kept until somebody polls. A refused login ends the wait: librdkafka would go on trying, and a node
    answers later and later to whoever does that."""
    deadline = time.monotonic() + timeout_s
    while (left := deadline - time.monotonic()) > 0 and not troubles.refused_login:
        try:
            handle.cluster_id(timeout=ASK_SLICE_S)
            return True
        except KafkaException:
            pass
        try:
            handle.list_topics(timeout=min(ASK_S, left))
            return True
        except KafkaException:
            handle.poll(0)
    return False


def _socket_reason(error: OSError) -> str:
    if isinstance(error, TimeoutError):
        return "no answer"
    if isinstance(error, socket.gaierror):
        return "the name does not resolve"
    return (error.strerror or str(error)).lower()
