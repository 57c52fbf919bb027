"""The options of a write about the value's schema; which schema it is, choosing.py says. A query without a registry
imports nothing of what that needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.registry.options import FORMATS, RegistryOptions, parse_registry, subject_of, version_of

if TYPE_CHECKING:
    from pyspark.sql.types import StructType

RECORD_COLUMNS = ("key", "headers", "topic", "partition")
NAMES = ("valueFormat", "valueColumn", "valueMessage")


@dataclass(frozen=True)
class SinkValue:
    """Travels to the executors. `columns` is the type of a value as JSON of Spark's StructType."""

    format: str
    schema: str | bytes = field(repr=False)  # Avro: the text; Protobuf: a descriptor set; JSON: none is needed
    prefix: bytes
    columns: str = field(repr=False)
    column: str | None = None  # the value's fields stand in this struct
    message: str = ""
    checked: tuple[RegistryOptions, int] | None = None  # JSON: rows are validated against the schema of this id


def sink_value(given: Mapping[str, str], rows: StructType, topic: str | None) -> SinkValue | None:
    """None when the column `value` is bytes or text."""
    options = {name.lower(): str(value) for name, value in given.items()}
    registry = parse_registry(options)
    form = options.get("valueformat", "").lower()
    if not form and registry is None:
        return None
    if form not in FORMATS or registry is None:
        raise PipelineError(
            f"to write values with a schema give registry and valueFormat, one of {', '.join(FORMATS)}; without both"
            " the column 'value' is written as it is"
        )
    from barnabas.pipelines.sink.values.choosing import Wanted, chosen

    column = options.get("valuecolumn") or None
    wanted = Wanted(form, subject_of(options, topic), version_of(options), options.get("valuemessage"))
    return chosen(registry, wanted, rows, column)
