"""The commands and programs that a page of the documentation shows."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BIN = Path(sys.executable).parent


@dataclass(frozen=True)
class Command:
    line: int
    text: str
    prints: str | None
    """What the page shows below it, if it shows anything."""


def blocks(page: Path, kind: str) -> list[str]:
    """The fenced blocks of one kind, in order."""
    return [body for name, body in FENCE.findall(page.read_text()) if name == kind]


def section(page: Path, title: str) -> str:
    """What stands below one `## ` title."""
    (found,) = re.findall(rf"^## {re.escape(title)}\n(.*?)(?=^## |\Z)", page.read_text(), re.MULTILINE | re.DOTALL)
    return str(found)


def commands(page: Path) -> list[Command]:
    """The lines that a reader types: indented by four, without their comments; a text block below is their output."""
    found: list[Command] = []
    fenced: list[str] | None = None
    attached = False
    for number, line in enumerate(page.read_text().splitlines(), 1):
        if fenced is not None:
            if line == "```":
                if attached and found:
                    last = found.pop()
                    found.append(Command(last.line, last.text, "".join(fenced)))
                fenced, attached = None, False
            else:
                fenced.append(line + "\n")
        elif line.startswith("```"):
            fenced, attached = [], attached and line == "```text"
        elif line.startswith("    ") and not line.startswith("     "):
            found.append(Command(number, re.sub(r"\s+# .*$", "", line).strip(), None))
            attached = True
        elif line.strip():
            attached = False
    return found


def environment(bootstrap: str, home: Path) -> dict[str, str]:
    """What a reader's shell has: the command on its path, a home of its own, and nothing of ours."""
    mine = {name: value for name, value in os.environ.items() if not name.startswith("BARNABAS_")}
    path = f"{BIN}:{os.environ['PATH']}"
    return mine | {"PATH": path, "HOME": str(home), "BARNABAS_BOOTSTRAP": bootstrap, "COLUMNS": "100"}


def run(text: str, bootstrap: str, folder: Path, seconds: float = 60) -> subprocess.CompletedProcess[str]:
    """One line in a shell; what never ends by itself (`--watch`, `--follow`) is ended by Ctrl-C after two seconds."""
    endless = bool(re.search(r"--(watch|follow)\b", text))
    line = text.replace("127.0.0.1:9092", bootstrap)
    if endless:
        line = f"timeout --preserve-status --signal=INT 2 {line}"
    shell = subprocess.Popen(
        ["bash", "-o", "pipefail", "-c", line],
        cwd=folder,
        env=environment(bootstrap, folder),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        out, err = shell.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        os.killpg(shell.pid, signal.SIGKILL)
        out, err = shell.communicate()
        err += f"did not end within {seconds:.0f} s\n"
    return subprocess.CompletedProcess(line, shell.returncode, out, err)
