"""Workers of the real Kafka Connect (distributed mode, from .kafka/connect) as child processes.

with KafkaConnectWorker(folder, bootstrap) as worker:
    worker.put("orders", {"connector.class": "io.debezium.connector.postgresql.PostgresConnector", ...})
    worker.await_running("orders")
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tests.support.paths import LOG4J, ROOT, require
from tests.support.process import ServerProcess, free_port

CONNECT = ROOT / ".kafka" / "connect"
POSTGRES_SOURCE = "io.debezium.connector.postgresql.PostgresConnector"
JDBC_SINK = "io.debezium.connector.jdbc.JdbcSinkConnector"
FILE_SOURCE = "org.apache.kafka.connect.file.FileStreamSourceConnector"
FILE_SINK = "org.apache.kafka.connect.file.FileStreamSinkConnector"
STRINGS = "org.apache.kafka.connect.storage.StringConverter"

# A worker that is killed is missed after 6 s, and its tasks move on 1 s later. Connect's own: 10 s, and 5 minutes.
# worker.sync.timeout.ms: a task that is started just when a node dies fails for good after 3 s.
QUICK = {
    "worker.sync.timeout.ms": "10000",
    "session.timeout.ms": "6000",
    "heartbeat.interval.ms": "1000",
    "scheduled.rebalance.max.delay.ms": "1000",
    "offset.flush.interval.ms": "1000",
}

SMALL = ("-Xmx512M", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1")
# As connect-distributed.sh starts it.
AS_SHIPPED = (
    *("-Xms256M", "-Xmx2G", "-server", "-XX:+UseG1GC", "-XX:MaxGCPauseMillis=20"),
    *("-XX:InitiatingHeapOccupancyPercent=35", "-XX:+ExplicitGCInvokesConcurrent", "-Djava.awt.headless=true"),
)


class KafkaConnectWorker(ServerProcess):
    """One worker. Those of one `group` (and one cluster) share the connectors. `start()` after `kill()` is the same
    worker again, at the same address."""

    def __init__(
        self,
        folder: Path,
        bootstrap: str,
        group: str = "connect",
        settings: Mapping[str, str] | None = None,
        replicas: int = 1,
        java: Sequence[str] = SMALL,
    ) -> None:
        require(CONNECT)
        folder.mkdir(parents=True, exist_ok=True)
        port = free_port()
        values = {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "listeners": f"http://127.0.0.1:{port}",
            "plugin.path": str(CONNECT / "plugins"),
            "plugin.discovery": "service_load",  # the others read every class of every jar: 3 s more on two cores
            "exactly.once.source.support": "enabled",
            "key.converter": "org.apache.kafka.connect.json.JsonConverter",
            "value.converter": "org.apache.kafka.connect.json.JsonConverter",
            "config.storage.topic": f"{group}-configs",
            "config.storage.replication.factor": str(replicas),
            "offset.storage.topic": f"{group}-offsets",
            "offset.storage.replication.factor": str(replicas),
            "offset.storage.partitions": "3",
            "status.storage.topic": f"{group}-status",
            "status.storage.replication.factor": str(replicas),
            "status.storage.partitions": "3",
            **QUICK,
            **(settings or {}),
        }
        config = folder / "worker.properties"
        config.write_text("".join(f"{name}={value}\n" for name, value in values.items()))
        logs = [f"-Dkafka.logs.dir={folder}", f"-Dlog4j2.configurationFile={LOG4J}"]
        main = ["-cp", f"{CONNECT}/libs/*", "org.apache.kafka.connect.cli.ConnectDistributed"]
        command = ["java", *java, *logs, *main, str(config)]
        super().__init__(command, port, folder / "worker.log")

    def start(self, timeout_seconds: float = 120) -> float:
        """Start and wait until the worker is in its group: before that, REST answers 404 or not at all."""
        self.launch()
        return self.await_group(timeout_seconds)

    def await_group(self, timeout_seconds: float = 120) -> float:
        began = time.perf_counter()
        while self._ask_or_nothing("GET", "/connectors")[0] != 200:
            if not self.alive() or time.perf_counter() - began > timeout_seconds:
                self.kill()
                raise RuntimeError(f"the worker of Kafka Connect does not answer\n{self.tail()}")
            time.sleep(0.05)
        return time.perf_counter() - began

    # --- REST ---------------------------------------------------------------------------------------------------------

    def ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:  # Any: JSON
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=100)
        sent = None if body is None else json.dumps(body).encode()
        try:
            connection.request(method, path, sent, {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        try:
            return answer.status, json.loads(text) if text else None
        except ValueError:
            return answer.status, text.decode(errors="replace")

    def _ask_or_nothing(self, method: str, path: str) -> tuple[int, Any]:
        try:
            return self.ask(method, path)
        except (OSError, http.client.HTTPException):
            return 0, None

    def put(self, name: str, config: Mapping[str, str], timeout_seconds: float = 60) -> None:
        """Make or change a connector. 409: the group rebalances, try again; 500: a leader that has just died."""
        deadline = time.monotonic() + timeout_seconds
        while True:
            status, answer = self.ask("PUT", f"/connectors/{name}/config", dict(config))
            if status in (200, 201):
                return
            assert status in (409, 500), f"PUT {name}: {status} {answer}\n{self.tail()}"
            assert time.monotonic() < deadline, f"PUT {name}: {status} {answer}\n{self.tail()}"
            time.sleep(0.3)

    def delete(self, name: str) -> None:
        status, answer = self.ask("DELETE", f"/connectors/{name}")
        assert status == 204, f"DELETE {name}: {status} {answer}"

    def status(self, name: str) -> dict[str, Any]:
        """Empty while there is none."""
        status, answer = self._ask_or_nothing("GET", f"/connectors/{name}/status")
        return dict(answer) if status == 200 else {}

    def states(self, name: str) -> tuple[str, ...]:
        """Of the connector, then of its tasks."""
        found = self.status(name)
        return (found["connector"]["state"], *(each["state"] for each in found["tasks"])) if found else ()

    def await_running(self, name: str, tasks: int = 1, timeout_seconds: float = 60) -> None:
        deadline = time.monotonic() + timeout_seconds
        while (found := self.states(name)) != ("RUNNING",) * (1 + tasks):
            assert "FAILED" not in found, f"{name}: {self.status(name)}"
            assert time.monotonic() < deadline, f"{name} is {found} after {timeout_seconds} s\n{self.tail()}"
            time.sleep(0.1)

    def worker_of(self, name: str) -> str:
        """Which worker has task 0 of a connector, as host:port; empty while there is none."""
        tasks = self.status(name).get("tasks", [])
        return str(tasks[0]["worker_id"]) if tasks and tasks[0]["state"] == "RUNNING" else ""

    def restart_failed(self, name: str) -> list[str]:
        """As an operator does, since Connect does not: the first line of why each task had failed; none when nothing
        was restarted."""
        tasks = self.status(name).get("tasks", [])
        why = [str(each["trace"]).splitlines()[0] for each in tasks if each["state"] == "FAILED"]
        path = f"/connectors/{name}/restart?includeTasks=true&onlyFailed=true"
        return why if why and self._ask_or_nothing("POST", path)[0] in (202, 204) else []

    def tail(self, lines: int = 60) -> str:
        server_log = self.log_path.parent / "server.log"
        more = server_log.read_text(errors="replace").splitlines() if server_log.exists() else []
        more = [line[:300] for line in more if "] INFO " not in line and not line.startswith("\tat ")][-lines:]
        return super().tail(lines) + "\n" + "\n".join(more)

    def __enter__(self) -> KafkaConnectWorker:
        try:
            self.start()
        except BaseException:
            self.kill()
            raise
        return self
