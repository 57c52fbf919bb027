"""Where a pipeline lives on disk, that only one runs there, and what a running one tells of itself.

`<home>/<pipeline>/` holds everything of a pipeline. `now.lock` is held (flock) as long as a streaming run lasts and
`later.lock` as long as a batch does, so the kernel lets them go whatever happens to the process. `now.json` says who
runs and how it goes, written anew about every second by renaming; whoever reads it sees a whole one. `cluster`
remembers the cluster whose offsets the checkpoints speak of: with another one they would mean other records.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from barnabas.model.json_values import JsonObject
from barnabas.pipelines.errors import PipelineError

CLUSTER = "cluster"
SHARED = "checkpoints.url"  # where the progress lies, when it is not here
PARTS = ("now", "later")
_OURS = ("checkpoints", "tables")
STOP_WAIT_S = 60.0


def default_home() -> Path:
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "barnabas" / "pipelines"


class RunDirectory:
    """The folder of one pipeline."""

    def __init__(self, home: Path, pipeline: str) -> None:
        self.folder = home / pipeline
        self.pipeline = pipeline

    @contextmanager
    def occupied(self, part: str) -> Iterator[None]:
        """Hold the lock; a second run of the same part is refused with the way to stop the first."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with self._lock(part).open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except OSError:
                raise PipelineError(
                    f"{self.pipeline} --{part} runs already in {self.folder}. "
                    f"Stop it with: barnabas pipeline stop {self.pipeline}, or use another folder with --data"
                ) from None
            try:
                yield
            finally:
                with suppress(OSError):
                    self._told(part).unlink()

    def belongs_to(self, cluster_id: str, fresh: bool) -> None:
        """Checkpoints and tables go with a cluster. `fresh` forgets what is there."""
        if fresh:
            for name in _OURS:
                shutil.rmtree(self.folder / name, ignore_errors=True)
            for name in (CLUSTER, SHARED):
                (self.folder / name).unlink(missing_ok=True)
        marker = self.folder / CLUSTER
        known = marker.read_text().strip() if marker.exists() else ""
        if known and known != cluster_id:
            raise PipelineError(
                f"{self.folder} holds the progress of {self.pipeline} on another cluster ({known}). "
                "Start over with --fresh, or use another folder with --data"
            )
        marker.write_text(cluster_id + "\n")

    def has_progress_in(self, place: str) -> None:
        """A run goes on where its progress is: elsewhere it would begin anew, and tell everything twice. `place` is an
        address, or empty for this folder."""
        marker = self.folder / SHARED
        before = marker.read_text().strip() if marker.exists() else ""
        here = (self.folder / "checkpoints").exists()
        if before != place and (before or here):
            there = f"--checkpoints {before.rpartition('/')[0]}"
            where = there if before else f"{self.folder}, without --checkpoints"
            raise PipelineError(
                f"the progress of {self.pipeline} lies in {where}. Go on from there, start over with --fresh,"
                " or use another folder with --data"
            )
        if place and not before:
            marker.write_text(place + "\n")

    def tell(self, part: str, state: JsonObject) -> None:
        fresh = self.folder / f"{part}.json.new"
        fresh.write_text(json.dumps(state))
        fresh.replace(self._told(part))

    def state(self, part: str) -> JsonObject | None:
        """What the running one told last; None when nobody runs."""
        if not self._is_held(part):
            return None
        try:
            state: JsonObject = json.loads(self._told(part).read_text())
        except (OSError, ValueError):
            return None
        return state

    def stop(self, part: str, wait_s: float = STOP_WAIT_S) -> bool:
        """Ask the running one to end and wait until it has. False when nobody ran."""
        state = self.state(part)
        if state is None:
            return False
        with suppress(ProcessLookupError):
            os.kill(int(state["pid"]), signal.SIGTERM)
        deadline = time.monotonic() + wait_s
        while self._is_held(part):
            if time.monotonic() > deadline:
                raise PipelineError(f"{self.pipeline} (process {state['pid']}) did not end in {wait_s:.0f} s")
            time.sleep(0.1)
        return True

    def _lock(self, part: str) -> Path:
        return self.folder / f"{part}.lock"

    def _told(self, part: str) -> Path:
        return self.folder / f"{part}.json"

    def _is_held(self, part: str) -> bool:
        try:
            with self._lock(part).open("r") as lock:
                fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
                return False
        except FileNotFoundError:
            return False
        except OSError:
            return True


def houses(home: Path) -> list[RunDirectory]:
    """Every pipeline that ever ran in this home."""
    if not home.is_dir():
        return []
    return [
        RunDirectory(home, each.name)
        for each in sorted(home.iterdir())
        if any((each / f"{part}.lock").exists() for part in PARTS)
    ]
