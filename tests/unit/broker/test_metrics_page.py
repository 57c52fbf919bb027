"""docs/metrics.md is made by tools/metrics_page.py; after a change of the table it has to be made anew."""

import subprocess
import sys
from pathlib import Path


def test_the_page_is_what_the_table_says() -> None:
    root = Path(__file__).parents[3]
    done = subprocess.run(
        [sys.executable, str(root / "tools" / "metrics_page.py"), "--check"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
