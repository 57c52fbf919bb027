"""A registry's login and certificates from the client profile (client/common/profile.py), for commands and programs
that name only its address.

    [orders]
    bootstrap = "kafka-1.example.org:9092"
    schema.registry.url = "https://registry.example.org:8081"
    schema.registry.basic.auth.user.info = "alice:..."
    schema.registry.ssl.ca.location = "/etc/ssl/orders.pem"

The table with that address counts; a file of properties is for one registry, and counts whatever address it names, or
none. `basic.auth.*` and `bearer.auth.*` need no prefix, as in Confluent's files.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from pathlib import Path

from barnabas.client.common.local_profiles import config_folder
from barnabas.client.common.profile import VARIABLE, flat
from barnabas.client.errors import BadSetting
from barnabas.client.serde.registry.settings import NAMES, PREFIX
from barnabas.model.properties import parse_properties

_WITHOUT_PREFIX = ("basic.auth.", "bearer.auth.")


def settings_for(addresses: set[str]) -> dict[str, object]:
    """What the profile says of a registry at one of these addresses, without its url."""
    given = os.environ.get(VARIABLE)
    path = Path(given).expanduser() if given else config_folder() / "client.toml"
    try:
        text = path.read_text()
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise BadSetting(f"the client profile {path} cannot be read: {error}") from None
    if path.suffix != ".toml":
        return _of_registry({name: value for name, value, _ in parse_properties(text)})
    try:
        tables = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise BadSetting(f"the client profile {path}: {error}") from None
    for table in tables.values():
        settings = dict(flat("", table)) if isinstance(table, dict) else {}
        named = {each.strip().rstrip("/") for each in settings.get(f"{PREFIX}url", "").split(",")}
        if named & addresses:
            return _of_registry(settings)
    return {}


def _of_registry(settings: Mapping[str, str]) -> dict[str, object]:
    found: dict[str, object] = {}
    for name, value in settings.items():
        short = name.removeprefix(PREFIX)
        if (name.startswith(PREFIX) or name.startswith(_WITHOUT_PREFIX)) and short in NAMES and short != "url":
            found[short] = value
    return found
