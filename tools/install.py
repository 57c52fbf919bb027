"""Installs pinned requirements with pip, and shows what is fetched, how much of it, and what it is for.

    python tools/install.py requirements/base.txt

On a terminal there is a bar; elsewhere a line for each large part.
"""

from __future__ import annotations

import os
import sys
import threading
import time
from pathlib import Path
from typing import TextIO

sys.path.insert(0, str(Path(__file__).parents[1] / "src"))  # before anything is installed

from barnabas.cli.common.installing import Installation

_DRAW_S = 0.2
_INTERRUPTED = 130
_WIDTH = 79


def _draw(installation: Installation, ended: threading.Event, screen: TextIO) -> None:
    began = time.monotonic()
    while not ended.wait(_DRAW_S):
        line = installation.bar(time.monotonic() - began)
        screen.write(f"\r\x1b[K  {line}"[: _WIDTH + len("\r\x1b[K")])
        screen.flush()
    screen.write("\r\x1b[K")
    screen.flush()


def install(requirements: str) -> int:
    installation, ended = Installation([Path(requirements)]), threading.Event()
    drawing = None
    if sys.stderr.isatty():
        drawing = threading.Thread(target=_draw, args=(installation, ended, sys.stderr), daemon=True)
        drawing.start()
    try:
        why = installation.run(lambda line: print(f"  {line}", flush=True) if drawing is None else None)
    except KeyboardInterrupt:
        installation.stop()
        why = ""
        return _INTERRUPTED
    finally:
        ended.set()
        if drawing is not None:
            drawing.join()
    if not why:
        return 0
    if os.environ.get("BARNABAS_TRACE"):
        sys.stderr.write(installation.said)
    print(
        f"install: {requirements} could not be installed: {why}. Run it again when that is mended;"
        " BARNABAS_TRACE=1 shows what pip says",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(install(sys.argv[1]))
