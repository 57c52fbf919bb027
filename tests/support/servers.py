"""The two servers the tests compare: a Barnabas node and a real Apache Kafka, both as child processes on free ports."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.paths import LIBS, LOG4J, ROOT, require_setup
from tests.support.process import ServerProcess, free_port


class BarnabasNode(ServerProcess):
    """`barnabas up` on its own data folder. Settings go in as a Kafka `server.properties`, which the node reads as
    it is."""

    def __init__(self, folder: Path, settings: Mapping[str, str] | None = None, port: int | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.data = folder / "data"
        port = port or free_port()
        command = [sys.executable, "-m", "barnabas.cli.main", "up", "--data", str(self.data)]
        if "listeners" not in (settings or {}):
            command += ["--port", str(port)]
        if settings:
            config = folder / "server.properties"
            config.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
            command += ["--config", str(config)]
        super().__init__(command, port, folder / "node.log", {"PYTHONPATH": str(ROOT / "src"), "PYTHONUNBUFFERED": "1"})


class KafkaNode(ServerProcess):
    """A single Apache Kafka, broker and controller in one, with the settings of its own distribution, from
    .kafka/libs."""

    CLUSTER_ID = "MkU3OEVBNTcwNTJENDM2Qk"

    def __init__(self, folder: Path, settings: Mapping[str, str] | None = None, plugins: Sequence[Path] = ()) -> None:
        """`plugins` are jars with classes that the settings name."""
        require_setup()
        folder.mkdir(parents=True, exist_ok=True)
        self.data = folder / "data"
        self.config = folder / "server.properties"
        self.java_options = [
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            f"-Dkafka.logs.dir={folder}",
            f"-Dlog4j2.configurationFile={LOG4J}",
        ]
        port = free_port()
        values = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "controller.quorum.bootstrap.servers": f"127.0.0.1:{port + 1}",
            "listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{port + 1}",
            "advertised.listeners": f"PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{port + 1}",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "inter.broker.listener.name": "PLAINTEXT",
            "log.dirs": str(self.data),
            "offsets.topic.replication.factor": "1",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "share.coordinator.state.topic.replication.factor": "1",
            "share.coordinator.state.topic.min.isr": "1",
            **(settings or {}),
        }
        self.config.write_text("".join(f"{name}={value}\n" for name, value in values.items()))
        self.classpath = ":".join((f"{LIBS}/*", *map(str, plugins)))
        command = ["java", "-Xmx512M", *self.java_options, "-cp", self.classpath, "kafka.Kafka", str(self.config)]
        super().__init__(command, port, folder / "node.log")

    def start(self, timeout_seconds: float = 90) -> float:
        if not (self.data / "meta.properties").exists():
            format_command = [
                "kafka.tools.StorageTool",
                "format",
                "-g",
                "-t",
                self.CLUSTER_ID,
                "-c",
                str(self.config),
                "--standalone",
            ]
            with self.log_path.open("ab") as log:
                subprocess.run(
                    ["java", "-Xmx256M", *self.java_options, "-cp", self.classpath, *format_command],
                    check=True,
                    stdout=log,
                    stderr=log,
                    timeout=60,
                )
        return super().start(timeout_seconds)

    def tail(self, lines: int = 60) -> str:
        server_log = self.log_path.parent / "server.log"
        more = server_log.read_text(errors="replace").splitlines() if server_log.exists() else []
        more = [line[:300] for line in more if "] INFO " not in line and not line.startswith("\tat ")][-lines:]
        return super().tail(lines) + "\n" + "\n".join(more)
