"""Which quota holds for a client: the rules of a cluster as one immutable value (KIP-13, 55, 124, 599, 612).

A rule is about an entity, which is a user, a client id, both, or an address; each of them by name or the default of its
kind (None). For each kind of quota the first of these that has one decides:

| level | entity                         | who shares the quota            |
|-------|--------------------------------|---------------------------------|
| 1     | this user, this client id      | the user's clients of that id   |
| 2     | this user, default client id   | the user's clients of each id   |
| 3     | this user                      | all clients of the user         |
| 4     | default user, this client id   | each user's clients of that id  |
| 5     | default user, default client id| each user's clients of each id  |
| 6     | default user                   | all clients of each user        |
| 7     | this client id                 | all clients of that id          |
| 8     | default client id              | all clients of each id          |

A client that sends no id has the id "", and the defaults hold for it. (In Kafka rules for client ids pass over it.)

The metadata image holds one QuotaRules, which is another object whenever the rules are others.
"""

from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import NamedTuple

USER, CLIENT_ID, IP = "user", "client-id", "ip"
PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE = "producer_byte_rate", "consumer_byte_rate"
REQUEST_PERCENTAGE, CONTROLLER_MUTATION_RATE = "request_percentage", "controller_mutation_rate"
CONNECTION_CREATION_RATE = "connection_creation_rate"
CLIENT_KEYS = (PRODUCER_BYTE_RATE, CONSUMER_BYTE_RATE, REQUEST_PERCENTAGE, CONTROLLER_MUTATION_RATE)

Entity = tuple[tuple[str, str | None], ...]
"""(type, name) of each part, in the order of `entity`; None is the default of the type."""

_ORDER = (USER, CLIENT_ID, IP)
_NONE: Mapping[str, float] = MappingProxyType({})


def entity(parts: Mapping[str, str | None]) -> Entity:
    return tuple((kind, parts[kind]) for kind in _ORDER if kind in parts)


def entity_text(parts: Entity) -> str:
    """For people: `user=alice, default client-id`."""
    return ", ".join(f"default {kind}" if name is None else f"{kind}={name}" for kind, name in parts)


class Limit(NamedTuple):
    """The quota of one kind that holds for a client, and with whom it shares it: None stands for all of them."""

    value: float
    rule: Entity
    user: str | None
    client_id: str | None


class QuotaRules:
    __slots__ = ("by_entity", "limits_addresses", "limits_clients")

    def __init__(self, by_entity: Mapping[Entity, Mapping[str, float]] = MappingProxyType({})) -> None:
        self.by_entity = by_entity
        self.limits_addresses = any(parts[0][0] == IP for parts in by_entity)
        self.limits_clients = any(parts[0][0] != IP for parts in by_entity)

    def __len__(self) -> int:
        return len(self.by_entity)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, QuotaRules) and self.by_entity == other.by_entity

    def __repr__(self) -> str:
        return f"<quotas of {len(self)} entities>"

    __hash__ = None  # type: ignore[assignment]  # compared by what it holds, and never a key

    def of(self, parts: Entity) -> Mapping[str, float]:
        return self.by_entity.get(parts, _NONE)

    def limit(self, key: str, user: str, client_id: str) -> Limit | None:
        """The quota `key` of a client; None: it has none."""
        for parts, shared_user, shared_client in _levels(user, client_id):
            found = self.by_entity.get(parts)
            if found is not None and key in found:
                return Limit(found[key], parts, shared_user, shared_client)
        return None

    def connection_rate(self, address: str) -> float | None:
        """How many connections a second the address may open."""
        for name in (address, None):
            found = self.by_entity.get(((IP, name),))
            if found is not None and CONNECTION_CREATION_RATE in found:
                return found[CONNECTION_CREATION_RATE]
        return None

    def changed(self, changes: Mapping[Entity, Mapping[str, float | None]]) -> "QuotaRules":
        """The rules after some values were set and others (None) removed."""
        by_entity = dict(self.by_entity)
        for parts, values in changes.items():
            merged: dict[str, float] = dict(by_entity.get(parts, _NONE))
            for key, value in values.items():
                if value is None:
                    merged.pop(key, None)
                else:
                    merged[key] = value
            if merged:
                by_entity[parts] = merged
            else:
                by_entity.pop(parts, None)
        return QuotaRules(by_entity)


NO_QUOTAS = QuotaRules()


def _levels(user: str, client_id: str) -> Iterator[tuple[Entity, str | None, str | None]]:
    for name in (user, None):
        yield ((USER, name), (CLIENT_ID, client_id)), user, client_id
        yield ((USER, name), (CLIENT_ID, None)), user, client_id
        yield ((USER, name),), user, None
    yield ((CLIENT_ID, client_id),), None, client_id
    yield ((CLIENT_ID, None),), None, client_id
