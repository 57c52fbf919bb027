"""`registry` without `valueFormat`: the column `value` is the JSON text of a record, whatever format it was written in.

For a query that reads JSON and is to read topics of Avro, Protobuf or JSON Schema as well: the pipelines that ship do.
A value that names no schema of the registry stays as it is.
"""

from __future__ import annotations

import os

import pyarrow as pa

from barnabas.client.errors import BadSetting, BarnabasError, RegistryError
from barnabas.client.serde.registry.framing import HEADER_NAMES
from barnabas.client.serde.registry.plain import plain_reader
from barnabas.client.serde.registry.serializer import NO_SCHEMA
from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.registry.client import registry_client
from barnabas.pipelines.registry.options import RegistryOptions
from barnabas.pipelines.source.decoding import Records
from barnabas.pipelines.source.record_headers import header_values

_HEADER = HEADER_NAMES["value"]
_KEPT_MAX = 16  # registries of one process; a query has one
_kept: dict[tuple[int, RegistryOptions], JsonTexts] = {}


def json_texts(options: RegistryOptions) -> JsonTexts:
    """One in a Python process: Spark keeps its workers, and a schema is asked for once in each."""
    key = (os.getpid(), options)
    if key not in _kept:
        if len(_kept) >= _KEPT_MAX:
            _kept.clear()
        _kept[key] = JsonTexts(options)
    return _kept[key]


class JsonTexts:
    def __init__(self, options: RegistryOptions) -> None:
        self._reader = plain_reader(registry_client(options))

    def values(self, records: Records) -> pa.Array:
        values = records.values()
        headers = header_values(records, _HEADER)
        framed = records.value_sizes > 0
        framed[framed] = records.buffer[records.value_starts[framed]] <= 1  # the magic bytes are 0 and 1
        if headers is None and not framed.any():
            return values
        given = values.to_pylist()
        for at, value in enumerate(given):
            header = None if headers is None else headers[at]
            if value is not None and (header is not None or framed[at]):
                given[at] = self._text(value, header)
        return pa.array(given, pa.binary())

    def _text(self, value: bytes, header: bytes | None) -> bytes:
        try:
            text: bytes = self._reader.decode(value, "", "value", None if header is None else [(_HEADER, header)])
        except RegistryError as error:
            if error.error_code == NO_SCHEMA:
                return value
            raise PipelineError(f"registry: {error}") from None
        except BadSetting:  # a schema that cannot be used here
            return value
        except BarnabasError as error:
            raise PipelineError(f"registry: {error}") from None
        except Exception:  # fastavro and protobuf raise whatever damaged bytes lead to
            return value
        return text
