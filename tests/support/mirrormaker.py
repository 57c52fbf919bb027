"""The real MirrorMaker 2 (dedicated mode, from .kafka/connect) as a child process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.support.kafka_connect import CONNECT, SMALL
from tests.support.paths import LOG4J, require
from tests.support.process import ServerProcess, free_port

_INTERNAL = ("config.storage", "offset.storage", "status.storage", "checkpoints.topic", "heartbeats.topic")
_OFTEN = (
    "emit.checkpoints.interval.seconds",
    "sync.group.offsets.interval.seconds",
    "refresh.topics.interval.seconds",
    "refresh.groups.interval.seconds",
)


class MirrorMaker(ServerProcess):
    """Every cluster to every other, unless the settings say otherwise."""

    def __init__(
        self,
        folder: Path,
        clusters: Mapping[str, str],
        settings: Mapping[str, str] | None = None,
        java: Sequence[str] = SMALL,
    ) -> None:
        """`clusters`: names and where they are."""
        require(CONNECT)
        folder.mkdir(parents=True, exist_ok=True)
        values = {
            "clusters": ",".join(clusters),
            "replication.factor": "1",
            "offset-syncs.topic.replication.factor": "1",
            **{f"{name}.replication.factor": "1" for name in _INTERNAL},
            **dict.fromkeys(_OFTEN, "1"),
            "sync.group.offsets.enabled": "true",
            "dedicated.mode.enable.internal.rest": "true",
            "listeners": f"http://127.0.0.1:{free_port()}",
            **{f"{name}.bootstrap.servers": address for name, address in clusters.items()},
            **{f"{name}.exactly.once.source.support": "enabled" for name in clusters},
            **{f"{one}->{other}.enabled": "true" for one in clusters for other in clusters if one != other},
            **(settings or {}),
        }
        config = folder / "mm2.properties"
        config.write_text("".join(f"{name} = {value}\n" for name, value in values.items()))
        logs = [f"-Dkafka.logs.dir={folder}", f"-Dlog4j2.configurationFile={LOG4J}"]
        main = ["-cp", f"{CONNECT}/libs/*", "org.apache.kafka.connect.mirror.MirrorMaker"]
        super().__init__(["java", *java, *logs, *main, str(config)], 0, folder / "mm2.log")

    def start(self, timeout_seconds: float = 60) -> float:
        """It has no port that says when it is ready: whoever waits looks at the topics."""
        self.launch()
        return 0.0

    def tail(self, lines: int = 60) -> str:
        server_log = self.log_path.parent / "server.log"
        more = server_log.read_text(errors="replace").splitlines() if server_log.exists() else []
        more = [line[:300] for line in more if "] INFO " not in line and not line.startswith("\tat ")][-lines:]
        return super().tail(lines) + "\n" + "\n".join(more)
