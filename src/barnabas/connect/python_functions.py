"""Connectors and transformations of one's own: functions in a Python file beside the definition.

    from: {python: {file: mine.py, function: read}}

The file is executed, so it is taken only from where the person who starts the worker has said it is: a definition file
that they run themselves, or the folder that a worker was given with --functions. A definition that was added to the
cluster by somebody else cannot name another one.
"""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType

from barnabas.connect.contract import (
    Chunk,
    Delivered,
    Options,
    Position,
    Reader,
    Record,
    Rejected,
    Sink,
    Source,
    Value,
    Writer,
)
from barnabas.connect.errors import BadOption, Unavailable

Function = Callable[..., Value]  # the user's own

_folders: set[Path] = set()


def allow_folder(folder: Path) -> None:
    """Files in it may be executed by this process."""
    _folders.add(folder.resolve())


def allowed_folders() -> list[str]:
    return sorted(map(str, _folders))


def transform_function(given: Options) -> Function:
    return _function(given, "transform")


def function_source(name: str, given: Options) -> Source:
    """`def read(position, options)`: a generator of (record, position), from `position` on (None: the beginning). A
    record is a Record, a dict, a text or bytes. When it ends it is called again, with the last position, after a
    second."""
    return _FunctionSource(_function(given, "read"), _options(given))


def function_sink(name: str, given: Options) -> Sink:
    """`def write(records, options)`: called with a list of Delivered; raising anything is tried again."""
    return _FunctionSink(_function(given, "write"), _options(given))


def _options(given: Options) -> Options:
    return {name: value for name, value in given.items() if name not in ("file", "function")}


def _function(given: Options, default: str) -> Function:
    file, name = given.get("file"), given.get("function", default)
    if not isinstance(file, str) or not isinstance(name, str):
        raise BadOption("python needs file: a Python file, and function: the name of a function in it")
    path = Path(file).expanduser().resolve()
    if not any(path.is_relative_to(folder) for folder in _folders):
        raise BadOption(
            f"{path} is not in a folder whose functions this worker may run",
            "Start it with --functions FOLDER, or run the definition's file: barnabas connect run FILE",
        )
    found = getattr(_module(path), name, None)
    if not callable(found):
        raise BadOption(f"{path} has no function {name!r}")
    function: Function = found
    return function


def _module(path: Path) -> ModuleType:
    if not path.is_file():
        raise BadOption(f"there is no file {path}")
    name = f"barnabas_connect_function_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise BadOption(f"{path} is no Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as problem:  # the user's own code
        raise BadOption(f"{path}: {type(problem).__name__}: {problem}") from problem
    return module


class _FunctionSource(Source):
    def __init__(self, function: Function, options: Options) -> None:
        self._function = function
        self._options = options

    def splits(self) -> Sequence[str]:
        return ["main"]

    def open(self, split: str, position: Position | None) -> Reader:
        return _FunctionReader(self._function, self._options, position)


class _FunctionReader(Reader):
    def __init__(self, function: Function, options: Options, position: Position | None) -> None:
        self._function = function
        self._options = options
        self._position = position
        self._records: Iterator[tuple[Value, Position]] | None = None  # what the function has yet to give

    def read(self, most: int, wait_s: float) -> Chunk | None:
        import time

        records: list[Record] = []
        until = time.monotonic() + wait_s
        try:
            if self._records is None:
                self._records = iter(self._function(self._position, self._options))
            for value, position in self._records:
                records.append(value if isinstance(value, Record) else Record(value))
                self._position = position
                if len(records) >= most or time.monotonic() > until:
                    break
            else:
                self._records = None
        except Unavailable:
            raise
        except Exception as problem:  # the user's own code: tried again, from the last position
            raise Unavailable(f"{type(problem).__name__}: {problem}") from problem
        if not records:
            time.sleep(max(0.0, until - time.monotonic()))
            return None
        assert self._position is not None
        return Chunk(records, self._position)

    def close(self) -> None:
        close = getattr(self._records, "close", None)
        if close is not None:
            close()


class _FunctionSink(Sink):
    exactly_once = False

    def __init__(self, function: Function, options: Options) -> None:
        self._function = function
        self._options = options

    def open(self, topic: str, partition: int) -> Writer:
        return _FunctionWriter(self._function, self._options)


class _FunctionWriter(Writer):
    def __init__(self, function: Function, options: Options) -> None:
        self._function = function
        self._options = options

    def write(self, records: Sequence[Delivered], next_offset: int) -> Sequence[Rejected]:
        if not records:
            return []
        try:
            refused: Iterable[Rejected] | None = self._function(list(records), self._options)
        except Unavailable:
            raise
        except Exception as problem:  # the user's own code
            raise Unavailable(f"{type(problem).__name__}: {problem}") from problem
        return list(refused or ())
