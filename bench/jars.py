"""Apache Kafka's jars: taken from .kafka/libs where the tests keep them too, fetched by Maven the first time."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEFAULT = ROOT / ".kafka" / "libs"
POM = Path(__file__).with_name("pom.xml")


class NoJars(Exception):
    """There is no Kafka to measure against; the message says what to install."""


def kafka_version(libs: Path) -> str | None:
    found = sorted(libs.glob("kafka-clients-*.jar"))
    return found[-1].stem.removeprefix("kafka-clients-") if found else None


def _complete(libs: Path) -> bool:
    return all(any(libs.glob(pattern)) for pattern in ("kafka-clients-*.jar", "kafka_2.13-*.jar", "kafka-tools-*.jar"))


def find_or_fetch(libs: Path = DEFAULT) -> Path:
    if _complete(libs):
        return libs
    for program in ("java", "mvn"):
        if shutil.which(program) is None:
            raise NoJars(
                f"{program} is not installed: the benchmark needs a Java 17 or later and Maven for Apache Kafka"
            )
    print("fetching Apache Kafka from Maven (once) ...", flush=True)
    libs.mkdir(parents=True, exist_ok=True)
    command = ["mvn", "-q", "-B", "-f", str(POM), "dependency:copy-dependencies", f"-DoutputDirectory={libs}"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode or not _complete(libs):
        raise NoJars(f"Maven could not fetch Apache Kafka: {(done.stdout + done.stderr).strip()[-500:]}")
    return libs
