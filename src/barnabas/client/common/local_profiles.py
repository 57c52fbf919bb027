"""Where `barnabas up --secure` leaves word for the commands and programs of the same user: a file for each address."""

from __future__ import annotations

import os
from pathlib import Path


def config_folder() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or "~/.config").expanduser() / "barnabas"


def local_file(address: str) -> Path:
    """It names the file with the credentials for the node at this address."""
    return config_folder() / "local" / address.replace(":", "_").replace("[", "").replace("]", "")


def forget(address: str) -> bool:
    """A plain node listens there now, where commands would ask for TLS. Whether there was anything to forget."""
    try:
        local_file(address).unlink()
    except OSError:  # mostly: there is none
        return False
    return True
