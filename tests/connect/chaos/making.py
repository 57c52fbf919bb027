"""A program that makes numbers, to be killed and started again: `python -m tests.connect.chaos.making KIND WHERE FILE`.

It goes on behind the last number that is known to have arrived, and names what may have arrived before as it did then.
FILE has that number at any time."""

from __future__ import annotations

import http.client
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.support.connect import ENVIRONMENT
from tests.support.paths import ROOT
from tests.support.process import ServerProcess

AT_ONCE = 50


class Making(ServerProcess):
    """The program as a process."""

    def __init__(self, kind: str, where: str, folder: Path) -> None:
        self._file = folder / "made"
        command = [sys.executable, "-m", __name__, kind, where, str(self._file)]
        both = f"{ENVIRONMENT['PYTHONPATH']}{os.pathsep}{ROOT}"  # the folder that pytest runs in may be another
        super().__init__(command, 0, folder / "making.log", {**ENVIRONMENT, "PYTHONPATH": both})

    def start(self, timeout_seconds: float = 60) -> float:
        """It has no port."""
        self.launch()
        return 0.0

    def begin(self) -> None:
        self.start()

    def end(self) -> int:
        """Lets it finish what it has begun."""
        self._file.with_suffix(".end").touch()
        assert self.process is not None
        assert self.process.wait(60) == 0, self.tail()
        return int(self._file.read_text())


def files(where: str) -> Callable[[int], None]:
    """Whole files by renaming, one for each group of numbers."""
    folder = Path(where)

    def make(first: int) -> None:
        text = "".join(f'{{"n": {number}}}\n' for number in range(first, first + AT_ONCE))
        file = folder / f"{first:09}.jsonl"
        if not file.exists():  # one that was renamed before a kill is not written again: that would be another file
            file.with_name(f".{file.name}.tmp").write_text(text)
            file.with_name(f".{file.name}.tmp").rename(file)

    return make


def webhook(where: str) -> Callable[[int], None]:
    """Requests beside each other, each sent until it is answered with 200."""
    host, _, port = where.partition(":")
    threads = ThreadPoolExecutor(AT_ONCE)

    def post(number: int) -> None:
        headers = {"Idempotency-Key": str(number)}
        while True:
            connection = http.client.HTTPConnection(host, int(port), timeout=40)
            try:
                connection.request("POST", "/", f'{{"n": {number}}}', headers)
                if connection.getresponse().status == 200:
                    return
            except (OSError, http.client.HTTPException):  # nobody listens, or was killed before the answer
                pass
            finally:
                connection.close()
            time.sleep(0.05)

    def make(first: int) -> None:
        for _ in threads.map(post, range(first, first + AT_ONCE)):
            pass

    return make


def main(kind: str, where: str, name: str) -> None:
    make = {"files": files, "webhook": webhook}[kind](where)
    file = Path(name)
    made = int(file.read_text()) if file.exists() else 0
    while not file.with_suffix(".end").exists():
        make(made + 1)
        made += AT_ONCE
        file.with_suffix(".new").write_text(str(made))
        file.with_suffix(".new").rename(file)
        time.sleep(0.05)


if __name__ == "__main__":
    main(*sys.argv[1:])
