"""The files of a secured node, and how secrets are written."""

from __future__ import annotations

import os
from pathlib import Path

CA_CERTIFICATE, CA_KEY = "ca.pem", "ca.key"


def write_secret(path: Path, data: bytes) -> None:
    """Whole or not at all, and never readable for others, not even for a moment. It is on disk when this returns: what
    was made from it (a user of the cluster, a certificate) outlives a power loss, and so must the only copy."""
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    fd = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        beside.rename(path)
        _sync_folder(path.parent)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def _sync_folder(folder: Path) -> None:
    fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
