"""Targets of sinks that can be stopped, filled up, and given another password."""

from __future__ import annotations

import json
import shutil
import subprocess
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any  # options as a definition has them

import duckdb
import obstore

from tests.connect.chaos.test_messages import StompClient
from tests.support import artemis
from tests.support.artemis import Artemis
from tests.support.connect import all_records
from tests.support.mosquitto import Mosquitto
from tests.support.nginx import nginx
from tests.support.opensearch import OpenSearchProcess, Proxy
from tests.support.postgres import Postgres
from tests.support.process import ServerProcess, free_port
from tests.support.s3 import S3Process
from tests.support.servers import BarnabasNode

FIRST, SECOND = "first-of-the-tests", "second-of-the-tests"


class Target(ABC):
    """`disk`: where its data are, if it is to be full. `port`: what a slow line leads to."""

    kind: str
    once = True
    port = 0
    server: ServerProcess
    refused = ""  # what is said of a wrong password
    unreachable = "refused"

    def __init__(self, folder: Path, disk: Path) -> None:
        self.folder, self.disk = folder, disk
        folder.mkdir(parents=True, exist_ok=True)
        disk.mkdir(parents=True, exist_ok=True)
        self.secret = folder / "secret"
        self.secret.write_text(FIRST)
        self.via = 0  # the port of a line in front of it

    @property
    def reference(self) -> str:
        return f"${{file:{self.secret}}}"

    @abstractmethod
    def options(self) -> dict[str, Any]: ...

    @abstractmethod
    def found(self) -> list[int]: ...

    def start(self) -> None:
        self.server.start()

    def stop(self) -> None:
        self.server.kill()

    def rotate(self, password: str) -> None:
        """The old one ends, also for who is connected. Of a target with passwords."""
        raise AssertionError(f"{self.kind} has no password to change")

    def close(self) -> None:
        self.server.kill()


class PostgresTarget(Target):
    kind = "postgres"
    refused = "password authentication failed"

    def __init__(self, folder: Path, disk: Path) -> None:
        super().__init__(folder, disk)
        self.server: Postgres = Postgres()
        self.server.start()
        self.port = self.server.port
        shutil.chown(disk, "postgres", "postgres")
        self.server.execute(f"create role app login password '{FIRST}'")
        self.server.execute(f"create tablespace small location '{disk}'")
        self.server.execute("create database shop owner app tablespace small template template0")

    def options(self) -> dict[str, Any]:
        url = f"postgresql://app@127.0.0.1:{self.via or self.port}/shop"
        return {"url": url, "password": self.reference, "mode": "append", "table": "numbers"}

    def found(self) -> list[int]:
        if not self.server.execute("select to_regclass('numbers') is not null", database="shop")[0][0]:
            return []
        return [row[0] for row in self.server.execute("select n from numbers", database="shop")]

    def rotate(self, password: str) -> None:
        self.server.execute(f"alter role app password '{password}'")
        self.server.execute("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'app'")

    def close(self) -> None:
        assert isinstance(self.server, Postgres)
        self.server.remove()


class DuckdbTarget(Target):
    kind = "duckdb"

    def options(self) -> dict[str, Any]:
        return {"path": str(self.disk / "w.duckdb"), "mode": "append", "table": "numbers", "release": True}

    def found(self) -> list[int]:
        try:
            with duckdb.connect(str(self.disk / "w.duckdb"), read_only=True) as opened:
                return [row[0] for row in opened.execute("select n from numbers").fetchall()]
        except duckdb.Error:  # the worker has it open, or there is no table yet
            return []

    def close(self) -> None:
        return


class FilesTarget(Target):
    kind = "files"

    def options(self) -> dict[str, Any]:
        return {"folder": str(self.disk), "max_s": 1}

    def found(self) -> list[int]:
        return [json.loads(line)["n"] for each in self.disk.rglob("*.jsonl") for line in each.read_text().splitlines()]

    def close(self) -> None:
        return


class S3Target(Target):
    kind = "s3"
    refused = "secret_access_key"
    unreachable = "Check 'endpoint' and that it runs"

    def __init__(self, folder: Path, disk: Path) -> None:
        super().__init__(folder, disk)
        self.server: S3Process = S3Process(folder / "s3", disk)
        self.port = self.server.port
        self._set(FIRST)
        self.server.start()
        self.bucket = self.server.bucket("numbers", FIRST)

    def _set(self, password: str) -> None:
        config = self.folder / "s3" / "s3proxy.conf"
        lines = [each for each in config.read_text().splitlines() if "s3proxy.credential" not in each]
        config.write_text("\n".join([*lines, f"s3proxy.credential={password}\n"]))

    def options(self) -> dict[str, Any]:
        changed = {"endpoint": f"http://127.0.0.1:{self.via or self.port}", "secret_access_key": self.reference}
        return {**self.bucket.options, **changed, "format": "jsonl", "object_seconds": 1, "timeout_seconds": 10}

    def found(self) -> list[int]:
        try:
            names = [each for each in self.bucket.names() if each.endswith(".gz")]  # others are on their way
            return [row["n"] for each in names for row in self.bucket.rows(each)]
        except (obstore.exceptions.BaseError, FileNotFoundError):
            return []

    def rotate(self, password: str) -> None:
        self.server.kill()
        self._set(password)
        self.server.start()
        self.bucket = self.server.bucket("numbers", password)


class OpensearchTarget(Target):
    """The login is checked by a proxy in front of it: OpenSearch as it comes has none."""

    kind = "opensearch"
    refused = "refuses the login (401)"
    unreachable = "cannot be reached"

    def __init__(self, folder: Path, disk: Path) -> None:
        super().__init__(folder, disk)
        self.server: OpenSearchProcess = OpenSearchProcess(folder / "opensearch")
        self.server.start()
        self._password = FIRST
        self._proxy = Proxy(self.server.port, self._guard)
        self.port = self._proxy.port

    def _guard(self, number: int, path: str, headers: dict[str, str]) -> tuple[int, bytes] | None:
        from base64 import b64encode

        right = "Basic " + b64encode(f"app:{self._password}".encode()).decode()
        return None if headers.get("Authorization") == right else (401, b"Unauthorized")

    def options(self) -> dict[str, Any]:
        url = f"http://127.0.0.1:{self.via or self.port}"
        return {"url": url, "index": "numbers", "username": "app", "password": self.reference, "retry_seconds": 2}

    def found(self) -> list[int]:
        assert isinstance(self.server, OpenSearchProcess)
        return [each["n"] for each in self.server.documents("numbers").values()]

    def rotate(self, password: str) -> None:
        self._password = password

    def block(self, on: bool) -> None:
        """As the flood-stage watermark does when the disk is full."""
        assert isinstance(self.server, OpenSearchProcess)
        settings = {"index.blocks.read_only_allow_delete": True if on else None}
        assert self.server.ask("PUT", "/numbers/_settings", settings)[0] == 200

    def close(self) -> None:
        self._proxy.close()
        self.server.kill()


class JmsTarget(Target):
    kind = "jms"
    refused = "does not take the login"

    def __init__(self, folder: Path, disk: Path) -> None:
        super().__init__(folder, disk)
        self.server: Artemis = Artemis(folder / "artemis")
        self.port = self.server.port
        self._set(FIRST)
        self.server.start()
        self._client: StompClient | None = None

    def _set(self, password: str) -> None:
        users = self.folder / "artemis" / "etc" / "users.properties"
        users.write_text(f"{artemis.USER} = {artemis.PASSWORD}\napp = {password}\n")
        (users.parent / "roles.properties").write_text(f"amq = {artemis.USER},app\n")

    def options(self) -> dict[str, Any]:
        url = f"stomp://127.0.0.1:{self.via or self.port}"
        return {"url": url, "username": "app", "password": self.reference, "queue": "numbers"}

    def found(self) -> list[int]:
        assert isinstance(self.server, Artemis)
        if self._client is None:
            self._client = StompClient(self.server, "numbers")
        self._client.connected()
        return list(self._client.received.values())

    def rotate(self, password: str) -> None:
        self.server.kill()
        self._set(password)
        self.server.start()

    def close(self) -> None:
        if self._client is not None:
            self._client.close()
        self.server.kill()


class MqttTarget(Target):
    """A device that keeps what it gets; its session is at the broker."""

    kind = "mqtt"
    once = False
    refused = "refuses the login"

    def __init__(self, folder: Path, disk: Path) -> None:
        from tests.connect.chaos.test_messages import MqttPeer, SavedMosquitto

        super().__init__(folder, disk)
        self.server: SavedMosquitto = SavedMosquitto(folder / "mosquitto", {"app": FIRST, "device": "device"})
        self.server.start()
        self.port = self.server.port
        self._peer = MqttPeer(self.server, "device", "devices/#", "device")

    def options(self) -> dict[str, Any]:
        url = f"mqtt://127.0.0.1:{self.via or self.port}"
        return {"url": url, "username": "app", "password": self.reference, "topic": "devices/set"}

    def found(self) -> list[int]:
        return list(self._peer.received)

    def rotate(self, password: str) -> None:
        self.server.kill()
        passwords = self.folder / "mosquitto" / "passwords"
        subprocess.run(["mosquitto_passwd", "-b", str(passwords), "app", password], check=True, timeout=20)
        self.server.start()

    def close(self) -> None:
        self._peer.close()
        assert isinstance(self.server, Mosquitto)
        self.server.stop()


class HttpTarget(Target):
    """nginx, which keeps a file for each record."""

    kind = "http"
    refused = "answers 401"

    def __init__(self, folder: Path, disk: Path) -> None:
        super().__init__(folder, disk)
        self.port = free_port()
        blocks = f'root {disk}; auth_basic "x"; auth_basic_user_file {folder}/users;'
        blocks += " dav_methods PUT; create_full_put_path on;"
        self._set(FIRST)
        self.server = nginx(folder, self.port, blocks, bodies=disk)
        self.server.start()

    def _set(self, password: str) -> None:
        (self.folder / "users").write_text(f"app:{{PLAIN}}{password}\n")

    def options(self) -> dict[str, Any]:
        url = f"http://127.0.0.1:{self.via or self.port}/numbers/{{key}}"
        return {"url": url, "method": "PUT", "username": "app", "password": self.reference, "timeout_s": 10}

    def found(self) -> list[int]:
        folder = self.disk / "numbers"
        return [int(each.name) for each in folder.iterdir()] if folder.exists() else []

    def rotate(self, password: str) -> None:
        self._set(password)


class KafkaTarget(Target):
    kind = "kafka"
    unreachable = ""

    def __init__(self, folder: Path, disk: Path) -> None:
        super().__init__(folder, disk)
        node = BarnabasNode(folder / "node")
        node.command[node.command.index("--data") + 1] = str(disk / "data")
        self.server = node
        self.server.start()

    def options(self) -> dict[str, Any]:
        return {"bootstrap": self.server.bootstrap, "topic": "numbers"}

    def found(self) -> list[int]:
        return [json.loads(each.value() or b"")["n"] for each in all_records(self.server.bootstrap, "numbers")]


TARGETS: dict[str, type[Target]] = {
    each.kind: each
    for each in (
        PostgresTarget,
        DuckdbTarget,
        FilesTarget,
        S3Target,
        OpensearchTarget,
        JmsTarget,
        MqttTarget,
        HttpTarget,
        KafkaTarget,
    )
}
