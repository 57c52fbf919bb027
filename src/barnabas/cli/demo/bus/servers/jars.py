"""Servers that come as jars: fetched once from Maven Central, by Maven or by the Ivy that PySpark carries, and kept in
the user's cache. A folder appears there in one move: a fetch that was cut leaves nothing that looks whole."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

from barnabas.cli.common.screen import note
from barnabas.cli.demo.bus.servers.missing import Missing
from barnabas.pipelines.ivy import REPOSITORY_VARIABLE, settings_xml

FETCH_S = 600.0
_REASON = re.compile(r"ERROR|not found|timed out|refused", re.IGNORECASE)


@dataclass(frozen=True)
class Jars:
    group: str
    artifact: str
    version: str
    megabytes: int
    classifier: str = ""  # of one jar that has everything in it; empty: the jar and what it needs

    @property
    def folder(self) -> Path:
        cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        return cache / "barnabas" / "demo" / f"{self.artifact}-{self.version}"

    def get(self, java: Path) -> Path:
        """The folder of the jars, from the cache or fetched now. Raises Missing."""
        folder = self.folder
        if folder.is_dir():
            return folder
        maven, ivy = shutil.which("mvn"), _ivy()
        if maven is None and ivy is None:
            raise Missing(
                f"{self.artifact} {self.version} cannot be fetched without Maven or PySpark",
                "Install maven, or: pip install 'barnabas[spark]'",
            )
        note(f"fetching {self.artifact} {self.version}, about {self.megabytes} MB; this is done once ...")
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent, prefix="fetching-") as place:
            work, told = Path(place), ""
            # A mirror is named to Maven by its own settings, to Ivy by a variable: it counts where it is set.
            ways = [self._by_maven(maven, work)] if maven and REPOSITORY_VARIABLE not in os.environ else []
            ways += [self._by_ivy(ivy, java, work)] if ivy else []
            for command in ways:
                is_whole, told = _run(command)
                if is_whole and any((work / "jars").glob(f"{self.artifact}-{self.version}*.jar")):
                    _keep(work / "jars", folder)
                    return folder
                shutil.rmtree(work / "jars", ignore_errors=True)
        raise Missing(f"{self.artifact} {self.version} could not be fetched: {told or 'is there a network?'}")

    def _by_maven(self, maven: str, work: Path) -> list[str]:
        only, rest = "", ""
        if self.classifier:
            only = f"<classifier>{self.classifier}</classifier>"
            rest = "<exclusions><exclusion><groupId>*</groupId><artifactId>*</artifactId></exclusion></exclusions>"
        (work / "pom.xml").write_text(
            '<project xmlns="http://maven.apache.org/POM/4.0.0"><modelVersion>4.0.0</modelVersion>'
            "<groupId>barnabas</groupId><artifactId>demo</artifactId><version>1</version><packaging>pom</packaging>"
            f"<dependencies><dependency><groupId>{self.group}</groupId><artifactId>{self.artifact}</artifactId>"
            f"<version>{self.version}</version>{only}{rest}</dependency></dependencies></project>\n"
        )
        goal = ["dependency:copy-dependencies", f"-DoutputDirectory={work / 'jars'}", "-DincludeScope=runtime"]
        return [maven, "-q", "-B", "-f", str(work / "pom.xml"), *goal]

    def _by_ivy(self, ivy: Path, java: Path, work: Path) -> list[str]:
        only, conf = "", "default->default"
        if self.classifier:
            only = f'<artifact name="{self.artifact}" type="jar" ext="jar" m:classifier="{self.classifier}"/>'
            conf = "default->master"
        (work / "ivysettings.xml").write_text(settings_xml(os.environ.get(REPOSITORY_VARIABLE)))
        (work / "ivy.xml").write_text(
            '<ivy-module version="2.0" xmlns:m="http://ant.apache.org/ivy/maven">'
            '<info organisation="barnabas" module="demo"/><configurations><conf name="default"/></configurations>'
            f'<dependencies><dependency org="{self.group}" name="{self.artifact}" rev="{self.version}" '
            f'transitive="{"false" if self.classifier else "true"}" conf="{conf}">{only}</dependency>'
            "</dependencies></ivy-module>\n"
        )
        pattern = f"{work / 'jars'}/[artifact]-[revision](-[classifier]).[ext]"
        words = ["-settings", work / "ivysettings.xml", "-ivy", work / "ivy.xml", "-cache", work / "cache"]
        return [*map(str, [java, "-jar", ivy, *words]), "-types", "jar", "bundle", "-retrieve", pattern]


def _ivy() -> Path | None:
    spark = importlib.util.find_spec("pyspark")
    if spark is None or spark.origin is None:
        return None
    return next(iter(sorted((Path(spark.origin).parent / "jars").glob("ivy-*.jar"))), None)


def _run(command: list[str]) -> tuple[bool, str]:
    """Whether it had everything; and the reason, if it says one."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, stdin=subprocess.DEVNULL, timeout=FETCH_S)
    except subprocess.TimeoutExpired:
        return False, f"not in {FETCH_S:.0f} s"
    lines = (done.stdout + done.stderr).splitlines()
    return done.returncode == 0, next((line.strip()[:200] for line in lines if _REASON.search(line)), "")


def _keep(jars: Path, folder: Path) -> None:
    try:
        jars.rename(folder)
    except OSError:
        if not folder.is_dir():  # another demo may have fetched them meanwhile, which is as good
            raise
