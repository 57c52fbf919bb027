"""The two servers under test, each a process of ours in a folder of its own on free ports.

Apache Kafka runs as its distribution starts it: the JVM flags of bin/kafka-server-start.sh and bin/kafka-run-class.sh
(1 GB heap, G1, GC log, JMX agent) and the values of config/server.properties, one combined broker and controller.
Barnabas runs as `barnabas up` with no settings. A server that a row has to start, kill or fill is a `sibling()`.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path

from . import wire
from .secured import Secured

READY_S = 120.0
STOP_S = 60.0
_live: set[int] = set()


def _environment() -> dict[str, str]:
    """Without the wish to keep no compiled Python: an installed program has it, and starts in a third of the time."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


class ServerFailed(Exception):
    """A server did not start, or ended by itself; the message carries the end of its output."""


def live_pids() -> set[int]:
    """Every server we started and have not stopped: not to be counted as load of ours."""
    return _live


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as probe:
        return int(probe.getsockname()[1])


class Server(ABC):
    name: str

    def __init__(self, home: Path) -> None:
        self.home = home
        self.port = free_port()
        self.secured: Secured | None = None  # listeners beside the plain one, to be set before the start
        self._process: subprocess.Popen[bytes] | None = None
        self._siblings = 0

    @abstractmethod
    def command(self) -> list[str]:
        """The program, in the foreground."""

    @abstractmethod
    def copy(self, home: Path) -> Server:
        """The same kind of server with another folder."""

    @abstractmethod
    def join(self, number: int, others: Sequence[Server]) -> None:
        """Before the first start: it is to be node `number` of a cluster of all these."""

    def prepare(self) -> None:  # noqa: B027
        """What must happen before the first start on an empty folder; by default nothing."""

    @property
    def data(self) -> Path:
        return self.home / "data"

    @property
    def address(self) -> tuple[str, int]:
        return "127.0.0.1", self.port

    @property
    def bootstrap(self) -> str:
        return f"127.0.0.1:{self.port}"

    @property
    def pid(self) -> int:
        if self._process is None:
            raise ServerFailed(f"{self.name} is not running")
        return self._process.pid

    @property
    def pids(self) -> list[int]:
        return [self.pid]

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def sibling(self) -> Server:
        self._siblings += 1
        return self.copy(self.home.with_name(f"{self.home.name}-{self._siblings}"))

    def start(self) -> None:
        """Start and return at once; `wait_ready` says when it serves."""
        self.home.mkdir(parents=True, exist_ok=True)
        self.prepare()
        with open(self.home / "output.log", "ab") as output:
            self._process = subprocess.Popen(
                self.command(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                env=_environment(),
                start_new_session=True,
            )
        _live.add(self._process.pid)

    def wait_ready(self) -> wire.Connection:
        """A connection on which the server has answered that it knows itself."""
        end = time.monotonic() + READY_S
        while time.monotonic() < end:
            if not self.running:
                raise ServerFailed(f"{self.name} ended before it was ready: {self._last_words()}")
            with contextlib.suppress(OSError):
                connection = wire.Connection(self.address)
                if connection.broker_count() > 0:
                    return connection
                connection.close()
            time.sleep(0.01)
        raise ServerFailed(f"{self.name} does not answer after {READY_S:.0f} s: {self._last_words()}")

    def _last_words(self) -> str:
        for log in (self.home / "output.log", self.home / "server.log"):
            if log.exists() and (words := log.read_text(errors="replace").strip()):
                return words[-600:]
        return "(no output)"

    def stop(self) -> None:
        self._end(signal.SIGTERM)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def _end(self, how: signal.Signals) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        _live.discard(process.pid)
        process.send_signal(how)
        try:
            process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def remove(self) -> None:
        """Stop it and leave nothing behind."""
        self.stop()
        shutil.rmtree(self.home, ignore_errors=True)


class Barnabas(Server):
    name = "Barnabas"

    def __init__(self, home: Path, source: Path | None = None, name: str = "Barnabas") -> None:
        """`source`: the `src` of another checkout, to be run in place of this one's."""
        super().__init__(home)
        self.name, self._source = name, source
        self._cluster: list[str] = []

    def command(self) -> list[str]:
        more = {} if self.secured is None else self.secured.settings(f"PLAINTEXT://{self.bootstrap}", "")
        cluster = [*self._cluster, *(word for name, value in more.items() for word in ("--set", f"{name}={value}"))]
        address = [] if more else ["--host", "127.0.0.1", "--port", str(self.port)]  # the listeners say it
        other = [] if self._source is None else ["env", f"PYTHONPATH={self._source}"]
        return [*other, sys.executable, "-m", "barnabas.cli.main", "up", *cluster, *address, "--data", str(self.data)]

    def copy(self, home: Path) -> Server:
        return Barnabas(home, self._source, self.name)

    def join(self, number: int, others: Sequence[Server]) -> None:
        voters = ",".join(f"{i}@{other.bootstrap}" for i, other in enumerate(others, 1))
        self._cluster = ["--set", f"node.id={number}", "--set", f"controller.quorum.voters={voters}"]


class ApacheKafka(Server):
    name = "Kafka"

    def __init__(self, home: Path, libs: Path, name: str = "Kafka") -> None:
        super().__init__(home)
        self.libs, self.name = libs, name
        self.controller_port = free_port()
        self._cluster: dict[str, object] = {}
        self._voters = ""

    def join(self, number: int, others: Sequence[Server]) -> None:
        ports = [other.controller_port for other in others if isinstance(other, ApacheKafka)]
        # Ids of folders: 22 letters each; those that begin with many A are kept for Kafka's own use.
        self._voters = ",".join(f"{i}@127.0.0.1:{p}:{'bench' * 4}0{'AQgw'[i]}" for i, p in enumerate(ports, 1))
        self._cluster = {
            "node.id": number,
            "controller.quorum.bootstrap.servers": ",".join(f"127.0.0.1:{port}" for port in ports),
            "offsets.topic.replication.factor": 3,
            "transaction.state.log.replication.factor": 3,
            "transaction.state.log.min.isr": 2,
            "default.replication.factor": 3,
        }

    def copy(self, home: Path) -> Server:
        return ApacheKafka(home, self.libs, self.name)

    def _java(self, *heap: str) -> list[str]:
        log4j = Path(__file__).with_name("log4j2.properties")
        return [
            "java", *heap, f"-Dkafka.logs.dir={self.home}", f"-Dlog4j2.configurationFile={log4j}",
            "-cp", f"{self.libs}/*",
        ]  # fmt: skip

    @property
    def _config(self) -> Path:
        return self.home / "server.properties"

    def prepare(self) -> None:
        self._config.write_text("".join(f"{name}={value}\n" for name, value in self._properties().items()))
        if (self.data / "meta.properties").exists():
            return
        kind = ["--initial-controllers", self._voters] if self._voters else ["--standalone"]
        tool = [*self._java("-Xmx256M"), "kafka.tools.StorageTool", "format", *kind]
        command = [*tool, "-t", "5L6g3nShT-eMCtK--X86sw", "-c", str(self._config)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            raise ServerFailed(f"Kafka's folder could not be formatted: {done.stderr.strip()[-600:]}")

    def command(self) -> list[str]:
        flags = [
            "-Xmx1G", "-Xms1G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20",
            "-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent", "-Djava.awt.headless=true",
            f"-Xlog:gc*:file={self.home}/gc.log:time,tags:filecount=10,filesize=100M",
            "-Dcom.sun.management.jmxremote=true", "-Dcom.sun.management.jmxremote.authenticate=false",
            "-Dcom.sun.management.jmxremote.ssl=false",
        ]  # fmt: skip
        return [*self._java(*flags), "kafka.Kafka", str(self._config)]

    def _properties(self) -> dict[str, object]:
        listeners = f"PLAINTEXT://{self.bootstrap},CONTROLLER://127.0.0.1:{self.controller_port}"
        one_node = dict.fromkeys(
            (
                "offsets.topic.replication.factor",
                "transaction.state.log.replication.factor",
                "transaction.state.log.min.isr",
                "share.coordinator.state.topic.replication.factor",
                "share.coordinator.state.topic.min.isr",
            ),
            1,
        )
        return (
            one_node
            | {
                "process.roles": "broker,controller",
                "node.id": 1,
                "controller.quorum.bootstrap.servers": f"127.0.0.1:{self.controller_port}",
                "listeners": listeners,
                "advertised.listeners": listeners,
                "inter.broker.listener.name": "PLAINTEXT",
                "controller.listener.names": "CONTROLLER",
                "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
                "log.dirs": self.data,
                "num.network.threads": 3,
                "num.io.threads": 8,
                "socket.send.buffer.bytes": 102400,
                "socket.receive.buffer.bytes": 102400,
                "socket.request.max.bytes": 104857600,
                "num.partitions": 1,
                "num.recovery.threads.per.data.dir": 2,
                "log.retention.hours": 168,
                "log.segment.bytes": 1073741824,
                "log.retention.check.interval.ms": 300000,
            }
            | self._cluster
            | ({} if self.secured is None else self.secured.settings(listeners, ",CONTROLLER:PLAINTEXT"))
        )
