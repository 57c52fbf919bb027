"""Spark's own Kafka connector, fetched once and kept: `session(connector=True)` needs its four jars and nothing else.

PySpark brings no connector, but it brings Ivy, the program by which Spark itself fetches packages. Ivy is run here with
a small wish list. `spark.jars.packages` would be simpler, and fails as a whole when a mirror lacks one version; what is
missing here is asked for again in the next best version, and only that. Nothing is taken but the four jars: whatever
else the connector needs lies in PySpark already.

The jars lie in the user's cache, in a folder for each version of PySpark, which appears in one move: a fetch that was
cut leaves nothing that could be mistaken for a whole one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.java import find_java

REPOSITORY_VARIABLE = "BARNABAS_MAVEN_REPOSITORY"  # a mirror in place of Maven Central
FETCH_TIMEOUT_S = 300.0

_SQL_KAFKA = "spark-sql-kafka-0-10_2.13"
_TOKENS = "spark-token-provider-kafka-0-10_2.13"
_KNOWN_TO_WORK = {  # after the version of PySpark itself: what runs with PySpark 4.2 and 4.3 too
    _SQL_KAFKA: ("4.2.0",),
    _TOKENS: ("4.2.0", "4.1.0-preview1"),
}
_FIXED = {"kafka-clients": "3.9.2", "commons-pool2": "2.13.1"}
_GROUPS = {
    _SQL_KAFKA: "org.apache.spark",
    _TOKENS: "org.apache.spark",
    "kafka-clients": "org.apache.kafka",
    "commons-pool2": "org.apache.commons",
}
_NOT_FOUND = re.compile(r"::\s+[\w.]+#([\w.-]+);[\w.-]+: not found")


def connector_jars() -> list[Path]:
    """The jars for `spark.jars`, from the cache or fetched now; PipelineError in one line when that fails."""
    import pyspark

    folder = cache_folder() / f"spark-{pyspark.__version__}"
    if not folder.is_dir():
        _fetch(pyspark.__version__, Path(pyspark.__file__).parent, folder)
    return sorted(folder.glob("*.jar"))


def cache_folder() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "barnabas" / "connector"


def candidates(spark_version: str) -> dict[str, list[str]]:
    """For each jar the versions to ask for, the best one first."""
    found = {name: list(dict.fromkeys((spark_version, *more))) for name, more in _KNOWN_TO_WORK.items()}
    return found | {name: [version] for name, version in _FIXED.items()}


def _fetch(spark_version: str, pyspark_home: Path, folder: Path) -> None:
    ivy = next(iter(sorted((pyspark_home / "jars").glob("ivy-*.jar"))), None)
    if ivy is None:
        raise PipelineError(
            f"there is no Ivy in {pyspark_home / 'jars'}: is PySpark whole? pip install 'barnabas[spark]'"
        )
    java = find_java() / "bin" / "java"
    folder.parent.mkdir(parents=True, exist_ok=True)
    wanted = candidates(spark_version)
    _say("fetching Spark's Kafka connector, about 10 MB; this is done once ...")
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="fetching-") as place:
        work = Path(place)
        while True:
            told = _run_ivy(java, ivy, work, {name: versions[0] for name, versions in wanted.items()})
            jars = work / "jars"
            if jars.is_dir() and len(list(jars.glob("*.jar"))) == len(wanted):
                break
            missing = [name for name in _NOT_FOUND.findall(told) if name in wanted]
            if not missing or any(len(wanted[name]) == 1 for name in missing):
                raise PipelineError(_failure(missing, told))
            for name in missing:
                wanted[name].pop(0)
            shutil.rmtree(jars, ignore_errors=True)
        _say(f"fetched {', '.join(f'{name} {versions[0]}' for name, versions in wanted.items())} into {folder}")
        try:
            jars.rename(folder)
        except OSError:
            if not folder.is_dir():  # somebody else may have fetched them meanwhile, which is as good
                raise


def _say(words: str) -> None:
    """To the person who waits; nothing of it belongs into a program's output."""
    print(words, file=sys.stderr, flush=True)


def _run_ivy(java: Path, ivy: Path, work: Path, wanted: dict[str, str]) -> str:
    """What Ivy says; the jars it found lie in `work/jars` afterwards."""
    settings, wishes = work / "ivysettings.xml", work / "ivy.xml"
    settings.write_text(settings_xml(os.environ.get(REPOSITORY_VARIABLE)))
    wishes.write_text(wishes_xml(wanted))
    pattern = f"{work / 'jars'}/[artifact]-[revision].[ext]"
    command = [java, "-jar", ivy, "-settings", settings, "-ivy", wishes, "-cache", work / "cache"]
    try:
        done = subprocess.run(
            [*map(str, command), "-retrieve", pattern], capture_output=True, text=True, timeout=FETCH_TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        raise PipelineError(f"Spark's Kafka connector could not be fetched in {FETCH_TIMEOUT_S:.0f} s") from None
    return done.stdout + done.stderr


def settings_xml(repository: str | None) -> str:
    root = f' root="{repository}"' if repository else ""
    return (
        '<ivysettings><settings defaultResolver="maven"/><resolvers>'
        f'<ibiblio name="maven" m2compatible="true"{root}/></resolvers></ivysettings>\n'
    )


def wishes_xml(wanted: dict[str, str]) -> str:
    lines = [
        f'<dependency org="{_GROUPS[name]}" name="{name}" rev="{version}" transitive="false" conf="default->master"/>'
        for name, version in wanted.items()
    ]
    return (
        '<ivy-module version="2.0"><info organisation="barnabas" module="connector"/>\n'
        '<configurations><conf name="default"/></configurations>\n'
        f"<dependencies>\n{chr(10).join(lines)}\n</dependencies></ivy-module>\n"
    )


def _failure(missing: list[str], told: str) -> str:
    reason = f"no repository has {', '.join(missing)}" if missing else _last_words(told)
    return (
        f"Spark's Kafka connector could not be fetched ({reason}): is there a network? {REPOSITORY_VARIABLE} names a"
        ' mirror of Maven Central. Without the connector use format("barnabas")'
    )


def _last_words(told: str) -> str:
    lines = [line.strip() for line in told.splitlines() if re.search(r"ERROR|Exception|timed out|refused", line)]
    return lines[0][:200] if lines else "Ivy gave no reason"
