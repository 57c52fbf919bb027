"""The pages' own source keeps to what their safety and their forms need."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from barnabas.console.web.app import STATIC

SERVED = (".js", ".css", ".html")
FILES = sorted(path for path in STATIC.rglob("*") if path.suffix in SERVED and "vendor" not in path.parts)
FIELD = re.compile(r"<(?:input|select|textarea)\b(?:\$\{(?:[^{}]|\{[^{}]*\})*\}|[^>$])*>")


def names(path: Path) -> str:
    return path.relative_to(STATIC).as_posix()


@pytest.mark.parametrize("path", FILES, ids=names)
def test_text_stays_text(path: Path) -> None:
    text = path.read_text()
    for forbidden in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "dangerouslySetInnerHTML",
        "document.write",
        "eval(",
        "new Function",
        " style=",
    ):
        assert forbidden not in text
    assert not re.search(r"<script(?![^>]*\bsrc=)", text), "no script stands in a page"
    assert not re.search(r"https?://(?!www\.w3\.org)", text), "nothing comes from elsewhere"


@pytest.mark.parametrize("path", FILES, ids=names)
def test_a_field_that_nobody_listens_to_keeps_what_is_typed(path: Path) -> None:
    """`value` is set again with each look at the cluster; a field of a form has `defaultValue`."""
    for field in FIELD.findall(path.read_text()):
        sets = re.search(r"\bvalue=\$|\bchecked(?:=|\s|/)", field)
        assert not sets or "onInput" in field or "onChange" in field or 'type="radio"' in field, field
