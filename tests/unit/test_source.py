"""The source itself keeps to a few rules: small files, short functions, no exception caught without a reason."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[2] / "src" / "barnabas"
FILES = sorted(SOURCE.rglob("*.py"))
LINES_MAX, FUNCTION_LINES_MAX = 400, 60

# Functions on the way of every record or batch: a call costs more there than what it would do.
LONGER = {
    "wire/fetch.py:_one_partition",
    "wire/produce.py:_parse_flexible",
    "wire/records.py:_iter_payload",
}


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


BROAD = ("Exception", "BaseException")
