"""docs/compatibility.md says which APIs are served; the table in it is made from the node's own."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[3]


def test_the_page_has_the_apis_of_the_node() -> None:
    tool = ROOT / "tools" / "compatibility_page.py"
    done = subprocess.run([sys.executable, str(tool), "--check"], check=False)
    assert done.returncode == 0, "run: python tools/compatibility_page.py"
