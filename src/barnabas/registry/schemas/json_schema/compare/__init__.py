"""Whether all that a writer's JSON Schema accepts, a reader's accepts, too; the kinds and paths are those of
Confluent's SchemaDiff.

The writer's schema is a list of facts, all of which hold of any data: the schema itself, what it refers to, the parts
of its allOf, and within a case of anyOf or oneOf that case. A part of the reader's schema is met if the facts imply it.
What cannot be shown to be implied is refused. Confluent's rules are the measure in what they refuse; beyond them is
refused what they pass over though data shows the difference: `required` of a property that has no schema, `const`,
`contains`, `patternProperties`, `propertyNames`, `if`, and a type where there was none.

Two rules are Confluent's though a validator would refuse: a property that becomes required is accepted if it has a
default, and data may match several schemas of a oneOf that became longer.

comparison.py  facts, parts, cases of anyOf and oneOf, recursion
values.py      types, enums, strings, numbers
members.py     objects
items.py       arrays
found.py       what was found, and where
"""

from barnabas.registry.schemas.json_schema.compare.comparison import Comparison

__all__ = ["Comparison"]
