"""Quotas of users, client ids and addresses: list, set, remove; and which of them make clients wait."""

from __future__ import annotations

from collections.abc import Mapping
from ipaddress import ip_address
from typing import TYPE_CHECKING

import msgspec

from barnabas.console.pages.access.asking import check, written_rightly
from barnabas.console.problems import Problem
from barnabas.console.web.calls import Call, Route
from barnabas.operate.access.quotas import SHOWN, amount
from barnabas.wire.apis import ALTER_CLIENT_QUOTAS, DESCRIBE_CLIENT_QUOTAS

if TYPE_CHECKING:
    from barnabas.wire.messages import AlterClientQuotasResponse, DescribeClientQuotasResponse

_KINDS = ("user", "client-id", "ip")
_OF_ADDRESSES = "connection_creation_rate"


class _Quotas(msgspec.Struct):
    """`entity`: of user, client-id, ip; null is the default of its kind. `values`: as people write them, by Kafka's
    keys; null removes one."""

    entity: dict[str, str | None]
    values: dict[str, str | None]


async def list_quotas(call: Call) -> object:
    answer: DescribeClientQuotasResponse = await call.nodes.ask_any(
        DESCRIBE_CLIENT_QUOTAS, {"components": [], "strict": False}
    )
    check(answer.error_code, "the quotas are not listed", answer.error_message)
    return [
        {
            "entity": {part.entity_type: part.entity_name for part in entry.entity},
            "values": {each.key: each.value for each in entry.values},
        }
        for entry in answer.entries or ()
    ]


async def throttled(call: Call) -> object:
    """Which rules make clients wait; `rows` is null where no node serves metrics to this person."""
    found = call.connection.metrics.throttled
    return {"rows": None if found is None else [each._asdict() for each in found]}


async def change(call: Call) -> object:
    asked = await call.body(_Quotas)
    _check_entity(asked.entity)
    if not asked.values:
        raise Problem("which quota?", f"There are {', '.join(SHOWN.values())}.")
    ops = []
    for key, text in asked.values.items():
        if key not in SHOWN:
            raise Problem(f"there is no quota {key[:100]!r}", f"There are {', '.join(SHOWN)}.")
        if ("ip" in asked.entity) != (key == _OF_ADDRESSES):
            raise Problem("the rate of connections is the quota of an address, and its only one")
        with written_rightly():
            ops.append({"key": key, "value": 0.0 if text is None else amount(key, text), "remove": text is None})
    call.names += [_who(asked.entity), *(f"{key}={text or 'none'}" for key, text in asked.values.items())]
    parts = [{"entity_type": kind, "entity_name": name} for kind, name in asked.entity.items()]
    body = {"entries": [{"entity": parts, "ops": ops}], "validate_only": False}
    answer: AlterClientQuotasResponse = await call.nodes.ask_any(ALTER_CLIENT_QUOTAS, body)
    for entry in answer.entries:
        check(entry.error_code, "the quotas were not changed", entry.error_message)
    return {}


def _check_entity(entity: Mapping[str, str | None]) -> None:
    if not entity or set(entity) - set(_KINDS) or any(name == "" for name in entity.values()):
        raise Problem("whose quota?", "Name a user, a client id or an address, or the default of one.")
    if "ip" in entity:
        if len(entity) > 1:
            raise Problem("an address has its quota whoever connects from it", "Name the address alone.")
        if (address := entity["ip"]) is not None:
            try:
                ip_address(address)
            except ValueError:
                raise Problem(f"{address[:100]!r} is no address", "Write it as 10.0.0.7 or 2001:db8::7.") from None


def _who(entity: Mapping[str, str | None]) -> str:
    return ", ".join(f"{kind} {name or '(default)'}" for kind, name in entity.items())[:200]


ROUTES = [
    Route("GET", "/access/quotas", list_quotas),
    Route("GET", "/access/throttled", throttled),
    Route("PUT", "/access/quotas", change, change="change quotas"),
]
