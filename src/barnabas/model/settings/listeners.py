"""`listeners` and `advertised.listeners`: NAME://host:port, the protocol of each name looked up in
`listener.security.protocol.map` (KIP-103), an IPv6 host in brackets.

What a listener asks of whoever connects is in listener_security.py. Names in `controller.listener.names` belong to
the quorum; the node that is a cluster of one does not open them.
"""

import re
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from barnabas.model.errors import ErrorCode, KafkaError

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
_ENDPOINT = re.compile(r"([A-Za-z0-9_-]+)://(\[[0-9A-Fa-f:.%]*\]|[^:/\[\]]*):(-?[0-9]+)")


class Listener(NamedTuple):
    name: str
    protocol: str
    host: str  # "" = every address
    port: int


def protocol_map(text: str) -> dict[str, str]:
    """`NAME:PROTOCOL,...`; a protocol's own name maps to itself without being listed."""
    found = {protocol: protocol for protocol in PROTOCOLS}
    for item in filter(None, (part.strip() for part in text.split(","))):
        name, colon, protocol = item.partition(":")
        if not colon or protocol.strip().upper() not in PROTOCOLS:
            raise KafkaError(
                ErrorCode.INVALID_CONFIG,
                f"listener.security.protocol.map: {item!r} is not NAME:PROTOCOL with one of {', '.join(PROTOCOLS)}",
            )
        found[name.strip().upper()] = protocol.strip().upper()
    return found


def parse_listeners(setting: str, items: Iterable[str], protocols: Mapping[str, str]) -> list[Listener]:
    """Every endpoint of a list; a name or a port may stand there only once."""
    found: list[Listener] = []
    for item in items:
        match = _ENDPOINT.fullmatch(item.strip())
        if match is None or not 0 <= int(match[3]) <= 65535:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"{setting}: {item!r} is not NAME://host:port")
        name = match[1].upper()
        if name not in protocols:
            raise KafkaError(
                ErrorCode.INVALID_CONFIG,
                f"{setting}: no protocol for listener {name} in listener.security.protocol.map",
            )
        found.append(Listener(name, protocols[name], match[2].strip("[]"), int(match[3])))
    names = [listener.name for listener in found]
    if len(set(names)) < len(names):
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"{setting}: a listener name stands there twice")
    return found
