"""Avro.

types.py       what a schema is made of
parser.py      from text, with the rules of names, unions and references; defaults.py: those of defaults
writer.py      back to text: canonical and normalized
resolution.py  whether data of one schema can be read with another
"""

from barnabas.registry.schemas.avro.schema import AvroSchema, parse

__all__ = ["AvroSchema", "parse"]
