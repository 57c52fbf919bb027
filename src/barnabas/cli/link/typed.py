"""What is typed for links, checked before any cluster is asked: wrong usage leaves with 2 and changes nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence

from barnabas.cli.common.failure import usage
from barnabas.core.cluster.name_patterns import NamePatterns
from barnabas.model.errors import KafkaError
from barnabas.model.ids import topic_name_problem

_COUNTED = re.compile(r"\{\d+,\d*\}")


def check_name(name: str) -> None:
    if (problem := topic_name_problem(name)) is not None:
        raise usage(f"link name {name!r}: {problem}")


def address(flag: str, text: str) -> str:
    """As nodes keep it, each with its port: people leave out 9092."""
    from barnabas.client.common.connection import addresses
    from barnabas.client.errors import BadSetting

    try:
        found = addresses(text)
    except BadSetting as problem:
        raise usage(f"{flag}: {problem}", f"Write it as {flag} east-1:9092.") from None
    return ",".join(f"[{host}]:{port}" if ":" in host else f"{host}:{port}" for host, port in found)


def patterns(flag: str, expressions: Sequence[str]) -> NamePatterns | None:
    """None: everything is wanted."""
    for each in expressions:
        if (counted := _COUNTED.search(each)) is not None:  # a link's settings are lists with commas
            raise usage(f"{flag}: {each!r} has {counted[0]}, and a comma ends an expression", "Write it without.")
        if not each.strip():
            raise usage(f"{flag} is empty", "Leave it out for all.")
    split = [part.strip() for each in expressions for part in each.split(",")]
    try:
        return NamePatterns.of(split, flag) if expressions else None
    except KafkaError as problem:
        raise usage(problem.message) from None


def byte_rate(flag: str, text: str) -> str:
    from barnabas.operate.access.quotas import amount
    from barnabas.operate.unusable import Unusable

    if text.strip() == "0":
        return "0"
    try:
        return str(int(amount("consumer_byte_rate", text)))
    except Unusable as error:
        raise usage(f"{flag}: {error}", "Write it as 10MB or 10MB/s; 0 is no limit.") from None
