"""`kafka.*` options as librdkafka's settings: Java's names are taken, so that a query of the connector moves unchanged.

Most names are the same. Those that differ are the ones around keys and passwords: Java keeps a user and password in
`sasl.jaas.config`, and certificates in stores; librdkafka wants them plainly and reads PEM. A JKS store cannot be read
here and is refused with the command that turns it into PEM. What librdkafka does not know at all (settings of Java's
consumer such as `max.poll.records`) is left out.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from barnabas.link.sasl import MECHANISMS
from barnabas.pipelines.errors import PipelineError

_RENAMED = {
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "sasl.login.callback.handler.class": None,
    "sasl.client.callback.handler.class": None,
    "request.timeout.ms": "socket.timeout.ms",
}
_LEFT_OUT = {
    "max.poll.records", "fetch.max.wait.ms", "fetch.min.bytes", "max.partition.fetch.bytes", "receive.buffer.bytes",
    "send.buffer.bytes", "default.api.timeout.ms", "metadata.max.age.ms", "connections.max.idle.ms",
    "session.timeout.ms", "heartbeat.interval.ms", "max.poll.interval.ms", "client.dns.lookup", "check.crcs",
    "group.protocol", "ssl.protocol", "ssl.enabled.protocols", "ssl.truststore.type", "ssl.keystore.type",
    "exclude.internal.topics",
}  # fmt: skip
PLAIN = "plaintext"
_ONLY_LIBRDKAFKA = {"ssl.certificate.pem", "ssl.key.pem", "ssl.keystore.location", "ssl.engine.location"}


def librdkafka_settings_of(client: Mapping[str, str]) -> dict[str, str]:
    """The settings for every librdkafka handle of this read, apart from the bootstrap."""
    settings: dict[str, str] = {}
    for name, value in client.items():
        if name == "sasl.jaas.config":
            settings.update(_jaas(value))
        elif name in ("ssl.truststore.location", "ssl.keystore.location"):
            settings[_store(name, value, client)] = value
        elif name in ("ssl.truststore.password", "ssl.keystore.password"):
            continue  # a PEM file's password is ssl.key.password
        elif name in _LEFT_OUT:
            continue
        else:
            renamed = _RENAMED.get(name, name)
            if renamed is not None:
                settings[renamed] = value
    return settings


def is_spoken_here(settings: Mapping[str, str]) -> bool:
    """Whether our own fetcher can log in with these; librdkafka reads else (Kerberos, OAuth, keys not in files)."""
    protocol = settings.get("security.protocol", PLAIN).lower()
    mechanism = settings.get("sasl.mechanism", settings.get("sasl.mechanisms", "")).upper()
    if protocol.startswith("sasl") and not (mechanism in MECHANISMS and "sasl.username" in settings):
        return False
    return not (protocol.endswith("ssl") and _ONLY_LIBRDKAFKA & set(settings))


def _jaas(text: str) -> dict[str, str]:
    """`org...PlainLoginModule required username="u" password="p";` and the SCRAM module's likewise."""
    module = text.strip().split(None, 1)[0].rpartition(".")[2]
    pairs = dict(re.findall(r'(\w+)\s*=\s*"((?:[^"\\]|\\.)*)"', text))
    if module not in ("PlainLoginModule", "ScramLoginModule") or not {"username", "password"} <= set(pairs):
        raise PipelineError(
            f"kafka.sasl.jaas.config with {module or 'nothing'} cannot be used here: give kafka.sasl.mechanism and"
            " librdkafka's own settings, such as kafka.sasl.username and kafka.sasl.password"
        )
    return {"sasl.username": pairs["username"], "sasl.password": pairs["password"]}


def _store(name: str, path: str, client: Mapping[str, str]) -> str:
    kind = client.get(name.replace("location", "type"), "PEM" if path.endswith(".pem") else "JKS").upper()
    if name == "ssl.keystore.location" and kind in ("PKCS12", "PEM"):
        return "ssl.keystore.location" if kind == "PKCS12" else "ssl.certificate.location"
    if kind != "PEM":
        raise PipelineError(
            f"kafka.{name} is a {kind} store, which only Java reads: make it PEM (keytool -exportcert -rfc) and set"
            f" kafka.{name.replace('location', 'type')} to PEM"
        )
    return "ssl.ca.location"
