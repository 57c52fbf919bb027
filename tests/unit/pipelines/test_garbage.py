"""Imported code is exempted from garbage collection in workers of PySpark's daemon, and nowhere else."""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest

from barnabas.pipelines.common.garbage import exempt_imports


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    gc.unfreeze()  # another test of this process may have run a node
    yield
    gc.unfreeze()


def started_as(monkeypatch: pytest.MonkeyPatch, name: str | None) -> None:
    main = ModuleType("__main__")
    main.__spec__ = None if name is None else ModuleSpec(name, None)
    monkeypatch.setitem(sys.modules, "__main__", main)


def test_a_worker_of_the_daemon_exempts_what_it_has_imported_once(monkeypatch: pytest.MonkeyPatch) -> None:
    started_as(monkeypatch, "pyspark.daemon")
    exempt_imports()
    exempted = gc.get_freeze_count()
    assert exempted > len(sys.modules)
    kept = [[] for _ in range(1000)]  # type: ignore[var-annotated]
    exempt_imports()
    assert gc.get_freeze_count() <= exempted, f"{len(kept)} objects came later and are looked at"


@pytest.mark.parametrize("name", ["pytest.__main__", None])
def test_any_other_program_is_left_alone(monkeypatch: pytest.MonkeyPatch, name: str | None) -> None:
    started_as(monkeypatch, name)
    exempt_imports()
    assert not gc.get_freeze_count()
