"""Whether anybody can log in at a node, from its settings as DescribeConfigs tells them."""

from __future__ import annotations

from collections.abc import Mapping

_LISTENERS, _PROTOCOLS, _CONTROLLERS = "listeners", "listener.security.protocol.map", "controller.listener.names"
SETTINGS = (_LISTENERS, _PROTOCOLS, _CONTROLLERS)


def has_logins(settings: Mapping[str, str | None]) -> bool:
    """Whether one of the listeners for clients has SASL; True where the node does not tell its listeners."""
    listeners = _items(settings, _LISTENERS)
    protocols = dict(each.upper().split(":", 1) for each in _items(settings, _PROTOCOLS) if ":" in each)
    controllers = {each.upper() for each in _items(settings, _CONTROLLERS)}
    names = {each.partition("://")[0].upper() for each in listeners} - controllers
    return not listeners or any(protocols.get(name, name).startswith("SASL_") for name in names)


def _items(settings: Mapping[str, str | None], name: str) -> list[str]:
    return [each.strip() for each in (settings.get(name) or "").split(",") if each.strip()]
