"""The files of the pages: kept by browsers, compressed, and none that a first visit has to find out about by itself."""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import pytest
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException

from barnabas.console.web.app import STATIC
from barnabas.console.web.files import Files

_IMPORT = re.compile(r'^(?:import|export)\b[^"\n]*"(\.[^"]+)"', re.MULTILINE)


def test_a_file_is_compressed_for_whoever_can_read_that() -> None:
    files = Files(STATIC)
    plain = files.answer("/app.js", Headers())
    packed = files.answer("/app.js", Headers({"accept-encoding": "gzip, br"}))
    assert plain.body == (STATIC / "app.js").read_bytes()
    assert packed.headers["content-encoding"] == "gzip" and gzip.decompress(bytes(packed.body)) == plain.body
    assert plain.headers["content-type"] == packed.headers["content-type"] == "text/javascript; charset=utf-8"


def test_what_a_browser_has_is_not_sent_again() -> None:
    files = Files(STATIC)
    etag = files.answer("/style.css", Headers()).headers["etag"]
    again = files.answer("/style.css", Headers({"if-none-match": etag}))
    assert again.status_code == 304 and not again.body
    assert files.answer("/style.css", Headers({"if-none-match": '"another"'})).status_code == 200


@pytest.mark.parametrize("name", ["/", "/lib", "/../server.py", "/lib/../../server.py", "//etc/passwd", "/nothing.js"])
def test_only_files_of_the_folder_are_given(name: str) -> None:
    with pytest.raises(HTTPException) as refused:
        Files(STATIC).answer(name, Headers())
    assert refused.value.status_code == 404


def test_the_page_names_all_that_the_first_page_imports() -> None:
    """Else a browser learns of a module from the one that imports it, a round trip for each level."""
    named = re.findall(r'rel="modulepreload" href="/static/([^"]+)"', (STATIC / "index.html").read_text())
    assert sorted(named) == sorted(each for each in _imported(STATIC / "app.js", {}) if each != "app.js")


def _imported(module: Path, found: dict[str, None]) -> dict[str, None]:
    name = module.resolve().relative_to(STATIC.resolve()).as_posix()
    if name not in found:
        found[name] = None
        for each in _IMPORT.findall(module.read_text()):
            _imported(module.parent / each, found)
    return found
