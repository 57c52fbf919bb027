"""How quotas are written on the command line: who (an entity), how much (1MB/s, 50%, 10/s), and back."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.cli.common.failure import usage
from barnabas.operate.access import quotas
from barnabas.operate.access.quotas import BYTE_RATES, SHOWN, byte_rate, unit_of
from barnabas.operate.unusable import Unusable

__all__ = ["SHOWN", "amount", "entity", "shown", "who"]


def amount(key: str, text: str) -> float:
    try:
        return quotas.amount(key, text)
    except Unusable as problem:
        way_out = problem.way_out.replace("Write it as", f"Write it as --{SHOWN[key]}")
        if "Remove" in way_out:
            way_out = "Remove one with: barnabas quota remove"
        raise usage(f"--{SHOWN[key]} {problem.message}", way_out) from None


def shown(key: str, value: float, of: float | None = None) -> str:
    """As it was set; `of`: the quota that what was measured belongs to."""
    if key in BYTE_RATES:
        return byte_rate(value, None if of is None else unit_of(of))
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
