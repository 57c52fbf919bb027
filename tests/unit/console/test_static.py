"""The files of the pages: what others wrote is served unchanged, and nothing comes from anywhere else."""

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


IMPORT = re.compile(r'^(?:import|export) \{([^}]*)\} from "([^"]+)";', re.MULTILINE)
EXPORT = re.compile(r"^export (?:async )?(?:function|const|class|let) (\w+)", re.MULTILINE)
EXPORTED = re.compile(r"^export \{([^}]*)\}", re.MULTILINE)


def names(text: str) -> set[str]:
    return {each.split(" as ")[-1].strip() for each in text.split(",") if each.strip()}


def exports(path: Path) -> set[str]:
    text = path.read_text()
    found = set(EXPORT.findall(text))
    for each in EXPORTED.findall(text) if path.parent != VENDOR else re.findall(r"export\s*\{([^}]*)\}", text):
        found |= names(each)
    return found


def test_what_a_module_imports_is_there() -> None:
    """A browser would show an empty page for a name that another module no longer has."""
    checked = 0
    for path in own_files():
        for wanted, source in IMPORT.findall(path.read_text()) if path.suffix == ".js" else ():
            target = (path.parent / source).resolve()
            missing = {each.split(" as ")[0].strip() for each in wanted.split(",") if each.strip()} - exports(target)
            assert not missing, f"{path.name} imports {missing} from {source}"
            checked += 1
    assert checked > 50
