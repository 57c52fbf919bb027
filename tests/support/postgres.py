"""A real PostgreSQL of a test's own: Debian's package, a new data folder, a free port of 127.0.0.1, logins by
password, and wal_level=logical.

    with Postgres() as database:
        database.execute("create table orders (id int primary key)")
        connect(database.url("postgres"))
"""

from __future__ import annotations

import atexit
import contextlib
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import psycopg

from tests.support.paths import ROOT
from tests.support.process import ServerProcess, _end_with_parent, free_port

BIN = Path("/usr/lib/postgresql/15/bin")
USER = "postgres"  # the superuser of the database, and of the system where the tests run as root
NEWER = ROOT / ".kafka" / "postgres" / "bin"  # PostgreSQL 17
PASSWORD = "secret-of-the-tests"
_template: list[Path] = []


class Postgres(ServerProcess):
    """`start()` after `stop()` or `kill()` goes on with the same data and port. `remove()` deletes the data;
    leaving `with` does both."""

    def __init__(
        self,
        settings: Mapping[str, str] | None = None,
        port: int | None = None,
        new_identity: bool = False,
        programs: Path = BIN,
    ) -> None:
        """`new_identity`: a system identifier of its own, which takes another second. `programs`: of another version,
        with an identity of its own, too."""
        if not (programs / "postgres").exists():
            raise RuntimeError(f"{programs}/postgres is not there: run tools/setup_connect/postgres.sh first")
        self._programs = programs
        # Not pytest's tmp_path: only the user of the tests can enter that, and PostgreSQL does not run as root.
        self.folder = Path(tempfile.mkdtemp(prefix="barnabas-postgres-"))
        self.data = self.folder / "data"
        self._new_identity = new_identity or programs != BIN
        self.settings = {
            "listen_addresses": "127.0.0.1",
            "unix_socket_directories": "",
            "wal_level": "logical",
            "fsync": "off",  # a killed process loses nothing without it; only a machine that loses power does
            "shared_buffers": "32MB",
            "max_wal_senders": "20",
            "max_replication_slots": "20",
            "timezone": "UTC",
            **(settings or {}),
        }
        self._as_user: dict[str, Any] = {}  # Any: keyword arguments of Popen
        if os.getuid() == 0:
            account = pwd.getpwnam(USER)
            self._as_user = {"user": account.pw_uid, "group": account.pw_gid, "extra_groups": []}
            os.chown(self.folder, account.pw_uid, account.pw_gid)
        port = port or free_port()
        command = [str(programs / "postgres"), "-D", str(self.data), "-p", str(port)]
        for name, value in self.settings.items():
            command += ["-c", f"{name}={value}"]
        super().__init__(command, port, self.folder / "postgres.log")

    def _fill(self) -> None:
        """The data folder, from one that is initialised once for all servers of this process."""
        if self._new_identity:
            self._initialise(self.data)
            return
        if not _template:
            folder = Path(tempfile.mkdtemp(prefix="barnabas-postgres-"))
            atexit.register(shutil.rmtree, folder, ignore_errors=True)
            if self._as_user:
                shutil.chown(folder, USER, USER)
            self._initialise(folder / "data")
            _template.append(folder / "data")
        subprocess.run(["cp", "-a", str(_template[0]), str(self.data)], check=True, timeout=120)

    def _initialise(self, data: Path) -> None:
        password = self.folder / "password"
        password.write_text(PASSWORD)
        password.chmod(0o644)
        self._run("initdb", "-D", str(data), "-U", USER, f"--pwfile={password}", "--auth=scram-sha-256",
                  "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync", "--no-instructions")  # fmt: skip
        with (data / "pg_hba.conf").open("a") as rules:
            rules.write("host replication all 127.0.0.1/32 scram-sha-256\n")

    def _run(self, program: str, *arguments: str) -> None:
        done = subprocess.run(
            [str(self._programs / program), *arguments],
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
            **self._as_user,
        )
        assert done.returncode == 0, f"{program}: {done.stdout}{done.stderr}"

    def launch(self) -> None:
        if not self.data.exists():
            self._fill()
        with self.log_path.open("ab") as log:
            self.process = subprocess.Popen(
                self.command,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                preexec_fn=_end_with_parent,
                **self._as_user,
            )

    def start(self, timeout_seconds: float = 60) -> float:
        """Start and wait until it answers queries, its recovery after a crash included."""
        took = super().start(timeout_seconds)
        began = time.perf_counter()
        while True:
            try:
                self.execute("select 1")
                return took + time.perf_counter() - began
            except psycopg.OperationalError:
                if not self.alive() or time.perf_counter() - began > timeout_seconds:
                    raise RuntimeError(f"PostgreSQL does not answer\n{self.tail()}") from None
                time.sleep(0.02)

    def stop(self, timeout_seconds: float = 20) -> int:
        """A fast shutdown: clients are disconnected. SIGTERM would wait for them."""
        if self.alive():
            self.signal(signal.SIGINT)
        assert self.process is not None
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(timeout_seconds)
        self.kill()
        return self.process.returncode

    def kill(self) -> None:
        """kill -9 of the postmaster and of its children, as when the machine fails."""
        if not self.alive():
            return
        self.signal(signal.SIGSTOP)  # so that it starts nothing meanwhile
        children = self._children()
        for pid in children:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        super().kill()
        deadline = time.monotonic() + 10
        while any(_runs(pid) for pid in children):  # a new server refuses to start beside them
            assert time.monotonic() < deadline, "children of the postmaster do not end"
            time.sleep(0.01)

    def _children(self) -> list[int]:
        found = Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text()
        return [int(pid) for pid in found.split()]

    def copy(self, as_standby: bool = False) -> Postgres:
        """Another server with the data of this one, which has to be stopped: a backup. A standby is promoted by
        `pg_promote()`, and is on a new timeline then."""
        assert not self.alive()
        other = Postgres(self.settings, programs=self._programs)
        subprocess.run(["cp", "-a", str(self.data), str(other.data)], check=True, timeout=120)
        if as_standby:
            signal_file = other.data / "standby.signal"
            signal_file.touch()
            shutil.copystat(self.data / "PG_VERSION", signal_file)
            if os.getuid() == 0:
                shutil.chown(signal_file, USER, USER)
        return other

    def remove(self) -> None:
        self.kill()
        shutil.rmtree(self.folder, ignore_errors=True)

    def url(self, database: str = USER, user: str = USER) -> str:
        """Without the password, as a definition has it."""
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def connect(self, database: str = USER, user: str = USER, password: str = PASSWORD) -> psycopg.Connection:
        return psycopg.connect(self.url(database, user), password=password, autocommit=True, connect_timeout=10)

    def execute(
        self, statement: str, parameters: Sequence[object] | None = None, database: str = USER
    ) -> list[tuple[Any, ...]]:  # Any: columns of any statement
        """One statement (several, separated by ;, where there are no parameters), committed; its rows."""
        with self.connect(database) as connection:
            cursor = connection.execute(statement, parameters)
            return cursor.fetchall() if cursor.description else []

    def __enter__(self) -> Postgres:
        try:
            self.start()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.remove()  # nobody needs the data: a shutdown would write them first


def _runs(pid: int) -> bool:
    """Also false of a zombie, which nobody may have collected yet."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False
