"""Functions of a user's own file: which may run, how a source and a sink of them behave, and as a step."""

from __future__ import annotations

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.connect import python_functions
from barnabas.connect.contract import Options, Record
from barnabas.connect.errors import BadOption, Unavailable
from barnabas.connect.python_functions import allow_folder, function_sink, function_source
from barnabas.connect.transform.steps import compiled
from barnabas.connect.values.formats import BadValue
from tests.support.delivered import delivered

FUNCTIONS = """
    from barnabas.connect import Record, Rejected, Unavailable

    def read(position, options):
        begin = (position or {"n": 0})["n"]
        for number in range(begin + 1, int(options["most"]) + 1):
            yield (Record({"n": number}, "key") if number % 2 else {"n": number}), {"n": number}

    def broken(position, options):
        yield {"n": 1}, {"n": 1}
        raise ValueError("a defect")

    def away(*_):
        raise Unavailable("the service is down")

    def write(records, options):
        if options.get("broken"):
            raise KeyError("a defect")
        return [Rejected(each, "no") for each in records if each.value is None]

    def transform(record):
        if record.value == "raise":
            raise ValueError("cannot be")
        record.value = record.value.upper()
        return record.value != "DROP"
"""

Given = Callable[..., Options]


@pytest.fixture
def given(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Given:
    monkeypatch.setattr(python_functions, "_folders", set())
    (tmp_path / "mine.py").write_text(textwrap.dedent(FUNCTIONS))
    allow_folder(tmp_path)
    return lambda **more: {"file": str(tmp_path / "mine.py"), **more}


def test_a_source_goes_on_from_its_position_and_begins_again_when_it_has_ended(given: Given) -> None:
    source = function_source("x", given(most=5))
    assert source.splits() == ["main"]
    reader = source.open("main", None)
    first = reader.read(2, 1.0)
    assert first is not None and [each.value["n"] for each in first.records] == [1, 2]
    assert first.position == {"n": 2} and [each.key for each in first.records] == ["key", None]
    rest = reader.read(100, 1.0)
    assert rest is not None and rest.position == {"n": 5}
    assert reader.read(100, 0.0) is None
    reader.close()
    again = source.open("main", {"n": 3}).read(100, 1.0)
    assert again is not None and [each.value["n"] for each in again.records] == [4, 5]


def test_what_a_function_raises_is_tried_again(given: Given) -> None:
    reader = function_source("x", given(function="broken")).open("main", None)
    with pytest.raises(Unavailable, match="ValueError: a defect"):
        reader.read(100, 1.0)
    with pytest.raises(Unavailable, match="the service is down"):
        function_source("x", given(function="away")).open("main", None).read(1, 0.1)
    writer = function_sink("x", given(broken=True)).open("t", 0)
    with pytest.raises(Unavailable, match="KeyError: 'a defect'"):
        writer.write([delivered(0, 1)], 1)
    with pytest.raises(Unavailable, match="the service is down"):
        function_sink("x", given(function="away")).open("t", 0).write([delivered(0, 1)], 1)


def test_a_sink_names_what_it_refuses(given: Given) -> None:
    sink = function_sink("x", given())
    assert not sink.exactly_once
    writer = sink.open("t", 0)
    assert writer.write([], 7) == []
    (refused,) = writer.write([delivered(0, 1), delivered(1, None)], 2)
    assert (refused.record.offset, refused.reason) == (1, "no")


def test_a_function_as_a_step(given: Given) -> None:
    step = compiled([{"python": given()}])
    assert step is not None
    record = Record("text", topic="t")
    assert step(record) and record.value == "TEXT"
    assert not step(Record("drop", topic="t"))
    with pytest.raises(BadValue, match="ValueError: cannot be"):
        step(Record("raise", topic="t"))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"file": 7}, "python needs file: a Python file"),
        ({"function": "nothing"}, "has no function 'nothing'"),
        ({"file": "/elsewhere/mine.py"}, "is not in a folder whose functions this worker may run"),
        ({"file": "{folder}/missing.py"}, "there is no file"),
        ({"file": "{folder}/data.txt"}, "is no Python file"),
        ({"file": "{folder}/wrong.py"}, "wrong.py: SyntaxError"),
    ],
)
def test_functions_that_cannot_run(given: Given, tmp_path: Path, more: Options, said: str) -> None:
    (tmp_path / "data.txt").write_text("x")
    (tmp_path / "wrong.py").write_text("def read(:\n")
    named = {name: each.format(folder=tmp_path) if isinstance(each, str) else each for name, each in more.items()}
    with pytest.raises(BadOption) as problem:
        function_source("x", given(**named))
    assert said in str(problem.value)
