"""A rule and a filter for rules, as Kafka's AclBinding and AclBindingFilter have them.

A rule is about resources of one name (LITERAL; the name `*` means every resource of the type) or about those whose
names begin so (PREFIXED). Numbers are those of model/access.py; a rule holds plain ints, as the metadata log does.
"""

from enum import IntEnum

from msgspec import Struct

from barnabas.model.access import AclOperation, AclPermission, AclResourceType, PatternType

_ANY = 1  # in all four of the enums
_LITERAL, _PREFIXED, _MATCH = int(PatternType.LITERAL), int(PatternType.PREFIXED), int(PatternType.MATCH)


class AclBinding(Struct, frozen=True):
    resource_type: int
    resource_name: str
    pattern_type: int
    principal: str  # "User:alice", "User:*" for everybody
    host: str  # an address, or "*"
    operation: int
    permission: int

    @property
    def resource(self) -> tuple[int, int, str]:
        return self.resource_type, self.pattern_type, self.resource_name

    def __str__(self) -> str:
        pattern = "" if self.pattern_type == _LITERAL else f" ({name_of(PatternType, self.pattern_type)})"
        host = "" if self.host == "*" else f" from {self.host}"
        verb, operation = name_of(AclPermission, self.permission), name_of(AclOperation, self.operation)
        kind = name_of(AclResourceType, self.resource_type)
        return f"{verb} {self.principal}{host} {operation} on {kind} {self.resource_name!r}{pattern}"


def name_of(numbers: type[IntEnum], number: int) -> str:
    """As Kafka writes it; a number that this release does not know stays a number."""
    try:
        return numbers(number).name
    except ValueError:
        return str(number)


class AclFilter(Struct, frozen=True):
    """None stands for any name, principal or host."""

    resource_type: int = _ANY
    resource_name: str | None = None
    pattern_type: int = _ANY
    principal: str | None = None
    host: str | None = None
    operation: int = _ANY
    permission: int = _ANY

    @property
    def exact_resource(self) -> tuple[int, int, str] | None:
        """The one resource it is about, where it names one: its rules are found without a look at all others."""
        if self.resource_type == _ANY or self.pattern_type not in (_LITERAL, _PREFIXED) or self.resource_name is None:
            return None
        return self.resource_type, self.pattern_type, self.resource_name

    def matches(self, rule: AclBinding) -> bool:
        return (
            (self.resource_type == _ANY or self.resource_type == rule.resource_type)
            and (self.principal is None or self.principal == rule.principal)
            and (self.host is None or self.host == rule.host)
            and (self.operation == _ANY or self.operation == rule.operation)
            and (self.permission == _ANY or self.permission == rule.permission)
            and self._matches_pattern(rule)
        )

    def _matches_pattern(self, rule: AclBinding) -> bool:
        pattern, name = self.pattern_type, self.resource_name
        if pattern not in (_ANY, _MATCH) and pattern != rule.pattern_type:
            return False
        if name is None or name == rule.resource_name:
            return True
        if pattern != _MATCH:
            return False
        if rule.pattern_type == _PREFIXED:
            return name.startswith(rule.resource_name)
        return rule.resource_name == "*"
