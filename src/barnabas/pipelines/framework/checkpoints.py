"""Where the progress of a pipeline's queries lies: in its own folder, or, with --checkpoints, on storage that every
machine reaches (S3, HDFS).

The progress of a query is Spark's checkpoint: offsets and commits, which the driver writes, and state, which the
executors write. On shared storage a lost worker takes no state with it, workers need no file system in common, and a
driver on another machine goes on where the one before was. A query that fills a table in the pipeline's folder has its
progress beside that table all the same: on another machine both are missing, and the table is made anew, whole. Such a
query has no state, so only the driver writes its progress.

All that is done to shared storage is done by Spark's Java: what Spark can write to can be read here, with the same
credentials and settings.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from barnabas.pipelines.errors import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FOLDER = "checkpoints"
CLUSTER = "cluster"  # whose offsets they speak of
_URL = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<rest>/?[^/?#@\s][^?#@\s]*)")


class Checkpoints(Protocol):
    """The checkpoints of one pipeline, a folder for each query, and a few small files beside them."""

    def place(self, query: str) -> str:
        """What Spark is told."""

    def queries(self) -> set[str]: ...

    def read(self, *parts: str) -> str | None:
        """A small file; None where there is none."""

    def write(self, name: str, text: str) -> None:
        """A small file as a whole, over what was there."""

    def last_commit_ms(self, query: str) -> int | None: ...

    def remove(self, query: str) -> None: ...


class LocalCheckpoints:
    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def place(self, query: str) -> str:
        self.folder.mkdir(parents=True, exist_ok=True)
        return str(self.folder / query)

    def queries(self) -> set[str]:
        return {each.name for each in self.folder.glob("*") if each.is_dir()}

    def read(self, *parts: str) -> str | None:
        try:
            return self.folder.joinpath(*parts).read_text()
        except FileNotFoundError:
            return None

    def write(self, name: str, text: str) -> None:
        self.folder.mkdir(parents=True, exist_ok=True)
        file = self.folder / name
        fresh = file.with_suffix(".new")
        fresh.write_text(text)
        fresh.replace(file)

    def last_commit_ms(self, query: str) -> int | None:
        times = [each.stat().st_mtime for each in (self.folder / query / "commits").glob("[0-9]*")]
        return int(max(times) * 1000) if times else None

    def remove(self, query: str) -> None:
        shutil.rmtree(self.folder / query)


class RemoteCheckpoints:
    """`url` is the folder of the pipeline."""

    def __init__(self, spark: SparkSession, url: str) -> None:
        self.url = url
        context = spark.sparkContext
        assert context._jvm is not None
        self._path = context._jvm.org.apache.hadoop.fs.Path
        self._files: Any = self._path(url).getFileSystem(context._jsc.hadoopConfiguration())  # Java's

    def place(self, query: str) -> str:
        return f"{self.url}/{query}"

    def queries(self) -> set[str]:
        return {each.getPath().getName() for each in self._listed() if each.isDirectory()}

    def read(self, *parts: str) -> str | None:
        path = self._path("/".join((self.url, *parts)))
        if not self._files.exists(path):
            return None
        stream = self._files.open(path)
        try:
            return bytes(stream.readAllBytes()).decode()
        finally:
            stream.close()

    def write(self, name: str, text: str) -> None:
        stream = self._files.create(self._path(f"{self.url}/{name}"), True)
        stream.write(bytearray(text.encode()))
        stream.close()

    def last_commit_ms(self, query: str) -> int | None:
        commits = self._listed(query, "commits")
        times = [int(each.getModificationTime()) for each in commits if each.getPath().getName().isdigit()]
        return max(times, default=None)

    def remove(self, query: str) -> None:
        self._files.delete(self._path(self.place(query)), True)

    def belongs_to(self, cluster_id: str, fresh: bool) -> None:
        """As `RunDirectory.belongs_to`."""
        if fresh:
            self._files.delete(self._path(self.url), True)
        known = (self.read(CLUSTER) or "").strip()
        if known and known != cluster_id:
            raise PipelineError(
                f"{self.url} holds the progress of a run on another cluster ({known})."
                " Start over with --fresh, or use another place with --checkpoints"
            )
        if not known:
            self.write(CLUSTER, cluster_id + "\n")

    def _listed(self, *parts: str) -> list[Any]:  # Java's FileStatus
        path = self._path("/".join((self.url, *parts)))
        return list(self._files.listStatus(path)) if self._files.exists(path) else []


def parse(text: str) -> str:
    """The address as Spark takes it. `s3://` is what people write; Hadoop's name for it is s3a."""
    found = _URL.fullmatch(text.rstrip("/"))
    if found is None:
        raise PipelineError(
            f"--checkpoints takes an address such as s3a://bucket/path or hdfs://host/path, not {_hidden(text)!r};"
            " a folder of this machine is given with --data"
        )
    scheme = "s3a" if found["scheme"] in ("s3", "s3n") else found["scheme"]
    return f"{scheme}://{found['rest']}"


def _hidden(text: str) -> str:
    """Keys that somebody put into the address are not repeated."""
    return re.sub(r"//[^/]*@", "//...@", text)
