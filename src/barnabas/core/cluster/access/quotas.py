"""AlterClientQuotas (KIP-546): which records follow from it. The entries of a request fail or succeed one by one.

The words of the errors are Kafka's: kafka-configs prints them. Kafka takes the name of a host for an address as well
and looks it up; here it has to be an address, since nothing that waits for a name server may decide.
"""

from collections.abc import Mapping, Sequence
from ipaddress import ip_address
from typing import NamedTuple

from barnabas.core.access.quotas.rules import (
    CLIENT_ID,
    CLIENT_KEYS,
    CONNECTION_CREATION_RATE,
    CONSUMER_BYTE_RATE,
    IP,
    PRODUCER_BYTE_RATE,
    USER,
    Entity,
    QuotaRules,
    entity,
)
from barnabas.core.cluster.records import ClientQuota, Record
from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.limits import QUOTA_ENTITIES_MAX, QUOTA_NAME_MAX_CHARS

_INT_MAX, _LONG_MAX = 2**31 - 1, 2**63 - 1
_FRACTION = 1e-6


class QuotaAlteration(NamedTuple):
    """`parts` by their types; of `values` None removes."""

    parts: Mapping[str, str | None]
    values: Sequence[tuple[str, float | None]]


def alter(
    rules: QuotaRules, wanted: Sequence[QuotaAlteration]
) -> tuple[list[Record], list[tuple[QuotaAlteration, KafkaError | None]]]:
    """A result for each entity, in the order of the request: None is success."""
    records: list[Record] = []
    results: dict[tuple[tuple[str, str | None], ...], tuple[QuotaAlteration, KafkaError | None]] = {}
    new = 0
    for change in wanted:
        key = tuple(sorted(change.parts.items(), key=lambda part: part[0]))
        keys = [name for name, _ in change.values]
        if key in results or len(set(keys)) < len(keys):
            results[key] = change, _invalid(f"Ignoring duplicate entity {_java_text(change.parts)}")
            continue
        try:
            parts = _checked(change.parts)
            made = _records(rules, parts, change.values)
            if made and parts not in rules.by_entity and not made[0].remove:
                new += 1
                if len(rules) + new > QUOTA_ENTITIES_MAX:
                    reason = f"a cluster has quotas of at most {QUOTA_ENTITIES_MAX:,} entities"
                    raise KafkaError(ErrorCode.POLICY_VIOLATION, reason)
            records += made
            results[key] = change, None
        except KafkaError as error:
            results[key] = change, error
    return records, list(results.values())


def _checked(parts: Mapping[str, str | None]) -> Entity:
    if not parts:
        raise _invalid("Invalid empty client quota entity")
    for kind, name in parts.items():
        if kind not in (USER, CLIENT_ID, IP):
            raise _invalid(f"Unhandled client quota entity type: {kind}")
        if name == "":
            raise _invalid(f"Empty {kind} not supported")
        if name is not None and len(name) > QUOTA_NAME_MAX_CHARS:
            raise _invalid(f"a {kind} of more than {QUOTA_NAME_MAX_CHARS:,} characters")
    if IP not in parts:
        return entity(parts)
    if len(parts) > 1:
        raise _invalid("Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId")
    return ((IP, _address(parts[IP])),)


def _address(name: str | None) -> str | None:
    if name is None:
        return None
    try:
        return str(ip_address(name))
    except ValueError:
        raise _invalid(f"{name} is not a valid IP or resolvable host.") from None


def _records(rules: QuotaRules, parts: Entity, values: Sequence[tuple[str, float | None]]) -> list[ClientQuota]:
    known = rules.of(parts)
    keys = (CONNECTION_CREATION_RATE,) if parts[0][0] == IP else CLIENT_KEYS
    made: list[ClientQuota] = []
    for key, value in values:
        if value is None:
            if key in known:
                made.append(ClientQuota(entity=parts, key=key, value=0.0, remove=True))
            continue
        _check_value(keys, key, value)
        if known.get(key) != value:
            made.append(ClientQuota(entity=parts, key=key, value=value))
    return made


def _check_value(keys: Sequence[str], key: str, value: float) -> None:
    if key not in keys:
        raise _invalid(f"Invalid configuration key {key}")
    if not value > 0:  # nor is what is no number
        raise _invalid(f"Quota {key} must be greater than 0")
    if key == CONNECTION_CREATION_RATE and value > _INT_MAX:
        raise _invalid(f"Proposed value for {key} is too large for an INT.")
    if key in (PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE) and value > _LONG_MAX:
        raise _invalid(f"Proposed value for {key} is too large for a LONG.")
    if key in (PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE, CONNECTION_CREATION_RATE) and value % 1.0 > _FRACTION:
        raise _invalid(f"{key} cannot be a fractional value.")


def _java_text(parts: Mapping[str, str | None]) -> str:
    inner = ", ".join(f"{kind}={'null' if name is None else name}" for kind, name in parts.items())
    return f"ClientQuotaEntity(entries={{{inner}}})"


def _invalid(why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, why)
