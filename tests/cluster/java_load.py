"""Kafka's own VerifiableProducer and VerifiableConsumer as a load: what they say of each record, kept in the same books
as those of tests/crash/load.py."""

from __future__ import annotations

import json
import subprocess
import threading
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any

from tests.support.java import VERIFIABLE_CONSUMER, VERIFIABLE_PRODUCER
from tests.support.members import until
from tests.support.paths import CLASSPATH, LOG4J, require_setup
from tests.support.process import _end_with_parent, end

_PRODUCER = {
    "enable.idempotence": "true",
    "retries": "2147483647",  # the tool itself would not try again
    "delivery.timeout.ms": "180000",
    "request.timeout.ms": "5000",
    "max.block.ms": "180000",
    "linger.ms": "2",
    "retry.backoff.ms": "20",
    "retry.backoff.max.ms": "200",
    "reconnect.backoff.ms": "20",
    "reconnect.backoff.max.ms": "200",
}
_CONSUMER = {"request.timeout.ms": "5000", "reconnect.backoff.max.ms": "200", "heartbeat.interval.ms": "500"}
_KEYS = 16  # enough to reach every partition


class _Program(ABC):
    """A Java tool that tells what it does in lines of JSON."""

    def __init__(self, folder: Path, main: str, settings: dict[str, str], arguments: list[str]) -> None:
        require_setup()
        folder.mkdir(parents=True, exist_ok=True)
        config = folder / "client.properties"
        config.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        options = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx256M"]
        logs = [f"-Dkafka.logs.dir={folder}", "-Dtest.log.level=ERROR", f"-Dlog4j2.configurationFile={LOG4J}"]
        with (folder / "errors.txt").open("wb") as errors:
            self.process = subprocess.Popen(
                ["java", *options, *logs, "-cp", CLASSPATH, main, *arguments, "--command-config", str(config)],
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                preexec_fn=_end_with_parent,
            )
        self.thread = threading.Thread(target=self._listen, daemon=True)
        self.thread.start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if line.startswith("{"):
                self._told(json.loads(line))

    @abstractmethod
    def _told(self, said: dict[str, Any]) -> None:
        """One line of the tool, as it said it."""

    def stop(self) -> None:
        """The tool finishes its work while its JVM ends."""
        self.process.terminate()
        try:
            self.process.wait(60)
        finally:
            self.kill()

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(30)
        self.thread.join(10)
        end(self.process)


class JavaWriter(_Program):
    def __init__(self, folder: Path, bootstrap: str, topic: str, per_second: int) -> None:
        self.sent = 0
        self.acked: dict[tuple[int, int], int] = {}
        self.acked_somewhere: set[int] = set()
        self.failed: list[str] = []
        arguments = ["--bootstrap-server", bootstrap, "--topic", topic, "--acks", "-1"]
        arguments += ["--throughput", str(per_second), "--repeating-keys", str(_KEYS)]
        super().__init__(folder, VERIFIABLE_PRODUCER, _PRODUCER, arguments)

    def _told(self, said: dict[str, Any]) -> None:
        if said["name"] == "producer_send_success":
            place = (said["partition"], said["offset"])
            assert place not in self.acked or place[1] < 0, f"two records acknowledged at {place}"
            if place[1] < 0:  # the server knew it already, and did not say where it is
                self.acked_somewhere.add(int(said["value"]))
            else:
                self.acked[place] = int(said["value"])
        elif said["name"] == "producer_send_error":
            self.failed.append(f"{said['value']}: {said['message']}")
        elif said["name"] == "tool_data":
            self.sent = said["sent"]

    def await_more(self, count: int, seconds: float = 60) -> None:
        before = len(self.acked)
        until(lambda: len(self.acked) >= before + count, f"{count} more of Java's records are acknowledged", seconds)

    def finish(self) -> None:
        self.stop()
        assert self.sent, "the producer did not say how many it has sent"


class JavaReader(_Program):
    def __init__(self, folder: Path, bootstrap: str, topic: str, group: str) -> None:
        self.seen: dict[int, list[tuple[int, int]]] = {}
        self.committed: dict[int, int] = {}
        arguments = ["--bootstrap-server", bootstrap, "--topic", topic, "--group-id", group]
        arguments += ["--session-timeout", "10000", "--verbose", "--reset-policy", "earliest"]
        super().__init__(folder, VERIFIABLE_CONSUMER, _CONSUMER, arguments)

    def _told(self, said: dict[str, Any]) -> None:
        if said["name"] == "record_data":
            self.seen.setdefault(said["partition"], []).append((said["offset"], int(said["value"])))
        elif said["name"] == "offsets_committed" and said["success"]:
            for each in said["offsets"]:
                self.committed[each["partition"]] = each["offset"]

    def finish(self) -> None:
        self.stop()
