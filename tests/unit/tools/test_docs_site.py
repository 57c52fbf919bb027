"""The documentation builds as a site: no broken link or anchor, nothing fetched from elsewhere, search included."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

from tests.support.figures import ROOT

ASSET = re.compile(r'<(?:script|link|img|iframe)\b[^>]*?(?:src|href)="(https?:)?//[^"]*"')


def test_the_site_builds_strictly_and_needs_nobody(tmp_path: Path) -> None:
    site = tmp_path / "site"
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(site)],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    pages = sorted(site.rglob("*.html"))
    assert {"index.html", "cli.html", "reliability.html", "contributing.html"} <= {page.name for page in pages}
    assert "Two commands" in (site / "index.html").read_text(), "the first page is the README's"
    foreign = [f"{page.name}: {found[0]}" for page in pages for found in ASSET.finditer(page.read_text())]
    assert not foreign, foreign[:3]
    assert "high watermark" in (site / "search" / "search_index.json").read_text()
