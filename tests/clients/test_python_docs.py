"""Every snippet of docs/python.md runs, in order, in one program, and prints what the page says it prints."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import io
import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from barnabas import Consumer
from barnabas.testing import running_node
from tests.support.pages import section
from tests.support.registry import RegistryProcess

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def snippets() -> list[tuple[int, str, str | None]]:
    """(line, code, expected output or None) of each Python block; a text block after it is its output."""
    text = PAGE.read_text()
    found: list[tuple[int, str, str | None]] = []
    end = 0
    for match in BLOCK.finditer(text):
        kind, body = match.groups()
        if kind == "python":
            found.append((text.count("\n", 0, match.start(2)) + 1, body, None))
        elif kind == "text" and not text[end : match.start()].strip():
            line, code, _ = found[-1]
            found[-1] = (line, code, body)
        end = match.end()
    return found


@contextlib.contextmanager
def serving(bootstrap: str, folder: Path) -> Iterator[RegistryProcess]:
    registry = RegistryProcess(folder, bootstrap)
    try:
        registry.start()
        yield registry
    finally:
        registry.stop()


def test_the_page_does_what_it_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    original = Consumer.__init__

    @functools.wraps(original)
    def impatient(self: Consumer, *topics: str, **options: Any) -> None:
        """The page waits for ever; a test does not."""
        original(self, *topics, **{"timeout": 1.0, **options})

    monkeypatch.setattr(Consumer, "__init__", impatient)
    found = snippets()
    assert len(found) >= 15
    program = types.ModuleType("docs_python")
    monkeypatch.setitem(sys.modules, program.__name__, program)
    with running_node({"group.initial.rebalance.delay.ms": 500}) as node, serving(node.bootstrap, tmp_path) as registry:
        monkeypatch.setenv("BARNABAS_BOOTSTRAP", node.bootstrap)
        program.__dict__["REGISTRY"] = registry.address
        for line, code, expected in found:
            printed = io.StringIO()
            with contextlib.redirect_stdout(printed):
                exec(compile("\n" * (line - 1) + code, str(PAGE), "exec", dont_inherit=True), program.__dict__)  # noqa: S102
            assert expected is None or printed.getvalue() == expected, f"{PAGE.name}:{line}"
        asyncio.run(serve(program, ["/", "/about"]))
        visited = Consumer("visited", value_deserializer="json", follow=False)
        assert [message.value for message in visited] == [{"path": "/"}, {"path": "/about"}]


async def serve(program: Any, paths: list[str]) -> None:
    """What a web framework does with the page's lifespan and its handler."""
    app = types.SimpleNamespace(state=types.SimpleNamespace())
    async with program.lifespan(app):
        for path in paths:
            await program.visit(types.SimpleNamespace(app=app, url=types.SimpleNamespace(path=path)))


def test_a_reader_of_the_readme_sees_what_the_page_shows() -> None:
    """The README's first stream leaves records on the node that the page is then tried on: in other topics."""
    first_stream = section(PAGE.parents[1] / "README.md", "Five minutes to a first stream")
    named = r'(?:produce|consume|create|-t) (\w+)|(?:send|Consumer|ProducerRecord<>)\("(\w+)"'
    topics = {first or second for first, second in re.findall(named, first_stream)}
    assert topics == {"visits", "letters"}
    assert not [each for each in topics if f'"{each}"' in PAGE.read_text()]
