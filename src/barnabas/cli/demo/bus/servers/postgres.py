"""PostgreSQL with logical replication: a new cluster in a folder of its own."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

from barnabas.cli.common.child import free_port
from barnabas.cli.demo.bus.servers.missing import Missing, need_modules
from barnabas.cli.demo.bus.servers.packages import find_program, install
from barnabas.cli.demo.bus.servers.server import Account, Server, ServerProcess, last_line

if TYPE_CHECKING:
    import psycopg

DEBIAN = Path("/usr/lib/postgresql")  # a folder for each version; none of them is on the path
USER = DATABASE = "shop"
_OTHERS = ("postgres", "nobody")  # who it runs as where this process is root's: it refuses to be root
_INITDB_S = 120.0
_SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "unix_socket_directories": "",
    "wal_level": "logical",
    "fsync": "off",  # the data go with the demo
    "shared_buffers": "32MB",
    "timezone": "UTC",
}


class Postgres(Server):
    title: ClassVar[str] = "PostgreSQL"

    def __init__(self, may_install: bool) -> None:
        super().__init__()
        self._may_install = may_install
        self._programs = Path()
        self._folder: Path | None = None
        self._account: Account | None = None
        self._process: ServerProcess | None = None
        self._port = 0

    def prepare(self) -> None:
        need_modules("psycopg")
        found = _programs()
        if found is None:
            install(self.title, "postgresql", self._may_install)
            found = _programs()
        if found is None:
            raise Missing("PostgreSQL has no initdb in any folder known here", f"Put it on the path, or into {DEBIAN}")
        self._programs = found
        self._account = _account()

    def launch(self) -> None:
        """The folder is not within the demo's: only its own user may enter that."""
        folder = self._folder = Path(tempfile.mkdtemp(prefix="barnabas-demo-postgres-"))
        self.password_file.touch(0o600)
        self.password_file.write_text(secrets.token_hex(16))
        if self._account is not None:
            for path in (folder, self.password_file):
                os.chown(path, self._account.uid, self._account.gid)
        self._initialise()
        self._port = free_port()
        command = [str(self._programs / "postgres"), "-D", str(folder / "data"), "-p", str(self._port)]
        for name, value in _SETTINGS.items():
            command += ["-c", f"{name}={value}"]
        self._process = ServerProcess(
            self.title, command, folder / "log", account=self._account, dies_by=signal.SIGQUIT
        )

    def _initialise(self) -> None:
        assert self._folder is not None
        command = [str(self._programs / "initdb"), "-D", str(self._folder / "data"), "-U", USER, "--auth=scram-sha-256"]
        command += [f"--pwfile={self.password_file}", "--encoding=UTF8", "--no-locale", "--no-sync"]
        log = self._folder / "initdb.log"
        account = self._account
        with log.open("wb") as out:
            done = subprocess.run(
                command, cwd=self._folder, stdin=subprocess.DEVNULL, stdout=out, stderr=out, timeout=_INITDB_S,
                user=account.uid if account else None, group=account.gid if account else None,
                extra_groups=[] if account else None,
            )  # fmt: skip
        if done.returncode != 0:
            raise Missing(f"PostgreSQL's initdb failed: {last_line(log)}")

    def wait(self) -> None:
        import psycopg

        def is_ready() -> bool:
            try:
                with self.connect("postgres") as connection:
                    connection.execute(f"create database {DATABASE}")
            except psycopg.OperationalError:
                return False
            return True

        assert self._process is not None
        self.took_s = self._process.wait_until(is_ready)

    def stop(self) -> None:
        if self._process is not None:
            # SIGINT disconnects clients; SIGQUIT ends at once, when one of them keeps it from ending.
            self._process.stop(signal.SIGINT, signal.SIGQUIT)
        if self._folder is not None:
            shutil.rmtree(self._folder, ignore_errors=True)

    def connect(self, database: str = DATABASE) -> psycopg.Connection:
        import psycopg

        url = f"postgresql://{USER}@{self.address}/{database}"
        return psycopg.connect(url, password=self.password_file.read_text(), autocommit=True, connect_timeout=10)

    @property
    def password_file(self) -> Path:
        assert self._folder is not None
        return self._folder / "password"

    @property
    def address(self) -> str:
        return f"127.0.0.1:{self._port}"

    @property
    def url(self) -> str:
        """Without the password."""
        return f"postgresql://{USER}@{self.address}/{DATABASE}"


def _programs() -> Path | None:
    """The folder that has both initdb and the server."""
    initdb = find_program("initdb", ())
    folders = sorted(DEBIAN.glob("*/bin"), key=lambda folder: float(folder.parent.name), reverse=True)
    if initdb is not None:
        folders.insert(0, initdb.parent)
    return next((each for each in folders if (each / "initdb").exists() and (each / "postgres").exists()), None)


def _account() -> Account | None:
    if os.geteuid() != 0:
        return None
    for name in _OTHERS:
        try:
            found = pwd.getpwnam(name)
        except KeyError:
            continue
        return Account(found.pw_uid, found.pw_gid)
    raise Missing("PostgreSQL does not run as root, and there is no other user here", "Run the demo as another user")
