"""All rules of a cluster as one immutable value, found by resource and principal.

The metadata image holds one (core/cluster/image.py), and it is another object whenever the rules are others: who
remembers decisions compares that. A change copies the tables and touches only the resources it is about.

For a resource three kinds of rules count: those of its very name, those for `*`, and PREFIXED ones. For these each
length that a prefix has is tried once, so the number of rules does not matter.
"""

from collections.abc import Collection, Iterator, Mapping
from types import MappingProxyType

from barnabas.core.access.bindings import AclBinding, AclFilter
from barnabas.model.access import WILDCARD, PatternType

_LITERAL, _PREFIXED = int(PatternType.LITERAL), int(PatternType.PREFIXED)

ByPrincipal = Mapping[str, tuple[AclBinding, ...]]
_Resource = tuple[int, int, str]


class AclRules:
    __slots__ = ("_lengths", "_resources", "by_id", "ids")

    def __init__(self) -> None:
        """No rules."""
        self.by_id: Mapping[bytes, AclBinding] = MappingProxyType({})
        self.ids: Mapping[AclBinding, bytes] = MappingProxyType({})
        self._resources: Mapping[_Resource, ByPrincipal] = MappingProxyType({})
        self._lengths: Mapping[int, tuple[int, ...]] = MappingProxyType({})  # of prefixes, by type, the longest first

    def __len__(self) -> int:
        return len(self.by_id)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AclRules) and self.by_id == other.by_id

    def __repr__(self) -> str:
        return f"<{len(self)} rules>"

    __hash__ = None  # type: ignore[assignment]  # compared by what it holds, and never a key

    # --- questions ----------------------------------------------------------------------------------------------

    def about(self, resource_type: int, name: str) -> Iterator[ByPrincipal]:
        """The rules about a resource, by principal: a table for each pattern that there are rules of."""
        resources = self._resources
        for length in self._lengths.get(resource_type, ()):
            if length <= len(name):
                found = resources.get((resource_type, _PREFIXED, name[:length]))
                if found is not None:
                    yield found
        found = resources.get((resource_type, _LITERAL, name))
        if found is not None:
            yield found
        if name != WILDCARD:
            found = resources.get((resource_type, _LITERAL, WILDCARD))
            if found is not None:
                yield found

    def of_type(self, resource_type: int) -> Iterator[tuple[_Resource, ByPrincipal]]:
        for resource, found in self._resources.items():
            if resource[0] == resource_type:
                yield resource, found

    def candidates(self, wanted: AclFilter) -> Collection[AclBinding]:
        """Rules among which are all that the filter matches: few, where it names a resource."""
        resource = wanted.exact_resource
        if resource is None:
            return self.ids.keys()
        return [rule for rules in self._resources.get(resource, {}).values() for rule in rules]

    # --- change -------------------------------------------------------------------------------------------------

    def changed(self, added: Mapping[bytes, AclBinding], removed: Collection[bytes]) -> "AclRules":
        """The rules after the removal of some and the addition of others. An id in `removed` has to be there."""
        by_id, ids, resources = dict(self.by_id), dict(self.ids), dict(self._resources)
        touched: dict[_Resource, dict[str, list[AclBinding]]] = {}

        def draft(rule: AclBinding) -> list[AclBinding]:
            found = touched.get(rule.resource)
            if found is None:
                known = resources.get(rule.resource, {})
                found = touched[rule.resource] = {principal: list(rules) for principal, rules in known.items()}
            return found.setdefault(rule.principal, [])

        for rule_id in removed:
            rule = by_id.pop(rule_id)
            del ids[rule]
            draft(rule).remove(rule)
        for rule_id, rule in added.items():
            assert rule_id not in by_id and rule not in ids, f"a rule twice: {rule}"
            by_id[rule_id] = rule
            ids[rule] = rule_id
            draft(rule).append(rule)
        for resource, principals in touched.items():
            kept = {principal: tuple(rules) for principal, rules in principals.items() if rules}
            if kept:
                resources[resource] = kept
            else:
                resources.pop(resource, None)
        return self._made(by_id, ids, resources, any(pattern == _PREFIXED for _, pattern, _ in touched))

    def _made(
        self,
        by_id: dict[bytes, AclBinding],
        ids: dict[AclBinding, bytes],
        resources: dict[_Resource, ByPrincipal],
        prefixes_changed: bool,
    ) -> "AclRules":
        rules = AclRules()
        rules.by_id, rules.ids, rules._resources = by_id, ids, resources
        rules._lengths = _prefix_lengths(resources) if prefixes_changed else self._lengths
        return rules


def _prefix_lengths(resources: Mapping[_Resource, ByPrincipal]) -> dict[int, tuple[int, ...]]:
    found: dict[int, set[int]] = {}
    for resource_type, pattern, name in resources:
        if pattern == _PREFIXED:
            found.setdefault(resource_type, set()).add(len(name))
    return {resource_type: tuple(sorted(lengths, reverse=True)) for resource_type, lengths in found.items()}


NO_RULES = AclRules()
