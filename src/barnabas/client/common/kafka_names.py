"""Security settings by Kafka's (Java's) names become librdkafka's, so that a client.properties works as it is.

Most names are the same. Those that differ are the ones around keys and passwords: Java keeps a user and a password in
`sasl.jaas.config`, and certificates in stores; librdkafka wants them plainly and reads PEM. A store that only Java
reads is refused with the way to turn it into PEM.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from barnabas.model.errors import KafkaError

TOKEN_LOGIN = "sasl.tokenauth"  # ours: user and password are those of a delegation token, which librdkafka cannot use
_RENAMED = {
    "ssl.truststore.certificates": "ssl.ca.pem",
    "ssl.keystore.certificate.chain": "ssl.certificate.pem",
    "ssl.keystore.key": "ssl.key.pem",
    "sasl.mechanisms": "sasl.mechanism",
    "sasl.oauthbearer.client.credentials.client.id": "sasl.oauthbearer.client.id",
    "sasl.oauthbearer.client.credentials.client.secret": "sasl.oauthbearer.client.secret",
}
_TOKEN_URL, _METHOD = "sasl.oauthbearer.token.endpoint.url", "sasl.oauthbearer.method"
_OAUTH_OPTIONS = {  # of a JAAS line
    "clientId": "sasl.oauthbearer.client.id",
    "clientSecret": "sasl.oauthbearer.client.secret",
    "scope": "sasl.oauthbearer.scope",
}
_ONLY_JAVA = {
    "ssl.truststore.type", "ssl.keystore.type", "ssl.truststore.password", "ssl.keystore.password", "ssl.protocol",
    "ssl.enabled.protocols", "sasl.login.callback.handler.class", "sasl.client.callback.handler.class",
    "sasl.oauthbearer.jwt.retriever.class",
}  # fmt: skip
_SHADED = "kafkashaded."  # Databricks has Kafka's classes under that name
_PEM_ENDINGS, _PKCS12_ENDINGS = (".pem", ".crt", ".cer"), (".p12", ".pfx", ".pkcs12")


class UnusableSetting(Exception):
    """The text begins with the name of the setting, and does not show secrets."""


def librdkafka_names(settings: Mapping[str, str]) -> dict[str, str]:
    """Everything else is taken over as it is. UnusableSetting for what librdkafka cannot use."""
    found: dict[str, str] = {}
    for name, value in settings.items():
        if name == "sasl.jaas.config":
            found |= _user(value)
        elif name == "ssl.truststore.location":
            found["ssl.ca.location"] = _pem(name, value, settings)
        elif name == "ssl.keystore.location":
            found |= _own_certificate(name, value, settings)
        elif name == "ssl.endpoint.identification.algorithm" and not value:
            found[name] = "none"
        elif name not in _ONLY_JAVA:
            found[_RENAMED.get(name, name)] = value
    if _TOKEN_URL in found:
        found.setdefault(_METHOD, "oidc")  # what Java says by the class of a callback handler
    return found


def _user(line: str) -> dict[str, str]:
    """`org...PlainLoginModule required username="u" password="p";` and the SCRAM module's likewise."""
    from barnabas.model.settings.jaas import parse_jaas  # with all tables of settings, which few clients need

    try:
        entry = parse_jaas("sasl.jaas.config", line.strip().removeprefix(_SHADED))
    except KafkaError as error:
        raise UnusableSetting(error.message) from None
    if "OAUTHBEARER" in entry.mechanisms:
        return {theirs: entry.options[name] for name, theirs in _OAUTH_OPTIONS.items() if name in entry.options}
    if not {"username", "password"} <= set(entry.options):
        raise UnusableSetting(
            "sasl.jaas.config has no username and password: give sasl.mechanism and librdkafka's own settings, such as"
            " sasl.username and sasl.password"
        )
    token = {TOKEN_LOGIN: "true"} if entry.options.get("tokenauth", "").lower() == "true" else {}
    return {"sasl.username": entry.options["username"], "sasl.password": entry.options["password"], **token}


def _own_certificate(name: str, path: str, settings: Mapping[str, str]) -> dict[str, str]:
    if _kind(name, path, settings) == "PKCS12":
        found = {name: str(Path(path).expanduser())}
        return found | {key: value for key, value in settings.items() if key == "ssl.keystore.password"}
    file = _pem(name, path, settings)
    return {"ssl.certificate.location": file, "ssl.key.location": file}


def _pem(name: str, path: str, settings: Mapping[str, str]) -> str:
    kind = _kind(name, path, settings)
    if kind != "PEM":
        raise UnusableSetting(
            f"{name} is a {kind} store, which only Java reads: make it PEM (keytool -exportcert -rfc) and set"
            f" {name.replace('location', 'type')} to PEM"
        )
    return str(Path(path).expanduser())


def _kind(name: str, path: str, settings: Mapping[str, str]) -> str:
    """As it was said; else by what is in the file, where it is on this machine; else by its name."""
    told = settings.get(name.replace("location", "type"))
    if told:
        return told.upper()
    try:
        if b"-----BEGIN " in Path(path).expanduser().read_bytes():
            return "PEM"
    except OSError:
        if path.endswith(_PEM_ENDINGS):
            return "PEM"
    return "PKCS12" if path.endswith(_PKCS12_ENDINGS) else "JKS"
