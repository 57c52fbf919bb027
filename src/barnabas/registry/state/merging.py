"""Metadata and rules of a schema: what is sent, else what the version before had, between the defaults and the
overrides of the configuration."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar

from barnabas.registry.state.values import VERSION_PROPERTY, Config, Content, Metadata, Rule, RuleSet

Value = TypeVar("Value")


def merged(
    config: Config, metadata: Metadata | None, rule_set: RuleSet | None, before: Content | None
) -> tuple[Metadata | None, RuleSet | None]:
    if before is not None:
        metadata = before.metadata if metadata is None else metadata
        rule_set = before.rule_set if rule_set is None else rule_set
    metadata = _metadata(_metadata(config.default_metadata, metadata), config.override_metadata)
    rule_set = _rule_set(_rule_set(config.default_rule_set, rule_set), config.override_rule_set)
    return metadata, rule_set


def with_version(metadata: Metadata | None, version: int) -> Metadata:
    return _metadata(metadata, Metadata(properties={VERSION_PROPERTY: str(version)})) or Metadata()


def has_version(metadata: Metadata | None) -> bool:
    return metadata is not None and VERSION_PROPERTY in (metadata.properties or ())


def without_version(metadata: Metadata | None) -> Metadata | None:
    if metadata is None or not has_version(metadata):
        return metadata
    rest = {name: value for name, value in (metadata.properties or {}).items() if name != VERSION_PROPERTY}
    left = Metadata(metadata.tags, rest or None, metadata.sensitive)
    return None if left == Metadata() else left


def tidy(metadata: Metadata | None) -> Metadata | None:
    """In the order in which it is stored, so that equal ones are equal."""
    if metadata is None:
        return None
    return Metadata(
        {name: sorted(set(tags)) for name, tags in sorted(metadata.tags.items())} if metadata.tags else None,
        dict(sorted(metadata.properties.items())) if metadata.properties else None,
        sorted(set(metadata.sensitive)) if metadata.sensitive else None,
    )


def _metadata(old: Metadata | None, new: Metadata | None) -> Metadata | None:
    if old is None or new is None:
        return old if new is None else new
    return tidy(
        Metadata(
            _both(old.tags, new.tags),
            _both(old.properties, new.properties),
            [*(old.sensitive or ()), *(new.sensitive or ())],
        )
    )


def _both(old: dict[str, Value] | None, new: dict[str, Value] | None) -> dict[str, Value]:
    return {**(old or {}), **(new or {})}


def _rule_set(old: RuleSet | None, new: RuleSet | None) -> RuleSet | None:
    if old is None or new is None:
        return old if new is None else new
    return RuleSet(
        _rules(old.migration_rules, new.migration_rules),
        _rules(old.domain_rules, new.domain_rules),
        _rules(old.encoding_rules, new.encoding_rules),
        new.enable_at or old.enable_at,
    )


def _rules(old: Iterable[Rule] | None, new: Iterable[Rule] | None) -> list[Rule] | None:
    """A new rule replaces the old one of its name."""
    newer = list(new or ())
    named = {each.name for each in newer}
    return [*(each for each in old or () if each.name not in named), *newer] or None
