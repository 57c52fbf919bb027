"""What is called compatible a validator takes: data that fits the old schema fits the new one. What is refused has data
that does not."""

from __future__ import annotations

import json
import random
from typing import Any

import jsonschema_rs
from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.registry.schemas.json_schema import JsonSchema, parse
from barnabas.registry.schemas.parsed import InvalidSchema
from tests.unit.registry.schemas.json_schema.generated import Data, Generator

# Called compatible by Confluent's rules though a validator may refuse data:
#   SUM_TYPE_EXTENDED, COMBINED_TYPE_EXTENDED  data that fitted one schema of a oneOf may fit two of the new one
#   REQUIRED_ATTRIBUTE_WITH_DEFAULT_ADDED, REQUIRED_PROPERTY_WITH_DEFAULT_ADDED_TO_UNOPEN_CONTENT_MODEL
# Schemas here have no defaults, so what is left is oneOf.
#
# Refused though no data was found that shows it, by Confluent's rules, too, which compare keyword by keyword:
#   *_ADDED, *_INCREASED, *_DECREASED, *_NARROWED, *_REMOVED of a keyword that others imply (a pattern, a minLength),
#   TYPE_CHANGED and COMBINED_TYPE_SUBSCHEMAS_CHANGED of a schema that no data fits, or that several together cover,
#   NOT_TYPE_EXTENDED, and TYPE_CHANGED of `if`: what is behind `not` and `if` is not taken apart.
UNSHOWN_MAX = 0.25


def pair(rng: random.Random) -> tuple[Any, Any] | None:
    """A schema and the next version of it, unless chance made one that refers to itself only."""
    generator = Generator(rng)
    old = generator.schema()
    new = generator.changed(old)
    try:
        parsed(old), parsed(new)
    except InvalidSchema as error:
        assert "refers to itself" in str(error)
        return None
    return old, new


def parsed(schema: Any) -> JsonSchema:
    return parse(json.dumps(schema))


def refused(old: Any, new: Any, rng: random.Random) -> list[Any]:
    """Data that fits the old schema and not the new one; one value at most."""
    before, after = jsonschema_rs.validator_for(old), jsonschema_rs.validator_for(new)
    for value in (*Data(old, rng).values(80), *Data(new, rng).values(40)):
        if before.is_valid(value) and not after.is_valid(value):
            return [value]
    return []


@settings(max_examples=100)
@given(st.randoms(use_true_random=False))
def test_what_is_called_compatible_is_valid(rng: random.Random) -> None:
    made = pair(rng)
    if made is not None and "oneOf" not in json.dumps(made[1]) and not parsed(made[1]).unreadable(parsed(made[0])):
        assert refused(*made, rng) == []


def test_both_ways_on_a_thousand_pairs() -> None:
    compatible = incompatible = unshown = overlaps = 0
    for seed in range(1200):
        rng = random.Random(seed)
        made = pair(rng)
        if made is None:
            continue
        found = parsed(made[1]).unreadable(parsed(made[0]))
        shown = refused(*made, rng)
        if found:
            incompatible += 1
            unshown += not shown
        else:
            compatible += 1
            if shown:
                assert "oneOf" in json.dumps(made[1]), (made, shown)
                overlaps += 1
    assert compatible > 500
    assert incompatible > 200
    assert unshown <= UNSHOWN_MAX * incompatible
    assert overlaps <= 0.02 * compatible


def test_a_schema_is_compatible_with_itself() -> None:
    for seed in range(300):
        made = pair(random.Random(seed))
        if made is not None:
            # with another text, so that it is compared
            assert not parsed(made[0]).unreadable(parsed({**made[0], "title": "another"})), made[0]
