"""mosquitto, a broker of MQTT. It keeps nothing on disk: the demo does not restart it."""

from __future__ import annotations

from pathlib import Path
from typing import ClassVar

from barnabas.cli.common.child import free_port
from barnabas.cli.demo.bus.servers.missing import Missing, need_modules
from barnabas.cli.demo.bus.servers.packages import find_program, install
from barnabas.cli.demo.bus.servers.server import OwnServer, ServerProcess

FOLDERS: tuple[Path, ...] = (Path("/usr/sbin"), Path("/usr/local/sbin"))  # not on the path of everybody


class Mosquitto(OwnServer):
    title: ClassVar[str] = "mosquitto"

    def __init__(self, folder: Path, may_install: bool) -> None:
        super().__init__(folder)
        self._may_install = may_install
        self._program: Path | None = None

    def prepare(self) -> None:
        need_modules("paho")
        self._program = find_program("mosquitto", FOLDERS)
        if self._program is None:
            install(self.title, "mosquitto", self._may_install)
            self._program = find_program("mosquitto", FOLDERS)
        if self._program is None:
            raise Missing("mosquitto is in no folder known here", "Put it on the path")

    def launch(self) -> None:
        self._port = free_port()
        self._folder.mkdir(parents=True, exist_ok=True)
        config = self._folder / "mosquitto.conf"
        config.write_text(
            f"listener {self._port} 127.0.0.1\nallow_anonymous true\npersistence false\n"
            "max_queued_messages 0\n"  # it would drop what the source has not read yet
            "user root\n"  # a root's mosquitto changes its user else, and is then not told when the demo is killed
            "log_type error\nlog_type warning\n"
        )
        self._process = ServerProcess(self.title, [str(self._program), "-c", str(config)], self._folder / "log")

    @property
    def port(self) -> int:
        return self._port

    @property
    def address(self) -> str:
        return f"mqtt://127.0.0.1:{self._port}"
