"""JSON Schema: draft-04, -06, -07, 2019-09 and 2020-12.

node.py        a schema with its keywords, in one shape for all drafts
loader.py      from JSON to nodes: keywords checked, $ref resolved; keywords.py: what each keyword has to be
compare/       whether what one schema accepts another accepts, too
"""

from barnabas.registry.schemas.json_schema.schema import JsonSchema, parse

__all__ = ["JsonSchema", "parse"]
