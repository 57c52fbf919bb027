"""Packages that a test makes for pip, and an environment of its own to install them into."""

from __future__ import annotations

import base64
import hashlib
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("environment") / ".venv"
    subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True)
    return folder


def wheel(folder: Path, name: str) -> str:
    """A package of one module, and the line that pins it."""
    file = folder / f"{name}-1-py3-none-any.whl"
    with zipfile.ZipFile(file, "w") as made:
        texts = {
            f"{name}.py": "FOUND = True\n",
            f"{name}-1.dist-info/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1\n",
            f"{name}-1.dist-info/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        }
        record = []
        for path, text in texts.items():
            made.writestr(path, text)
            digest = base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).decode().rstrip("=")
            record.append(f"{path},sha256={digest},{len(text)}\n")
        made.writestr(f"{name}-1.dist-info/RECORD", "".join([*record, f"{name}-1.dist-info/RECORD,,\n"]))
    return f"{name}==1 --hash=sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}\n"
