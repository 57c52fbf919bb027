"""S3 by s3proxy: it checks signatures as S3 does, and its objects are files in a folder that can stay."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from barnabas.cli.common.child import free_port
from barnabas.cli.demo.bus.servers.jars import Jars
from barnabas.cli.demo.bus.servers.java import find_java
from barnabas.cli.demo.bus.servers.missing import need_modules
from barnabas.cli.demo.bus.servers.server import OwnServer, ServerProcess

if TYPE_CHECKING:
    from obstore.store import S3Store

OLDEST_JAVA = 17
JARS = Jars("org.gaul", "s3proxy", "4.1.0", 53, "jar-with-dependencies")
KEY = "demo"
BUCKET = "company"


class S3Proxy(OwnServer):
    title: ClassVar[str] = "S3 (s3proxy)"

    def __init__(self, folder: Path, objects: Path) -> None:
        super().__init__(folder)
        self._objects = objects
        self._java = self._jars = Path()

    def prepare(self) -> None:
        need_modules("obstore", "pyarrow")
        self._java = find_java(OLDEST_JAVA)
        self._jars = JARS.get(self._java)

    def launch(self) -> None:
        self._port = free_port()
        self._folder.mkdir(parents=True, exist_ok=True)
        (self._objects / BUCKET).mkdir(parents=True, exist_ok=True)
        secret = secrets.token_hex(16)
        self.secret_file.touch(0o600)
        self.secret_file.write_text(secret)
        settings = {
            "s3proxy.endpoint": self.address,
            "s3proxy.authorization": "aws-v2-or-v4",
            "s3proxy.identity": KEY,
            "s3proxy.credential": secret,
            "jclouds.provider": "filesystem-nio2",
            "jclouds.filesystem.basedir": str(self._objects),
        }
        config = self._folder / "s3proxy.conf"
        config.touch(0o600)
        config.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        jar = next(self._jars.glob("*.jar"))
        command = [str(self._java), "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-jar", str(jar)]
        self._process = ServerProcess(
            self.title, [*command, "--properties", str(config)], self._folder / "log", environment={"LOG_LEVEL": "warn"}
        )

    def store(self) -> S3Store:
        from obstore.store import S3Store

        return S3Store(
            BUCKET,
            config={
                "endpoint": self.address,
                "region": "us-east-1",
                "access_key_id": KEY,
                "secret_access_key": self.secret_file.read_text(),
                "virtual_hosted_style_request": False,
            },
            client_options={"allow_http": True},
        )

    @property
    def secret_file(self) -> Path:
        return self._folder / "secret"

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._port}"
