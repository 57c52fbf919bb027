"""How quotas are written on the command line: who (an entity), how much (1MB/s, 50%, 10/s), and back."""

from __future__ import annotations

import re
from collections.abc import Mapping

from barnabas.cli.common import human
from barnabas.cli.common.failure import usage

UNITS = {"": 1, "b": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "kib": 2**10, "mib": 2**20, "gib": 2**30}
BYTE_RATES = ("producer_byte_rate", "consumer_byte_rate")
SHOWN = {
    "producer_byte_rate": "produce",
    "consumer_byte_rate": "fetch",
    "request_percentage": "requests",
    "controller_mutation_rate": "partitions",
    "connection_creation_rate": "connections",
}
_AMOUNT = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z%]*)(?:/s)?")


def amount(key: str, text: str) -> float:
    """`1MB/s`, `512KiB`, `50%`, `10/s`; a number alone is bytes or whatever is counted, a second."""
    match = _AMOUNT.fullmatch(text.strip().lower())
    unit = match[2] if match is not None else "?"
    if match is not None and key in BYTE_RATES and unit in UNITS:
        value = float(match[1]) * UNITS[unit]
    elif (match is not None and (unit == "%" if key == "request_percentage" else not unit)) or (match and unit == ""):
        value = float(match[1])
    else:
        example = "1MB/s" if key in BYTE_RATES else "50%" if key == "request_percentage" else "10/s"
        raise usage(f"--{SHOWN[key]} {text!r} is no amount", f"Write it as --{SHOWN[key]} {example}.")
    if not value > 0:
        raise usage(f"--{SHOWN[key]} {text!r}: a quota is more than 0", "Remove one with: barnabas quota remove")
    return value


def shown(key: str, value: float) -> str:
    if key in BYTE_RATES:
        return f"{human.size(value)}/s"
    return f"{value:g}%" if key == "request_percentage" else f"{value:g}/s"


def entity(
    user: str | None, client: str | None, ip: str | None, *, default: bool, default_client: bool, default_ip: bool
) -> dict[str, str | None]:
    """The parts of the entity that was named; None is the default of its kind."""
    parts: dict[str, str | None] = {}
    for kind, name, is_default, flag in (
        ("user", user, default, "--default"),
        ("client-id", client, default_client, "--default-client"),
        ("ip", ip, default_ip, "--default-ip"),
    ):
        if name is not None and is_default:
            raise usage(f"{kind} {name!r} and {flag} are two entities", "Say one of them.")
        if name is not None or is_default:
            parts[kind] = name
    if "ip" in parts and len(parts) > 1:
        raise usage("an address has its quota whoever connects from it", "Say --ip alone.")
    if not parts:
        raise usage("whose quota?", "Name a user, or say --client, --ip or --default.")
    return parts


def who(parts: Mapping[str, str | None]) -> str:
    """`alice`, `alice, client app`, `every user`, `address 10.0.0.7`."""
    words = []
    for kind, one, every in (
        ("user", "user {}", "every user"),
        ("client-id", "client {}", "every client id"),
        ("ip", "address {}", "every address"),
    ):
        if kind in parts:
            name = parts[kind]
            words.append(every if name is None else one.format(name))
    return ", ".join(words)
