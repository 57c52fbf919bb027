"""The demo's pipeline: Spark in a thread beside the screen, first the online half, then the offline one.

Spark takes seconds to start, and the stream flows meanwhile. Where it cannot run (no Java, no pyspark) the demo goes on
without it, and `missing` is the one line that says what to install.
"""

from __future__ import annotations

import json
import shutil
import threading
import time
from collections import deque
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.pipelines.framework.outcome import Outcome
    from barnabas.pipelines.framework.running import Run
    from barnabas.pipelines.framework.watching import Shown, Watch

CHECK_S = 0.2
CATCH_UP_S = 8.0


class SparkStory:
    """Phases, in order: starting, now, later, done; or missing. The screen reads the fields."""

    def __init__(self, bootstrap: str, home: Path) -> None:
        self.phase = "starting"
        self.missing = ""
        self.begun = time.monotonic()
        self.watch: Watch | None = None
        self.outcome: Outcome | None = None
        self.folder = home / "activity"
        self.recommendations = 0
        self.delays_s: deque[float] = deque(maxlen=2000)
        self.recent: deque[tuple[int, str, float | None]] = deque(maxlen=50)
        self._bootstrap, self._home = bootstrap, home
        shutil.rmtree(self.folder, ignore_errors=True)  # of the last demo
        self._live_from_ms = int(time.time() * 1000)
        self._later, self._ends = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._tell, daemon=True)
        self._thread.start()

    @property
    def delay_s(self) -> float | None:
        """From a search or view to its recommendation in the topic: the median of the last."""
        delays = sorted(self.delays_s)
        return delays[len(delays) // 2] if delays else None

    def go_on_to_later(self) -> None:
        self._later.set()

    def close(self) -> None:
        self._ends.set()
        self._later.set()
        self._thread.join(60)

    def alive(self) -> bool:
        return self._thread.is_alive()

    def _tell(self) -> None:
        from barnabas.client.errors import BarnabasError
        from barnabas.pipelines.errors import PipelineError

        try:
            self._run()
        except (PipelineError, BarnabasError) as error:
            self.missing, self.phase = str(error), "missing"
        except Exception as error:  # Spark's own: the demo goes on without the pipeline and says why
            self.missing, self.phase = f"{type(error).__name__}: {error}", "missing"

    def _run(self) -> None:
        from barnabas.pipelines.activity import PIPELINE
        from barnabas.pipelines.framework.running import Wanted, opened
        from barnabas.pipelines.framework.watching import Watch

        wanted = Wanted(PIPELINE, self._bootstrap, self._home, make_inputs=True, fresh=True)
        with opened(wanted) as run:
            if self._ends.is_set():
                return
            with Watch(run) as watch:
                self.watch = watch
                watch.on_result = self._recommended
                run.start_now()
                self.phase = "now"
                self._until_later(run, watch)
                run.stop()
            if not self._ends.is_set():
                self.phase = "later"
                self.outcome = run.later()
        self.phase = "done"

    def _until_later(self, run: Run, watch: Watch) -> None:
        while not self._later.is_set():
            run.check()
            watch.look()
            self._later.wait(CHECK_S)
        deadline = time.monotonic() + CATCH_UP_S
        while not self._ends.is_set() and time.monotonic() < deadline:  # let the stream finish what was written
            run.check()
            if watch.look().lag_records == 0:
                break
            time.sleep(CHECK_S)

    def _recommended(self, shown: Shown) -> None:
        from datetime import datetime

        from barnabas.pipelines.activity import PIPELINE

        value = json.loads(shown.value)
        self.recommendations += 1
        happened_ms = datetime.fromisoformat(value["time"]).timestamp() * 1000
        delay = None
        posted_ms = datetime.fromisoformat(value["posted"]).timestamp() * 1000
        if happened_ms >= self._live_from_ms and posted_ms <= happened_ms:
            delay = max(0.0, shown.at_ms - happened_ms) / 1000
            self.delays_s.append(delay)
        self.recent.append((shown.at_ms, PIPELINE.tell(shown.topic, value), delay))


def unavailable() -> str:
    """Why Spark cannot run here, in one line; empty when it can."""
    import importlib.util

    from barnabas.pipelines.errors import PipelineError
    from barnabas.pipelines.java import find_java

    if importlib.util.find_spec("pyspark") is None:
        return "pyspark is not installed: pip install 'barnabas[spark]'"
    try:
        find_java()
    except PipelineError as error:
        return str(error)
    return ""
