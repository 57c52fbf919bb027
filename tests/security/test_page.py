"""Every command of docs/security.md, typed in order on a node that `up --secure` has made, ends well."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from tests.security.test_one_word import Secured, start, stop
from tests.support.pages import BIN, ROOT, commands

PAGE = ROOT / "docs" / "security.md"
TOKENS = ("--set", "delegation.token.secret.key=of-the-test")


def typed(text: str, secured: Secured, folder: Path, stdin: str) -> subprocess.CompletedProcess[str]:
    told = secured.environ | {"BARNABAS_BOOTSTRAP": secured.bootstrap, "PATH": f"{BIN}:{secured.environ['PATH']}"}
    line = f"timeout --preserve-status --signal=INT 3 {text}" if "--follow" in text else text
    return subprocess.run(
        ["bash", "-c", line], cwd=folder, env=told, input=stdin, capture_output=True, text=True, timeout=60
    )


def test_every_command(tmp_path: Path) -> None:
    lines = [each.text for each in commands(PAGE) if each.text.startswith("barnabas ")]
    lines = [each for each in lines if not each.startswith("barnabas up ")]  # test_one_word.py, tests/cluster
    assert len(lines) > 25
    secured = start(tmp_path, *TOKENS)
    token = ""
    try:
        for line in lines:
            done = typed(re.sub(r"\bID$", token, line), secured, tmp_path, stdin="another-password\n")
            good = (0, 130) if "--follow" in line else (0,)
            assert done.returncode in good and "Traceback" not in done.stderr, (line, done.stdout, done.stderr)
            if "token create" in line:
                (token,) = re.findall(r'username="([^"]+)"', (tmp_path / "job.properties").read_text())
    finally:
        stop(secured)
