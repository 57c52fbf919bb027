"""What DescribeClientQuotas asks for (KIP-546): parts that entities have to have, by name, as default, or at all.

A strict filter finds only entities that have no other parts. The words of the errors are Kafka's: tools print them.
"""

from collections.abc import Iterable
from enum import IntEnum
from typing import NamedTuple

from barnabas.core.access.quotas.rules import CLIENT_ID, IP, USER, Entity
from barnabas.model.errors import ErrorCode, KafkaError


class MatchType(IntEnum):
    EXACT = 0
    DEFAULT = 1
    SPECIFIED = 2


class Component(NamedTuple):
    entity_type: str
    match_type: int
    match: str | None


class QuotaFilter:
    __slots__ = ("_named", "_strict", "_typed")

    def __init__(self, components: Iterable[Component], strict: bool) -> None:
        """KafkaError for a filter that means nothing."""
        self._named: dict[str, str | None] = {}
        self._typed: set[str] = set()
        self._strict = strict
        for component in components:
            self._add(component)
        types = self._named.keys() | self._typed
        if IP in types and types & {USER, CLIENT_ID}:
            raise _invalid(
                "Invalid entity filter component combination. IP filter component should not be used with user or"
                " clientId filter component."
            )

    def _add(self, component: Component) -> None:
        kind, match_type, match = component
        if not kind:
            raise _invalid("Invalid empty entity type.")
        if kind in self._named or kind in self._typed:
            raise _invalid(f"Entity type {kind} cannot appear more than once in the filter.")
        if kind not in (USER, CLIENT_ID, IP):
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"Unsupported entity type {kind}")
        match match_type:
            case MatchType.EXACT:
                if match is None:
                    raise _invalid("Request specified MATCH_TYPE_EXACT, but set match string to null.")
                self._named[kind] = match
            case MatchType.DEFAULT:
                if match is not None:
                    raise _invalid("Request specified MATCH_TYPE_DEFAULT, but also specified a match string.")
                self._named[kind] = None
            case MatchType.SPECIFIED:
                if match is not None:
                    raise _invalid("Request specified MATCH_TYPE_SPECIFIED, but also specified a match string.")
                self._typed.add(kind)
            case _:
                raise _invalid(f"Unknown match type {match_type}")

    def matches(self, entity: Entity) -> bool:
        parts = dict(entity)
        if self._strict and len(parts) != len(self._named) + len(self._typed):
            return False
        return self._typed <= parts.keys() and all(
            kind in parts and parts[kind] == name for kind, name in self._named.items()
        )


def _invalid(why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, why)
