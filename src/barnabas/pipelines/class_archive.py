"""Spark's classes kept ready for Java (class data sharing): a start of Spark takes a fifth less CPU with it.

Spark loads some 15,000 classes from its jars, which Java reads, checks and lays out anew at every start. The Java of a
run that ends writes what it has loaded to a file in the user's cache (200 MB), and the next ones map that file into
their memory. Java writes it when the run is over and nobody waits for it any more; a file that is not whole, or of
another Java or Spark, it passes over by itself.
"""

from __future__ import annotations

import hashlib
import os
import time
from contextlib import suppress
from pathlib import Path

# Java says on the standard output what it thinks of an archive; that belongs to our commands.
_QUIET = "-Xlog:disable -Xlog:all=error:stderr"
_OURS = ("SharedArchiveFile", "ArchiveClassesAtExit", "Xshare")  # whoever sets one of these has a way of their own
WRITTEN_S = 10.0  # after so long without a change a file is whole


def java_options(java: Path, spark: Path, what: str) -> str:
    """What Spark's Java is to be told: the archive to use, or to write one when it ends. `what` names a kind of run:
    others load other classes. Nothing where the cache cannot be written to."""
    try:
        folder = _folder()
        archive = folder / f"{_key(java, spark, what)}.jsa"
        _take_over(archive)
        if archive.exists():
            return f"-XX:SharedArchiveFile={archive} {_QUIET}"
        return f"-XX:ArchiveClassesAtExit={archive.with_suffix(f'.{os.getpid()}.new')} {_QUIET}"
    except OSError:
        return ""


def may_be_used(chosen: tuple[str, ...]) -> bool:
    return not any(word in options for word in _OURS for options in chosen)


def _folder() -> Path:
    folder = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "barnabas" / "spark-classes"
    folder.mkdir(parents=True, exist_ok=True)
    if " " in str(folder):  # Spark cuts Java's options at spaces
        raise OSError("a path with a space cannot be told")
    return folder


def _key(java: Path, spark: Path, what: str) -> str:
    """Of the Java, the Spark and the kind of run that an archive is good for."""
    release = java / "release"
    told = release.read_text() if release.exists() else str(java.stat().st_mtime_ns)
    return hashlib.sha256("\n".join((told, str(java), str(spark), what)).encode()).hexdigest()[:16]


def _take_over(archive: Path) -> None:
    """What a run before this one has written takes its place under the name that is used. One is enough."""
    for fresh in archive.parent.glob(f"{archive.stem}.*.new"):
        with suppress(FileNotFoundError):  # another start took it just now
            if time.time() - fresh.stat().st_mtime < WRITTEN_S:
                continue
            if archive.exists():
                fresh.unlink()
            else:
                fresh.replace(archive)
