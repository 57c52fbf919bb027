"""What others wrote is served unchanged, and nothing of the pages comes from anywhere else."""

import hashlib
import re
from pathlib import Path

from barnabas.console.web.app import STATIC

VENDOR = STATIC / "vendor"


def test_every_file_is_the_one_that_was_taken() -> None:
    lines = (VENDOR / "hashes.txt").read_text().splitlines()
    kept = {name: digest for digest, name in (line.split() for line in lines)}
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VENDOR.iterdir()
        if path.suffix in (".js", ".css")
    }
    assert found == kept


def own_files() -> list[Path]:
    return [each for each in STATIC.rglob("*") if each.suffix in (".js", ".css", ".html") and each.parent != VENDOR]


def test_nothing_is_loaded_from_elsewhere_or_set_as_html() -> None:
    assert len(own_files()) > 10
    for path in own_files():
        text = path.read_text()
        assert not re.search(r"https?://(?!www\.w3\.org/)", text), path
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", text), (
            path
        )
        assert not re.search(r"<script(?![^>]*\bsrc=)", text), path
        assert not re.search(r"\bstyle=", text), f"{path}: the content policy refuses style attributes"
