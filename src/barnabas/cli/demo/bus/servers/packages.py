"""Programs of this machine, and Debian's packages where a person allowed to install them."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from barnabas.cli.common.screen import note
from barnabas.cli.demo.bus.servers.missing import Missing

INSTALL_S = 600.0


def find_program(name: str, folders: Sequence[Path]) -> Path | None:
    """On the path, or in a folder that is not on everybody's path."""
    found = shutil.which(name)
    if found is not None:
        return Path(found).resolve()
    return next((folder / name for folder in folders if os.access(folder / name, os.X_OK)), None)


def install(title: str, package: str, allowed: bool) -> None:
    """`apt-get install`, if that was asked for. Raises Missing."""
    why = f"{title} is not installed"
    if not allowed or shutil.which("apt-get") is None:
        raise Missing(why, f"As root: apt-get install {package}, or barnabas demo bus --install")
    if os.geteuid() != 0:
        raise Missing(why, f"--install needs root. Try: sudo apt-get install {package}")
    note(f"installing {package} ...")
    if not (_apt_get("install", package) or (_apt_get("update") and _apt_get("install", package))):
        raise Missing(f"{package} could not be installed", f"See why: apt-get install {package}")


def _apt_get(*words: str) -> bool:
    command = ["apt-get", "-y", "-q", "--no-install-recommends", *words]
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    try:
        done = subprocess.run(
            command, env=environment, capture_output=True, stdin=subprocess.DEVNULL, timeout=INSTALL_S
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0
