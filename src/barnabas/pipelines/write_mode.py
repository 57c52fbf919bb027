"""`df.write.format("barnabas").save()` appends, as `format("kafka")` does.

Spark's default mode is `error`, and a Python data source is never asked about it: Spark refuses every mode but append
and overwrite on its own. The Kafka connector takes `error` for append, so that its standard example needs no mode. The
same is done here where the format is named: the default mode becomes append. A mode that is set afterwards wins, and
one that was set before is left alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql.readwriter import DataFrameWriter

FORMAT = "barnabas"
_DEFAULT_MODE = "ErrorIfExists"


def append_by_default() -> None:
    """Once for each of PySpark's two writers, the classic one and that of Spark Connect (when it is installed)."""
    from pyspark.sql.readwriter import DataFrameWriter

    _wrap(DataFrameWriter, _is_default)
    try:
        from pyspark.sql.connect.readwriter import DataFrameWriter as RemoteWriter
    except ImportError:
        return
    _wrap(RemoteWriter, lambda writer: writer._write.mode is None)


def _wrap(writer_class: Any, has_default_mode: Callable[[Any], bool]) -> None:  # PySpark's two share no base class
    named = writer_class.format
    if hasattr(named, "__wrapped__"):
        return

    @functools.wraps(named)
    def format(self: Any, source: str) -> object:  # one of the two writers
        if source == FORMAT and has_default_mode(self):
            self.mode("append")
        return named(self, source)

    writer_class.format = format


def _is_default(writer: DataFrameWriter) -> bool:
    return str(writer._jwrite.curmode()) == _DEFAULT_MODE
