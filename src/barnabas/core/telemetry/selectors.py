"""Which clients a subscription is for: `match`, a list of KEY=PATTERN, all of which have to fit.

The patterns are RE2's, not Java's: a client chooses what is compared with them, and RE2's time is linear. A pattern
that only Java knows (it looks ahead or back) is refused where a subscription is made.
"""

from collections.abc import Mapping
from functools import lru_cache

import re2

from barnabas.core.coordinator.pattern import Pattern
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.limits import TELEMETRY_PATTERN_MAX_BYTES, TELEMETRY_PATTERN_MAX_CHARS, TELEMETRY_SUBSCRIPTIONS_MAX

INSTANCE_ID, CLIENT_ID, SOFTWARE_NAME = "client_instance_id", "client_id", "client_software_name"
SOFTWARE_VERSION, SOURCE_ADDRESS, SOURCE_PORT = "client_software_version", "client_source_address", "client_source_port"
KEYS = frozenset({INSTANCE_ID, CLIENT_ID, SOFTWARE_NAME, SOFTWARE_VERSION, SOURCE_ADDRESS, SOURCE_PORT})

Match = Mapping[str, Pattern]
_KNOWN_MAX = 6 * TELEMETRY_SUBSCRIPTIONS_MAX


def parse_match(selectors: tuple[str, ...]) -> Match:
    """Raises INVALID_CONFIG with Kafka's words for what is no selector. Of a key that comes twice, the last counts."""
    return dict(_selector(selector) for selector in selectors)


@lru_cache(_KNOWN_MAX)
def _selector(selector: str) -> tuple[str, Pattern]:
    """Remembered, so that another subscription does not make the patterns of all of them anew."""
    parts = selector.rstrip("=").split("=")  # as Java splits: nothing behind the last sign does not count
    key = parts[0].strip()
    if len(parts) != 2 or key not in KEYS or len(selector) > TELEMETRY_PATTERN_MAX_CHARS:
        raise _illegal(selector)
    options = re2.Options()
    options.log_errors = False
    options.max_mem = TELEMETRY_PATTERN_MAX_BYTES
    try:
        pattern: Pattern = re2.compile(parts[1].strip(), options)
    except re2.error:
        raise _illegal(selector) from None
    return key, pattern


def fits(match: Match, client: Mapping[str, str]) -> bool:
    """Without selectors a subscription is for every client."""
    return all(pattern.fullmatch(client.get(key, "")) for key, pattern in match.items())


def _illegal(selector: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_CONFIG, f"Illegal client matching pattern: {selector[:200]}")
