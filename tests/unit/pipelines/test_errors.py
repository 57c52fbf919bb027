"""Where an error of ours is met, Spark is told to show its reason and no stack trace."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

from barnabas.pipelines.errors import PipelineError, reason_first

_WORKER = """
import sys, types, importlib.machinery
sys.modules["__main__"].__spec__ = importlib.machinery.ModuleSpec("pyspark.daemon", None)
import os
from barnabas.pipelines.errors import PipelineError, reason_first

@reason_first
def rows():
    yield 1
    raise PipelineError("no topic")

@reason_first
def broken():
    raise ValueError("not ours")

try:
    broken()
except ValueError:
    print(os.environ.get("SPARK_HIDE_TRACEBACK"))
try:
    list(rows())
except PipelineError:
    print(os.environ.get("SPARK_HIDE_TRACEBACK"))
"""


def test_only_in_a_process_of_spark_and_only_for_our_errors() -> None:
    done = subprocess.run([sys.executable, "-c", _WORKER], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["None", "1"], done.stderr


def test_a_program_of_the_user_is_left_as_it_is() -> None:
    @reason_first
    def rows() -> Iterator[int]:
        yield 1
        raise PipelineError("no topic")

    with pytest.raises(PipelineError, match="no topic"):
        list(rows())
    assert "SPARK_HIDE_TRACEBACK" not in os.environ
