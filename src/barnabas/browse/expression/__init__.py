"""A small language for filters, made after jq's paths: `.user.name == "ada" and .items[].price > 10`.

    test = compiled('.level in ["warn", "error"] and not headers["source"] == "test"')
    test(Subject(partition, offset, timestamp, key, value, headers))

The grammar is in parser.py, what a test means in compiling.py. Nothing is evaluated but closures of ours.
"""

from barnabas.browse.expression.compiling import Test, compiled, compiled_decoded
from barnabas.browse.expression.masking import MASK, mask, masked_paths
from barnabas.browse.expression.subject import Subject
from barnabas.browse.expression.tokens import BadExpression

__all__ = ["MASK", "BadExpression", "Subject", "Test", "compiled", "compiled_decoded", "mask", "masked_paths"]
