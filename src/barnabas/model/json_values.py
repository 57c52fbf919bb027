"""JSON that others write: Spark's progress, a table's log, a state file of another process."""

from __future__ import annotations

from typing import Any, TypeAlias

# Its keys and their types are known to whoever reads it, and only to them; what has a fixed shape of ours is a struct.
Json: TypeAlias = Any
JsonObject: TypeAlias = dict[str, Json]
