"""Compiled Python of what the tests run, kept from run to run.

Some environments (containers above all) set PYTHONDONTWRITEBYTECODE. Then each of the hundreds of processes that the
tests start compiles all of barnabas again, and pytest rewrites the asserts of every module at every run. The wish is to
have no files beside the sources, so here they are written to build/.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "build" / "pycache"


def keep_bytecode() -> None:
    """For this process and for those that it starts."""
    if not sys.dont_write_bytecode:
        return
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ.setdefault("PYTHONPYCACHEPREFIX", str(FOLDER))
    sys.pycache_prefix = os.environ["PYTHONPYCACHEPREFIX"]
    sys.dont_write_bytecode = False
