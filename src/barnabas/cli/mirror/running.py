"""`mirror run`: a worker for each cluster that is a target, in this process. A cluster that is away is waited for: the
other direction goes on."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Sequence
from types import FrameType

from barnabas.cli.common.screen import note
from barnabas.cli.mirror.flows import command
from barnabas.connect.cluster.connection import Cluster
from barnabas.connect.connectors.mirror.flows import Flow
from barnabas.connect.connectors.mirror.options import cluster_of
from barnabas.connect.errors import BadOption, ConnectError
from barnabas.connect.operations import states
from barnabas.connect.runtime.pauses import Pauses
from barnabas.connect.runtime.worker import Worker

log = logging.getLogger("barnabas.connect")


def run_flows(flows: Sequence[Flow], words: Sequence[str]) -> None:
    """`words`: as they were typed."""
    from barnabas.cli.up.logging import log_to_stderr
    from barnabas.cli.up.options import UpOptions

    log_to_stderr(UpOptions())  # by BARNABAS_LOG_LEVEL and BARNABAS_LOG_FORMAT; else warnings
    if any(flow.definition.engine == "spark" for flow in flows):
        from barnabas.connect.spark import session, settings

        session.use(settings.of_all([flow.definition for flow in flows]))
    by_target: dict[str, list[Flow]] = {}
    for flow in flows:
        by_target.setdefault(flow.target, []).append(flow)
    stop = threading.Event()

    def end(number: int, frame: FrameType | None) -> None:
        stop.set()

    before = {each: signal.signal(each, end) for each in (signal.SIGINT, signal.SIGTERM)}
    threads = [_Target(each, words, stop) for each in by_target.values()]
    try:
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads) and not stop.wait(0.2):
            pass
        for thread in threads:
            thread.join()
    finally:
        stop.set()
        for number, handler in before.items():
            signal.signal(number, handler)
        if any(flow.definition.engine == "spark" for flow in flows):
            session.stop()
    if failed := next((thread.failure for thread in threads if thread.failure is not None), None):
        raise failed


class _Target(threading.Thread):
    """The flows into one cluster."""

    def __init__(self, flows: Sequence[Flow], words: Sequence[str], stop: threading.Event) -> None:
        super().__init__(name=f"mirror-to-{flows[0].target}", daemon=True)
        self._flows, self._words, self._stop_event = flows, words, stop
        self.failure: BadOption | None = None

    def run(self) -> None:
        pauses = Pauses()
        while not self._stop_event.is_set():
            try:
                self._work(cluster_of(self._flows[0].options.target))
            except BadOption as problem:
                self.failure = problem
                self._stop_event.set()
            except ConnectError as problem:
                log.warning("mirror: %s. Trying again", str(problem).rstrip("."))
                self._stop_event.wait(pauses.failed())

    def _work(self, cluster: Cluster) -> None:
        cluster.check()
        definitions = [flow.definition for flow in self._flows]
        # As somebody left it: a restart, of the machine for one, must not undo a pause that was meant.
        paused = states.run_from_file(cluster, definitions, keep_paused=True)
        worker = Worker(cluster, {each.name: each.engine for each in definitions})
        worker.run(self._stop_event, lambda: self._tell(worker.id, paused))

    def _tell(self, worker: str, paused: Sequence[str]) -> None:
        def named(flow: Flow) -> str:
            return f"{flow.options.source.name} -> {flow.options.target.name}"

        told = [named(each) + (" (paused)" if each.definition.name in paused else "") for each in self._flows]
        note(f"mirroring {', '.join(told)}, as worker {worker}; Ctrl-C ends it")
        for flow in self._flows:
            if flow.definition.name in paused:
                again = command("resume", [flow], self._words)
                note(f"{named(flow)} is paused: nothing is copied. To go on: {again}")
