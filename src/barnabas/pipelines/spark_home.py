"""A SPARK_HOME whose Python processes start quickly: what Spark's Java needs of PySpark, without its zip of modules.

Spark puts `$SPARK_HOME/python/lib/pyspark.zip` first on the path of every Python process that it starts, and Python
keeps no compiled modules for a zip: each process compiles PySpark anew, 1.2 s of CPU where the installed package takes
0.4 s. A query starts several such processes, and Spark gives each 10 s to connect, which a busy machine does not keep.

Where there is no zip the package that is installed in the environment is imported. So this is done only where Spark's
Python is that of this process and no cluster manager ships the zip: `local` and `spark://` masters. A SPARK_HOME or a
Python that somebody chose is left alone.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

_NEEDED = ("bin", "jars")
_LINKED = (*_NEEDED, "sbin", "conf")
_CHOSEN_PYTHON = ("spark.pyspark.python", "spark.pyspark.driver.python")
VARIABLE = "SPARK_HOME"


@contextmanager
def quick_spark_home(master: str, settings: Mapping[str, str], python_is_ours: bool) -> Iterator[None]:
    """For the time in which Spark's Java is started; it keeps the variable, this process does not."""
    made = None
    if VARIABLE not in os.environ and python_is_ours and not any(name in settings for name in _CHOSEN_PYTHON):
        made = spark_home(_installed()) if master.startswith(("local", "spark://")) else None
    if made is None:
        yield
        return
    os.environ[VARIABLE] = str(made)
    try:
        yield
    finally:
        os.environ.pop(VARIABLE, None)


def spark_home(installed: Path) -> Path | None:
    """The folder of links, in the user's cache; None where it cannot be made, and Spark's own way is good enough."""
    if not all((installed / name).is_dir() for name in _NEEDED):
        return None
    folder = _cache() / hashlib.sha256(str(installed).encode()).hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in _LINKED:
            if (installed / name).is_dir():
                with suppress(FileExistsError):  # made before, or by another process just now
                    (folder / name).symlink_to(installed / name)
    except OSError:
        return None
    return folder if all((folder / name).is_dir() for name in _NEEDED) else None


def _installed() -> Path:
    import pyspark

    return Path(pyspark.__file__).parent


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "barnabas" / "spark-home"
