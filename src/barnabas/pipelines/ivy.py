"""Jars from Maven Central, fetched once and kept: those of Spark's Kafka connector, and those by which it speaks to S3.

PySpark brings neither, but it brings Ivy, the program by which Spark itself fetches packages. Ivy is run here with a
small wish list. `spark.jars.packages` would be simpler, and fails as a whole when a mirror lacks one version; what is
missing here is asked for again in the next best version, and only that. Nothing is taken but the jars that are named:
whatever else they need lies in PySpark already. Ivy compares each file with the checksum that lies beside it.

The jars lie in the user's cache, in a folder for each version, which appears in one move: a fetch that was cut leaves
nothing that could be mistaken for a whole one.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.java import find_java

REPOSITORY_VARIABLE = "BARNABAS_MAVEN_REPOSITORY"  # a mirror in place of Maven Central
FETCH_TIMEOUT_S = 300.0

_NOT_FOUND = re.compile(r"::\s+[\w.]+#([\w.-]+);[\w.-]+: not found")


@dataclass(frozen=True, slots=True)
class Jars:
    """What to fetch: of each artifact its group, and the versions to ask for, the best one first."""

    what: str
    megabytes: int
    otherwise: str  # what a person can do without them
    groups: Mapping[str, str]
    versions: Mapping[str, Sequence[str]]


def cache_folder(name: str) -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "barnabas" / name


def fetch(jars: Jars, pyspark_home: Path, folder: Path) -> None:
    """All of them into the folder, which must not be there; PipelineError in one line when that fails."""
    ivy = next(iter(sorted((pyspark_home / "jars").glob("ivy-*.jar"))), None)
    if ivy is None:
        raise PipelineError(
            f"there is no Ivy in {pyspark_home / 'jars'}: is PySpark whole? pip install 'barnabas[spark]'"
        )
    java = find_java() / "bin" / "java"
    folder.parent.mkdir(parents=True, exist_ok=True)
    wanted = {name: list(versions) for name, versions in jars.versions.items()}
    _say(f"fetching {jars.what}, about {jars.megabytes} MB; this is done once ...")
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="fetching-") as place:
        work = Path(place)
        while True:
            told = _run_ivy(java, ivy, work, jars, {name: versions[0] for name, versions in wanted.items()})
            got = work / "jars"
            if got.is_dir() and len(list(got.glob("*.jar"))) == len(wanted):
                break
            missing = [name for name in _NOT_FOUND.findall(told) if name in wanted]
            if not missing or any(len(wanted[name]) == 1 for name in missing):
                raise PipelineError(_failure(jars, missing, told))
            for name in missing:
                wanted[name].pop(0)
            shutil.rmtree(got, ignore_errors=True)
        _say(f"fetched {', '.join(f'{name} {versions[0]}' for name, versions in wanted.items())} into {folder}")
        try:
            got.rename(folder)
        except OSError:
            if not folder.is_dir():  # somebody else may have fetched them meanwhile, which is as good
                raise


def _say(words: str) -> None:
    """To the person who waits; nothing of it belongs into a program's output."""
    print(words, file=sys.stderr, flush=True)


def _run_ivy(java: Path, ivy: Path, work: Path, jars: Jars, wanted: Mapping[str, str]) -> str:
    """What Ivy says; the jars it found lie in `work/jars` afterwards."""
    settings, wishes = work / "ivysettings.xml", work / "ivy.xml"
    settings.write_text(settings_xml(os.environ.get(REPOSITORY_VARIABLE)))
    wishes.write_text(wishes_xml(jars.groups, wanted))
    pattern = f"{work / 'jars'}/[artifact]-[revision].[ext]"
    command = [java, "-jar", ivy, "-settings", settings, "-ivy", wishes, "-cache", work / "cache"]
    try:
        done = subprocess.run(
            [*map(str, command), "-retrieve", pattern], capture_output=True, text=True, timeout=FETCH_TIMEOUT_S
        )
    except subprocess.TimeoutExpired:
        raise PipelineError(f"{jars.what} could not be fetched in {FETCH_TIMEOUT_S:.0f} s") from None
    return done.stdout + done.stderr


def settings_xml(repository: str | None) -> str:
    root = f' root="{repository}"' if repository else ""
    return (
        '<ivysettings><settings defaultResolver="maven"/><resolvers>'
        f'<ibiblio name="maven" m2compatible="true"{root}/></resolvers></ivysettings>\n'
    )


def wishes_xml(groups: Mapping[str, str], wanted: Mapping[str, str]) -> str:
    lines = [
        f'<dependency org="{groups[name]}" name="{name}" rev="{version}" transitive="false" conf="default->master"/>'
        for name, version in wanted.items()
    ]
    return (
        '<ivy-module version="2.0"><info organisation="barnabas" module="wanted"/>\n'
        '<configurations><conf name="default"/></configurations>\n'
        f"<dependencies>\n{chr(10).join(lines)}\n</dependencies></ivy-module>\n"
    )


def _failure(jars: Jars, missing: list[str], told: str) -> str:
    reason = f"no repository has {', '.join(missing)}" if missing else _last_words(told)
    return (
        f"{jars.what} could not be fetched ({reason}): is there a network? {REPOSITORY_VARIABLE} names a"
        f" mirror of Maven Central. {jars.otherwise}"
    )


def _last_words(told: str) -> str:
    lines = [line.strip() for line in told.splitlines() if re.search(r"ERROR|Exception|timed out|refused", line)]
    return lines[0][:200] if lines else "Ivy gave no reason"
