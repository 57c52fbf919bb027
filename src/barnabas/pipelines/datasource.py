"""`format("barnabas")` as Spark sees it: which class reads, which writes, and the columns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    DataSourceStreamWriter,
    DataSourceWriter,
)

from barnabas.pipelines.common.garbage import exempt_imports
from barnabas.pipelines.errors import PipelineError, reason_first
from barnabas.pipelines.source.options import parse_options

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class BarnabasDataSource(DataSource):
    @classmethod
    def name(cls) -> str:
        return "barnabas"

    @reason_first
    def schema(self) -> StructType | str:
        from barnabas.pipelines.source.columns import schema_of

        exempt_imports()
        _refuse_table(self.options)
        options = parse_options(self.options, streaming=None)  # what is wrong is said here, before a stream starts
        return schema_of(options.include_headers, options.value)

    @reason_first
    def reader(self, schema: StructType) -> DataSourceReader:
        from barnabas.pipelines.source.batch import BarnabasBatchReader
        from barnabas.pipelines.source.columns import check_wanted

        exempt_imports()
        options = parse_options(self.options, streaming=False)
        check_wanted(schema, options)
        return BarnabasBatchReader(options, schema)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:
        from barnabas.pipelines.source.columns import check_wanted
        from barnabas.pipelines.source.refused import RefusedStreamReader
        from barnabas.pipelines.source.stream import BarnabasStreamReader

        try:
            options = parse_options(self.options, streaming=True)
            check_wanted(schema, options)
        except PipelineError as reason:
            return RefusedStreamReader(reason)
        return BarnabasStreamReader(options, schema)

    @reason_first
    def writer(self, schema: StructType, overwrite: bool) -> DataSourceWriter:
        from barnabas.pipelines.sink.writer import BarnabasBatchWriter

        _refuse_overwrite(overwrite)
        return BarnabasBatchWriter(self.options, schema)

    @reason_first
    def streamWriter(self, schema: StructType, overwrite: bool) -> DataSourceStreamWriter:
        from barnabas.pipelines.sink.writer import BarnabasStreamWriter

        return BarnabasStreamWriter(self.options, schema)


def _refuse_table(options: Mapping[str, str]) -> None:
    """Spark keeps the OPTIONS of a table and gives them to a Python source when the table is made, and never again:
    every later read would have none. Its catalog also passes `provider`, which tells that this is such a table."""
    if "provider" in options and any(name.startswith("option.") for name in options):
        raise PipelineError(
            "Spark does not hand the OPTIONS of a table to a Python source: CREATE TEMPORARY VIEW name USING barnabas"
            " OPTIONS (...) keeps them"
        )


def _refuse_overwrite(overwrite: bool) -> None:
    if overwrite:
        raise PipelineError('a topic is only appended to: write with mode("append")')
