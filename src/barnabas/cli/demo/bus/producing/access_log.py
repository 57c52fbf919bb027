"""A service that writes a log of requests in nginx's format, which is rotated once."""

from __future__ import annotations

import random
import time
from datetime import UTC, datetime
from pathlib import Path

from barnabas.cli.demo.bus.producing.maker import Maker

_ROTATED_AFTER_S = 4.0
_PATHS = ("/orders", "/cart", "/customers", "/search")
_AGENTS = ("Mozilla/5.0", "curl/8.5.0", "okhttp/4.12")


class AccessLog(Maker):
    def __init__(self, path: Path, rate: float) -> None:
        super().__init__(rate)
        self.is_rotated = False
        self._path, self._chance = path, random.Random()
        path.parent.mkdir(parents=True, exist_ok=True)
        self._file = path.open("a")
        self._rotated_at = time.monotonic() + _ROTATED_AFTER_S
        self.make_one()  # so that the source finds a log when it starts

    def start(self) -> None:
        self._rotated_at = time.monotonic() + _ROTATED_AFTER_S
        super().start()

    def close(self) -> None:
        super().close()
        self._file.close()

    def make_one(self) -> None:
        if not self.is_rotated and time.monotonic() > self._rotated_at:
            self._rotate()
        chance = self._chance
        at = datetime.now(UTC).strftime("%d/%b/%Y:%H:%M:%S +0000")
        path = f"{chance.choice(_PATHS)}?request={self.made + 1}"  # no two lines are equal
        status = chance.choice((200, 200, 200, 200, 304, 404, 500))
        line = f'127.0.0.1 - - [{at}] "GET {path} HTTP/1.1" {status} {chance.randint(90, 9000)} "-"'
        self._file.write(f'{line} "{chance.choice(_AGENTS)}"\n')
        self._file.flush()
        self.made += 1

    def _rotate(self) -> None:
        """As logrotate does it with `create`."""
        self._file.close()
        self._path.rename(self._path.with_name(f"{self._path.name}.1"))
        self._file = self._path.open("a")
        self.is_rotated = True
