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

CALLED_BY_OTHERS = {
    "broker/coordinator/environment.py:is_serving",  # a field that is unpacked
    "broker/metrics/http/connection.py:eof_received",  # asyncio
    "broker/metrics/series.py:AREAS",  # tools/metrics_page.py
    "cli/app.py:list_commands",  # typer
    "cli/demo/bus/functions/enrich_on_spark.py:Enrich",  # named in the demo's definition
    "client/common/exit_hooks.py:_close_all",  # atexit
    *(f"connect/connectors/http/server.py:{name}" for name in ("on_url", "on_header", "on_body")),  # httptools
    "connect/connectors/s3/reading.py:seekable",  # io
    *(f"pipelines/datasource.py:{name}" for name in ("streamReader", "streamWriter")),  # Spark, as the next four
    "pipelines/jvm.py:getAll",
    "pipelines/source/batch.py:pushFilters",
    *(f"pipelines/source/stream.py:{name}" for name in ("getDefaultReadLimit", "reportLatestOffset")),
    "sim/loop.py:get_debug",  # asyncio
    "sim/network.py:is_reading",  # asyncio
    "testing/node.py:disconnect_next",  # tests of users (docs/testing.md)
    "testing/pytest_plugin.py:pytest_configure",
    "tls/alerts.py:sslobject_class",  # ssl
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


def test_nothing_is_unused() -> None:
    """A function, class or constant that nothing in src names again, but for commands, and for what others call."""
    texts = {path: path.read_text() for path in FILES}
    words = Counter(word for text in texts.values() for word in WORD.findall(text))
    unused = {
        f"{names(path)}:{name}"
        for path, text in texts.items()
        for name in defined(ast.parse(text))
        if words[name] == 1 and not name.startswith("__")
    }
    assert unused - CALLED_BY_OTHERS == set()
    assert CALLED_BY_OTHERS - unused == set(), "no exception any more"


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


def defined(tree: ast.Module) -> Iterator[str]:
    """Names of functions, methods and classes without a decorator with arguments (which registers them somewhere), and
    of what a module or a class assigns to, but for the members of an enumeration."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield from [] if any(isinstance(each, ast.Call) for each in node.decorator_list) else [node.name]
        if isinstance(node, ast.Module | ast.ClassDef) and not is_enumeration(node):
            for inner in node.body:
                targets = inner.targets if isinstance(inner, ast.Assign) else [getattr(inner, "target", None)]
                yield from (each.id for each in targets if isinstance(each, ast.Name))


def is_enumeration(node: ast.AST) -> bool:
    return isinstance(node, ast.ClassDef) and any("Enum" in ast.unparse(base) for base in node.bases)


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


WORD = re.compile(r"[A-Za-z_]\w*")
ANY = re.compile(r"Any|'[\w. ]*\[.*\bAny\b.*\]'")
BROAD = ("Exception", "BaseException")
