"""Garbage collection in the Python workers of Spark.

PySpark's daemon keeps a worker for the next task, and runs `gc.collect()` in between. That looks at every object there
is: 56,000 of PySpark, pyarrow and numpy, 25 to 60 ms of CPU, which a small task does not take itself. What was alive
when the first task began is imported code and stays, so it is exempted once.
"""

from __future__ import annotations

import gc
import sys


def exempt_imports() -> None:
    """In a worker of PySpark's daemon: from now on, what is alive now is not looked at. Elsewhere nothing happens."""
    spec = getattr(sys.modules["__main__"], "__spec__", None)
    if spec is not None and spec.name == "pyspark.daemon" and not gc.get_freeze_count():
        gc.freeze()
