"""One JVM for all calls of Kafka's tools and of the tests' own Java programs (tests/java/ToolServer.java)."""

from __future__ import annotations

import base64
import contextlib
import subprocess
import threading
from dataclasses import dataclass
from pathlib import Path

from tests.support.paths import CLASSPATH, LOG4J, require_setup
from tests.support.process import end

TOPICS = "org.apache.kafka.tools.TopicCommand"
CONFIGS = "kafka.admin.ConfigCommand"
CONSUMER_GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
GROUPS = "org.apache.kafka.tools.GroupsCommand"
CONSOLE_PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
CONSOLE_CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
GET_OFFSETS = "org.apache.kafka.tools.GetOffsetShell"
DELETE_RECORDS = "org.apache.kafka.tools.DeleteRecordsCommand"
DUMP_LOG = "org.apache.kafka.tools.DumpLogSegments"
CLIENT_METRICS = "org.apache.kafka.tools.ClientMetricsCommand"
ACLS = "org.apache.kafka.tools.AclCommand"
LOG_DIRS = "org.apache.kafka.tools.LogDirsCommand"
VERIFIABLE_PRODUCER = "org.apache.kafka.tools.VerifiableProducer"
VERIFIABLE_CONSUMER = "org.apache.kafka.tools.VerifiableConsumer"
FEATURES = "org.apache.kafka.tools.FeatureCommand"
QUORUM = "org.apache.kafka.tools.MetadataQuorumCommand"
API_VERSIONS = "org.apache.kafka.tools.BrokerApiVersionsCommand"
CLUSTER = "org.apache.kafka.tools.ClusterTool"
LEADER_ELECTION = "org.apache.kafka.tools.LeaderElectionCommand"


@dataclass(frozen=True)
class ToolResult:
    code: int
    out: str
    err: str

    def __str__(self) -> str:
        return f"exit {self.code}\n--- out\n{self.out}\n--- err\n{self.err}"


class JavaTools:
    """Calls run one at a time, in order. A call that outlives its time kills the JVM; the next call starts a new
    one."""

    def __init__(self, folder: Path, *java_options: str) -> None:
        require_setup()
        self.folder = folder
        self.java_options = java_options
        self.process: subprocess.Popen[bytes] | None = None
        self.lock = threading.Lock()

    def _start(self) -> subprocess.Popen[bytes]:
        options = ["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xmx512M", "-Xshare:auto"]
        logs = [f"-Dkafka.logs.dir={self.folder}", "-Dtest.log.level=WARN", f"-Dlog4j2.configurationFile={LOG4J}"]
        with (self.folder / "tools.err").open("ab") as errors:
            process = subprocess.Popen(
                ["java", *options, *self.java_options, *logs, "-cp", CLASSPATH, "ToolServer"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        assert process.stdout is not None
        assert process.stdout.readline().strip() == b"ready"
        return process

    def run(
        self, main: str, *arguments: str, stdin: str = "", timeout_seconds: float = 60, check: bool = True
    ) -> ToolResult:
        """Run one tool. With `check`, an exit code other than 0 fails with all the tool said."""
        with self.lock:
            if self.process is not None and self.process.poll() is not None:
                end(self.process)
                self.process = None
            if self.process is None:
                self.process = self._start()
            process = self.process
            assert process.stdin is not None
            assert process.stdout is not None
            words = [main, stdin, *arguments]
            line = " ".join(base64.b64encode(w.encode()).decode() or "-" for w in words)
            watchdog = threading.Timer(timeout_seconds, process.kill)
            watchdog.start()
            try:
                process.stdin.write(line.encode() + b"\n")
                process.stdin.flush()
                answer = process.stdout.readline().decode()
            finally:
                watchdog.cancel()
        if not answer:
            raise TimeoutError(
                f"{main} {' '.join(arguments)} did not end in {timeout_seconds} s (or took the JVM with it)"
            )
        code, out, err = answer.split()
        result = ToolResult(int(code), *(base64.b64decode(word[1:]).decode(errors="replace") for word in (out, err)))
        if check and result.code != 0:
            raise AssertionError(f"{main} {' '.join(arguments)}\n{result}")
        return result

    def run_alone(self, main: str, *arguments: str, timeout_seconds: float = 60) -> ToolResult:
        """In a JVM of its own, for tools that finish their work while their JVM ends."""
        logs = [f"-Dkafka.logs.dir={self.folder}", "-Dtest.log.level=WARN", f"-Dlog4j2.configurationFile={LOG4J}"]
        command = [
            "java",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-Xmx256M",
            *logs,
            "-cp",
            CLASSPATH,
            main,
            *arguments,
        ]
        done = subprocess.run(command, capture_output=True, timeout=timeout_seconds, text=True)
        return ToolResult(done.returncode, done.stdout, done.stderr)

    def close(self) -> None:
        if self.process is not None:
            with contextlib.suppress(OSError):
                assert self.process.stdin is not None
                self.process.stdin.close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(5)
            end(self.process)
