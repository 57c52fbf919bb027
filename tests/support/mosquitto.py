"""A real mosquitto of a test's own, on a free port of 127.0.0.1, that keeps sessions and messages on disk.

with Mosquitto(folder, users={"sensor": "secret"}) as broker:
    connect(broker.url)
"""

from __future__ import annotations

import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from tests.support.members import until
from tests.support.process import ServerProcess, free_port

PROGRAM = Path("/usr/sbin/mosquitto")


class Mosquitto(ServerProcess):
    """`start()` after `stop()` or `kill()` goes on with the same data and port."""

    def __init__(self, folder: Path, users: Mapping[str, str] | None = None, lines: str = "") -> None:
        """`lines` are more lines of its configuration."""
        if not PROGRAM.exists():
            raise RuntimeError(f"{PROGRAM} is not there: run tools/setup_connect/mosquitto.sh first")
        folder.mkdir(parents=True, exist_ok=True)
        port = free_port()
        config = [
            f"listener {port} 127.0.0.1",
            "persistence true",
            f"persistence_location {folder}/",
            "max_queued_messages 0",
            "set_tcp_nodelay true",
            "user root",
            "log_type error",
            "log_type warning",
        ]
        if users is None:
            config.append("allow_anonymous true")
        else:
            passwords = folder / "passwords"
            passwords.touch(0o600)
            for name, password in users.items():
                command = ["mosquitto_passwd", "-b", str(passwords), name, password]
                subprocess.run(command, check=True, capture_output=True, timeout=20)
            config += ["allow_anonymous false", f"password_file {passwords}"]
        path = folder / "mosquitto.conf"
        path.write_text("\n".join(config) + f"\n{lines}\n")
        super().__init__([str(PROGRAM), "-c", str(path)], port, folder / "mosquitto.log")

    def save(self) -> None:
        """Writes sessions and messages to disk, as it does by itself every half hour: what a kill leaves."""
        database = self.log_path.parent / "mosquitto.db"
        before = database.stat().st_mtime_ns if database.exists() else 0
        asked = [0.0]

        def is_saved() -> bool:
            if time.monotonic() - asked[0] > 1:  # a signal that comes just when it has saved is forgotten
                self.signal(signal.SIGUSR1)
                asked[0] = time.monotonic()
            return database.exists() and database.stat().st_mtime_ns > before

        until(is_saved, "mosquitto to save")

    @property
    def url(self) -> str:
        return f"mqtt://127.0.0.1:{self.port}"
