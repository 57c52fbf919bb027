"""Spark Declarative Pipelines: a user's own folder of `@dp.table` files, run with our source and sink.

A folder is one when it holds a spark-pipeline.yml, or Python files that import `pyspark.pipelines`; for the latter a
spec is written into our own folder, never into the user's. Spark's `spark-pipelines` does the work, in a process of its
own, over Spark Connect. What it would lack is given to it: Java, this Python, a catalog that survives the run (Derby;
in the in-memory one the second run fails), and `format("barnabas")`, which it finds by itself because Spark looks for
modules named `pyspark_*` on the path.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from barnabas.pipelines.errors import PipelineError

SPECS = ("spark-pipeline.yml", "spark-pipeline.yaml")
_IMPORTS = re.compile(r"^\s*(from pyspark import .*\bpipelines\b|(from|import) pyspark\.pipelines\b)", re.MULTILINE)
_EVENT = re.compile(r"^\d{4}-\d\d-\d\d \d\d:\d\d:\d\d: ((?:Flow|Run) .+)$")
_ERROR = re.compile(r"^(?:[\w.]*(?:Exception|Error): |\[[A-Z_.]+\] )(.+)$")
_DISCOVERED = """from barnabas.pipelines.datasource import BarnabasDataSource as DefaultSource  # noqa: F401
"""


def is_one(path: Path) -> bool:
    if path.name in SPECS and path.is_file():
        return True
    return path.is_dir() and not (path / "pipeline.py").is_file() and bool(_spec_in(path) or _definitions(path))


def run(
    path: Path,
    home: Path,
    bootstrap: str,
    master: str,
    conf: Mapping[str, str],
    told: Callable[[str], None],
    fresh: bool = False,
) -> None:
    """Run it once over what is there now; `told` gets a line for each event."""
    path = path.resolve()
    name = (path.parent if path.is_file() else path).name
    house = (home / name).absolute()
    house.mkdir(parents=True, exist_ok=True)
    spec = path if path.is_file() else _spec_in(path) or _made_spec(path, house, name)
    command = [str(_spark_home() / "bin" / "spark-pipelines"), "run", "--spec", str(spec), "--remote", _remote(master)]
    if fresh:
        command.append("--full-refresh-all")
    settings = {**_conf(house), **conf}
    for key, value in settings.items():
        command += ["--conf", f"{key}={value}"]
    with subprocess.Popen(
        command,
        cwd=house,
        env=_environment(house, bootstrap, settings),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        try:
            why = _follow(process.stdout, told)
        except BaseException:
            process.terminate()
            raise
    if process.returncode != 0:
        raise PipelineError(f"{name}: {why or f'spark-pipelines left with {process.returncode}'}")


def _follow(lines: Iterator[str], told: Callable[[str], None]) -> str:
    """Pass on what happens, and keep the sentence that says what went wrong."""
    why = ""
    for line in lines:
        event = _EVENT.match(line)
        if event is not None:
            told(event[1].replace("spark_catalog.default.", ""))
        error = _ERROR.match(line.strip())
        if error is not None:
            why = error[1] if "PipelineError" in line or not why else why
    return re.sub(r" SQLSTATE: \w{5}", "", why)


def _spec_in(folder: Path) -> Path | None:
    return next((folder / name for name in SPECS if (folder / name).is_file()), None)


def _definitions(folder: Path) -> list[Path]:
    """The folder's files that define tables: Python that imports pyspark.pipelines, and SQL beside it."""
    found = [file for file in sorted(folder.rglob("*.py")) if _IMPORTS.search(file.read_text(errors="replace"))]
    return [*found, *sorted(folder.rglob("*.sql"))] if found else []


def _made_spec(folder: Path, house: Path, name: str) -> Path:
    """A spec may only name files below itself, so the folder gets a second name there."""
    link = house / "definitions"
    link.unlink(missing_ok=True)
    link.symlink_to(folder)
    lines = [f"name: {name}", f"storage: file://{house}/storage", "libraries:"]
    for file in _definitions(folder):
        lines += ["  - glob:", f"      include: definitions/{file.relative_to(folder)}"]
    spec = house / SPECS[0]
    spec.write_text("\n".join(lines) + "\n")
    return spec


def _conf(house: Path) -> dict[str, str]:
    return {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(os.cpu_count() or 2),
        "spark.sql.python.filterPushdown.enabled": "true",
        "spark.sql.catalogImplementation": "hive",
        "spark.sql.warehouse.dir": str(house / "tables"),
        "spark.hadoop.javax.jdo.option.ConnectionURL": f"jdbc:derby:;databaseName={house / 'catalog'};create=true",
    }


def _environment(house: Path, bootstrap: str, settings: Mapping[str, str]) -> dict[str, str]:
    """With the settings once more: of those on its command line PySpark passes on only a last handful to a Spark that
    it starts itself."""
    from barnabas.pipelines.java import find_java

    found = house / "python"
    found.mkdir(exist_ok=True)
    (found / "pyspark_barnabas.py").write_text(_DISCOVERED)
    given = [f"--conf {shlex.quote(f'{key}={value}')}" for key, value in settings.items()]
    paths = [str(found), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        **os.environ,
        "JAVA_HOME": str(find_java()),
        "SPARK_HOME": str(_spark_home()),
        "PYSPARK_PYTHON": sys.executable,
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "SPARK_LOCAL_IP": "127.0.0.1",
        "PYSPARK_SUBMIT_ARGS": " ".join([*given, os.environ.get("PYSPARK_SUBMIT_ARGS", "pyspark-shell")]),
        "BARNABAS_BOOTSTRAP": bootstrap,
        "PYTHONPATH": os.pathsep.join(paths),
    }


def _spark_home() -> Path:
    try:
        import pyspark
    except ImportError:
        raise PipelineError("pyspark is not installed: pip install 'barnabas[spark]'") from None
    home = Path(pyspark.__file__).parent
    if not (home / "bin" / "spark-pipelines").is_file() or shutil.which("bash") is None:
        raise PipelineError("this pyspark has no spark-pipelines: pip install 'barnabas[spark]'")
    return home


def _remote(master: str) -> str:
    if master.startswith(("local", "sc://")):
        return master
    raise PipelineError(f"Declarative Pipelines run over Spark Connect: local[*] or sc://host:15002, not {master}")
