"""The protocol's messages by name: `messages.JoinGroupRequest(group_id="a")` is what decoding such a request gives.

A class is made from its schema when it is first asked for, the same one that the codec uses (wire/codegen/read.py). The
stubs beside this file tell type checkers what there is, and have in addition a TypedDict (`JoinGroupRequestBody`) for
each dict that the codec encodes: a name for annotations only, which does not exist at run time.
"""

from functools import cache
from pathlib import Path

import msgspec

from barnabas.wire.codec import class_of


def __getattr__(name: str) -> type:
    place = _places().get(name)
    if place is None:
        raise AttributeError(f"no message or struct of the protocol is called {name}")
    file, kind, *path = place
    struct = class_of(kind, file)
    for field in path:
        struct = struct.nested[field]
    return struct.type


@cache
def _places() -> dict[str, list[str]]:
    """By name: the schema file, the kind (request, response, data), and the fields that lead to a struct inside it."""
    return msgspec.json.decode((Path(__file__).parent / "names.json").read_bytes(), type=dict[str, list[str]])
