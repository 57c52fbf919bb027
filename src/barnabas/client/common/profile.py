"""How to log in at a cluster, kept in a file instead of in every command and program: a client profile.

Where it is looked for, the first one that has something for the address:

    BARNABAS_PROFILE                        a file: Kafka's client.properties as it is, or a TOML file as below
    ~/.config/barnabas/client.toml          a table for each cluster: bootstrap, and settings by Kafka's names
    ~/.config/barnabas/local/HOST_PORT      written by `barnabas up --secure`: where its admin's properties are

    [orders]
    bootstrap = "kafka-1.example.org:9092,kafka-2.example.org:9092"
    security.protocol = "SASL_SSL"
    sasl.mechanism = "SCRAM-SHA-512"
    sasl.username = "alice"
    sasl.password = "..."
    ssl.ca.location = "/etc/ssl/orders.pem"

A program that names a `security.protocol` itself is left alone. Files that others may read are used, with a warning.
"""

from __future__ import annotations

import logging
import os
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from barnabas.client.common.kafka_names import UnusableSetting, librdkafka_names
from barnabas.client.common.local_profiles import config_folder, local_file
from barnabas.client.errors import BadSetting
from barnabas.model.properties import parse_properties

log = logging.getLogger("barnabas.client")

VARIABLE = "BARNABAS_PROFILE"
_BOOTSTRAP = ("bootstrap", "bootstrap.servers")
_SECURITY = ("security.", "sasl.", "ssl.", "enable.ssl.", "https.")


class Profile(NamedTuple):
    settings: dict[str, str]  # of security, by librdkafka's names
    file: str  # where they stand; "" where nobody has written any down
    pointer: str  # the file that `up --secure` has left for this address, where it was that


def profile_for(addresses: Iterable[tuple[str, int]]) -> dict[str, str]:
    """The settings of security for a cluster, by librdkafka's names; empty where nobody has written any down."""
    return found_profile(addresses).settings


def found_profile(addresses: Iterable[tuple[str, int]]) -> Profile:
    wanted = [f"{host}:{port}" for host, port in addresses]
    given = os.environ.get(VARIABLE)
    if given:
        return Profile(_security(_from_file(Path(given).expanduser(), wanted, required=True), given), given, "")
    home = config_folder() / "client.toml"
    if home.exists() and (found := _from_file(home, wanted, required=False)):
        return Profile(_security(found, str(home)), str(home), "")
    for address in wanted:
        pointer = local_file(address)
        try:
            path = Path(pointer.read_text().strip())
            if path.exists():
                settings = _security(_from_file(path, wanted, required=True), str(path))
                return Profile(settings, str(path), str(pointer))
        except OSError:
            continue
    return Profile({}, "", "")


def _from_file(path: Path, wanted: list[str], *, required: bool) -> dict[str, str]:
    try:
        text = path.read_text()
        _warn_if_others_read(path)
    except (OSError, UnicodeDecodeError) as error:
        raise BadSetting(f"the client profile {path} cannot be read: {error}") from None
    if path.suffix != ".toml":
        return {name: value for name, value, _ in parse_properties(text)}
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadSetting(f"the client profile {path}: {error}") from None
    for name, table in tables.items():
        if not isinstance(table, dict):
            raise BadSetting(f"the client profile {path}: {name} stands outside of a table such as [orders]")
        settings = dict(flat("", table))
        told = next((settings[key] for key in _BOOTSTRAP if key in settings), "")
        if {each.strip() for each in told.split(",")} & set(wanted):
            return settings
    if isinstance(tables.get("default"), dict):
        return dict(flat("", tables["default"]))
    if required:
        raise BadSetting(
            f"the client profile {path} has no table whose bootstrap is {', '.join(wanted)}, and no [default]"
        )
    return {}


def flat(prefix: str, table: Mapping[str, object]) -> Iterable[tuple[str, str]]:
    """`security.protocol = "SSL"` in TOML is a table in a table; here it is one name again."""
    for key, value in table.items():
        if isinstance(value, dict):
            yield from flat(f"{prefix}{key}.", value)
        else:
            yield prefix + key, str(value).lower() if isinstance(value, bool) else str(value)


def _warn_if_others_read(path: Path) -> None:
    if path.stat().st_mode & 0o077:
        log.warning("others may read %s, which has secrets: chmod 600 %s", path, path)


def _security(settings: Mapping[str, str], where: str) -> dict[str, str]:
    """By librdkafka's names; what is not about security is left out."""
    try:
        return librdkafka_names({name: value for name, value in settings.items() if name.startswith(_SECURITY)})
    except UnusableSetting as error:
        raise BadSetting(f"{where}: {error}") from None
