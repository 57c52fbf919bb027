"""The source itself keeps to a few rules: small folders and files, short functions, no exception caught without a
reason, no `Any` without one."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "barnabas"
FILES = sorted(SOURCE.rglob("*.py"))
LINES_MAX, FUNCTION_LINES_MAX, ANY_LINES_MAX, MODULES_MAX = 400, 60, 149, 24

# Functions on the way of every record or batch: a call costs more there than what it would do.
LONGER = {
    "wire/fetch/answer.py:_one_partition",
    "wire/produce/request.py:_parse_flexible",
    "wire/records.py:_iter_payload",
}

MANY_MODULES = {"broker/api"}  # one for each API key


def names(path: Path) -> str:
    return path.relative_to(SOURCE).as_posix()


@pytest.mark.parametrize("path", FILES, ids=names)
def test_a_file_is_small_and_says_why_it_catches(path: Path) -> None:
    text = path.read_text()
    assert text.count("\n") <= LINES_MAX, f"split it: more than {LINES_MAX} lines"
    tree, lines = ast.parse(text), text.split("\n")
    long = [name for name, length in functions(tree) if length > FUNCTION_LINES_MAX]
    assert [each for each in long if f"{names(path)}:{each}" not in LONGER] == []
    assert list(unexplained(tree, lines)) == []
    assert list(untyped(tree, lines)) == [], "say why no type fits: a comment on the line or above it"


def test_few_lines_have_any() -> None:
    """Types reach from the frame to the answer; where `Any` has to be, a name such as wire/codec's `Decoded` says what
    it stands for in one place."""
    found = [line for path in FILES for line in path.read_text().split("\n") if re.search(r"\bAny\b", line)]
    assert len(found) <= ANY_LINES_MAX


def test_a_folder_is_a_topic() -> None:
    """Where more modules than these stand together, some of them are about something that has no folder yet."""
    modules = Counter(names(path.parent) for path in FILES)
    assert {folder for folder, count in modules.items() if count > MODULES_MAX} == MANY_MODULES


def test_no_exception_of_the_rules_is_left_over() -> None:
    for place in LONGER:
        name, _, function = place.partition(":")
        found = dict(functions(ast.parse((SOURCE / name).read_text())))
        assert found.get(function, 0) > FUNCTION_LINES_MAX, f"{place} is short by now"


def functions(tree: ast.AST) -> Iterator[tuple[str, int]]:
    """Each function with the lines of its body; signature and docstring do not count."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            if body:
                yield node.name, (node.end_lineno or 0) - body[0].lineno + 1


def unexplained(tree: ast.AST, lines: list[str]) -> Iterator[str]:
    """Handlers of any exception that neither raise again nor have a comment that says why."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler) and (node.type is None or ast.unparse(node.type) in BROAD):
            raises = any(isinstance(inner, ast.Raise) for inner in ast.walk(node))
            here, below = lines[node.lineno - 1], lines[node.lineno]
            if not raises and "#" not in here and not below.lstrip().startswith("#"):
                yield f"line {node.lineno}: {here.strip()}"


def untyped(tree: ast.AST, lines: list[str]) -> Iterator[str]:
    """Uses of `Any`, by name or within an annotation that is text, without a comment on the line or just above it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name | ast.Constant) and ANY.fullmatch(ast.unparse(node)):
            here, above = lines[node.lineno - 1], lines[node.lineno - 2]
            if "#" not in here and not above.lstrip().startswith("#"):
                yield f"line {node.lineno}: {here.strip()}"


ANY = re.compile(r"Any|'[\w. ]*\[.*\bAny\b.*\]'")
BROAD = ("Exception", "BaseException")
