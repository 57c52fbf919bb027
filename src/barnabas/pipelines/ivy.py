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
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from barnabas.pipelines.errors import PipelineError
from barnabas.pipelines.java import find_java

REPOSITORY_VARIABLE = "BARNABAS_MAVEN_REPOSITORY"  # a mirror in place of Maven Central
FETCH_TIMEOUT_S = 300.0
CONNECT_TIMEOUT_MS, READ_TIMEOUT_MS = 5_000, 30_000
NAMED = 6  # a line that names more jars than these is read by nobody

_NOT_FOUND = re.compile(r"::\s+[\w.]+#([\w.-]+);[\w.-]+: not found")
# Ivy would ask for every other jar too, and wait as long for each.
_NOT_REACHED = re.compile(r"Server access error at url \w+://(\S+?)/.*\((?:[\w.]+: )?(.+)\)|Host (\S+) not found")


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
            missing = [name for name in dict.fromkeys(_NOT_FOUND.findall(told)) if name in wanted]
            if not missing or any(len(wanted[name]) == 1 for name in missing):
                raise PipelineError(_failure(jars, folder, missing, told))
            for name in missing:
                wanted[name].pop(0)
            shutil.rmtree(got, ignore_errors=True)
        _say(f"fetched {', '.join(f'{name} {versions[0]}' for name, versions in wanted.items())} into {folder}")
        try:
            got.rename(folder)
        except OSError:
            if not folder.is_dir():  # somebody else may have fetched them meanwhile, which is as good
                raise


def all_of(jars: Jars, folder: Path) -> list[Path]:
    """The jars of a folder that somebody may have filled by hand."""
    missing = [name for name in jars.versions if not any(folder.glob(f"{name}-[0-9]*.jar"))]
    if missing:
        raise PipelineError(f"{jars.what} is not whole: there is no {' and no '.join(missing[:NAMED])} in {folder}")
    return sorted(folder.glob("*.jar"))


def _say(words: str) -> None:
    """To the person who waits; nothing of it belongs into a program's output."""
    print(words, file=sys.stderr, flush=True)


def _run_ivy(java: Path, ivy: Path, work: Path, jars: Jars, wanted: Mapping[str, str]) -> str:
    """What Ivy says, which is ended when it cannot reach the repository; the jars it found lie in `work/jars` then."""
    settings, wishes = work / "ivysettings.xml", work / "ivy.xml"
    settings.write_text(settings_xml(os.environ.get(REPOSITORY_VARIABLE)))
    wishes.write_text(wishes_xml(jars.groups, wanted))
    pattern = f"{work / 'jars'}/[artifact]-[revision].[ext]"
    command = [java, "-jar", ivy, "-verbose", "-settings", settings, "-ivy", wishes, "-cache", work / "cache"]
    told, late = list[str](), threading.Event()
    with subprocess.Popen(
        [*map(str, command), "-retrieve", pattern],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as running:

        def end() -> None:
            late.set()
            running.kill()

        timer = threading.Timer(FETCH_TIMEOUT_S, end)
        timer.start()
        try:
            assert running.stdout is not None
            for line in running.stdout:
                told.append(line)
                if _NOT_REACHED.search(line):
                    running.kill()
        except BaseException:
            running.kill()
            raise
        finally:
            timer.cancel()
    if late.is_set():
        raise PipelineError(f"{jars.what} could not be fetched in {FETCH_TIMEOUT_S:.0f} s")
    return "".join(told)


def settings_xml(repository: str | None) -> str:
    root = f' root="{repository}"' if repository else ""
    return (
        '<ivysettings><settings defaultResolver="maven"/><timeout-constraints><timeout-constraint name="short"'
        f' connectionTimeout="{CONNECT_TIMEOUT_MS}" readTimeout="{READ_TIMEOUT_MS}"/></timeout-constraints><resolvers>'
        f'<ibiblio name="maven" m2compatible="true" timeoutConstraint="short"{root}/></resolvers></ivysettings>\n'
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


def _failure(jars: Jars, folder: Path, missing: list[str], told: str) -> str:
    if found := _NOT_REACHED.search(told):
        reason = f"{found[1]} is not reached: {found[2]}" if found[1] else f"there is no host {found[3]} here"
    else:
        reason = f"no repository has {', '.join(missing)}" if missing else _last_words(told)
    return (
        f"{jars.what} could not be fetched ({reason}). Without a network {_by_hand(jars, folder)};"
        f" {REPOSITORY_VARIABLE} names a mirror of Maven Central. {jars.otherwise}"
    )


def _by_hand(jars: Jars, folder: Path) -> str:
    """What is missing, and where it belongs."""
    if len(jars.versions) > NAMED:
        return f"copy {folder} from a machine that has it"
    return f"put {', '.join(f'{name}-{versions[0]}.jar' for name, versions in jars.versions.items())} into {folder}"


def _last_words(told: str) -> str:
    lines = [line.strip() for line in told.splitlines() if re.search(r"ERROR|Exception|timed out|refused", line)]
    return lines[0][:200] if lines else "Ivy gave no reason"
