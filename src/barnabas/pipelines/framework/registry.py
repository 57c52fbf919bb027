"""Which pipelines there are: the six that ship, and a person's own.

A built-in one is a package `barnabas.pipelines.<name>` with an object `PIPELINE`; it is imported only when it is asked
for. One's own is a Python file that defines a subclass of `Pipeline` (or an object `PIPELINE`), or a folder with such a
`pipeline.py`. A folder of Spark Declarative Pipelines (spark-pipeline.yml) is recognised by `declarative.py`.
"""

from __future__ import annotations

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.framework.pipeline import Pipeline
from barnabas.pipelines.nearest import did_you_mean

BUILT_IN = ("activity", "metrics", "anomalies", "market", "lake", "restore")


def built_in() -> list[Pipeline]:
    """All that ship and are there, in the order of the documentation."""
    found = []
    for name in BUILT_IN:
        if importlib.util.find_spec(f"barnabas.pipelines.{name}") is not None:
            found.append(_from_package(name))
    return found


def find(wanted: str) -> Pipeline:
    """The pipeline of this name, or in this file or folder; an error names the one that was probably meant."""
    if wanted in BUILT_IN and importlib.util.find_spec(f"barnabas.pipelines.{wanted}") is not None:
        return _from_package(wanted)
    path = Path(wanted).expanduser()
    if path.is_dir() and (path / "pipeline.py").is_file():
        path = path / "pipeline.py"
    if path.is_file():
        return _from_file(path)
    beside = [str(path.parent / each.name) for each in path.parent.glob("*.py")] if path.parent.is_dir() else []
    known = beside if wanted.endswith(".py") else [*BUILT_IN, *beside]
    own = f"{wanted}.py"
    hint = f" Did you mean {own!r}?" if own in known else did_you_mean(wanted, known)
    kind = "file" if wanted.endswith(".py") else "pipeline"
    raise PipelineError(f"there is no {kind} {wanted!r}.{hint or ' barnabas pipeline list shows what there is.'}")


def _from_package(name: str) -> Pipeline:
    module = importlib.import_module(f"barnabas.pipelines.{name}")
    pipeline = module.PIPELINE
    assert isinstance(pipeline, Pipeline) and pipeline.name == name
    return pipeline


def _from_file(path: Path) -> Pipeline:
    """Import the file under its own name, so that Spark's workers can be given the same file."""
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise PipelineError(f"{path} is not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise PipelineError(f"{path} cannot be loaded: {type(error).__name__}: {error}") from error
    pipeline = _pipeline_in(module, path)
    if not pipeline.name:
        type(pipeline).name = path.stem
    return pipeline


def _pipeline_in(module: ModuleType, path: Path) -> Pipeline:
    given = getattr(module, "PIPELINE", None)
    if isinstance(given, Pipeline):
        return given
    classes = [
        each
        for each in vars(module).values()
        if isinstance(each, type) and issubclass(each, Pipeline) and each.__module__ == module.__name__
    ]
    if not classes:
        raise PipelineError(
            f"{path} defines no pipeline. A pipeline is a subclass of barnabas.pipelines.framework.Pipeline"
        )
    if len(classes) > 1:
        names = ", ".join(each.__name__ for each in classes)
        raise PipelineError(f"{path} defines several pipelines ({names}). Say which with PIPELINE = ...()")
    return classes[0]()
