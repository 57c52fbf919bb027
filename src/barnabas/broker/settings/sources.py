"""Where a node's settings come from, the strongest first: flags, the environment (`BARNABAS_LOG_SEGMENT_BYTES`), one
file (TOML, or a Kafka `server.properties` as it is), what the program falls back to, and the table's default. Dynamic
settings, which stand above all of these, live in the metadata log and are laid over them later.

A name nobody knows is a warning with the nearest known one, never a reason not to start: a `server.properties` from
another release must work. A value that does not fit its setting is one clear line with the file and the line it
stands on.
"""

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from msgspec import Struct

from barnabas.model.errors import ErrorCode, KafkaError
from barnabas.model.limits import CONFIG_FILE_MAX_BYTES
from barnabas.model.properties import parse_properties
from barnabas.model.settings import NODE_SETTINGS, Settings, StaticValue
from barnabas.model.settings.rules import check_rules

ENVIRONMENT_PREFIX = "BARNABAS_"
_FALLBACK = "built in"
_NOT_GIVEN = StaticValue("")
# Names Kafka hands on without knowing them: one listener's own setting (KIP-103), a plugin's own.
_PASSED_ON = re.compile(
    r"(listener\.name|rsm\.config|rlmm\.config|config\.providers)\..+|super\.users|allow\.everyone\.if\.no\.acl\.found"
)


class Loaded(Struct, frozen=True):
    settings: Settings
    warnings: tuple[str, ...]


def load_settings(
    *,
    flags: Mapping[str, str] | None = None,
    environ: Mapping[str, str] | None = None,
    config: Path | None = None,
    fallback: Mapping[str, str] | None = None,
) -> Loaded:
    """The settings of a node, or KafkaError(INVALID_CONFIG) with one line."""
    given: dict[str, StaticValue] = {}
    for name, text in (fallback or {}).items():
        given[name] = StaticValue(text, _FALLBACK)
    if config is not None:
        given |= read_file(config)
    from_environment, warnings = read_environment(os.environ if environ is None else environ)
    given |= from_environment
    given |= {name: StaticValue(text, "command line") for name, text in (flags or {}).items()}
    if "log.dir" in given and given.get("log.dirs", _NOT_GIVEN).origin == _FALLBACK:
        del given["log.dirs"]  # the other name of the same thing, from a stronger source
    unknown = [name for name in given if name not in NODE_SETTINGS and not _PASSED_ON.fullmatch(name)]
    warnings += [_unknown_warning(name, given[name].origin) for name in unknown]
    settings = Settings(given)
    check_rules(settings)
    return Loaded(settings, tuple(warnings))


def _unknown_warning(name: str, origin: str) -> str:
    near = _nearest(name, NODE_SETTINGS)
    hint = f": did you mean {near[0]}?" if near else ""
    return f"{origin}: unknown setting {name}{hint}"


def _nearest(name: str, known: Iterable[str], cutoff: float = 0.6) -> list[str]:
    import difflib  # for a name that is wrong, which is rare

    return difflib.get_close_matches(name, known, n=1, cutoff=cutoff)


def environment_name(name: str) -> str:
    """log.segment.bytes -> BARNABAS_LOG_SEGMENT_BYTES"""
    return ENVIRONMENT_PREFIX + name.upper().replace(".", "_").replace("-", "_")


def read_environment(environ: Mapping[str, str]) -> tuple[dict[str, StaticValue], list[str]]:
    """The settings among the variables, and a warning for each that nearly names one.

    Other variables that begin alike belong to somebody else (the tools, the tests) and are passed over in silence.
    """
    mine = {name: text for name, text in environ.items() if name.startswith(ENVIRONMENT_PREFIX)}
    by_variable = {environment_name(name): name for name in NODE_SETTINGS} if mine else {}
    found: dict[str, StaticValue] = {}
    warnings: list[str] = []
    for variable, text in mine.items():
        if variable in by_variable:
            found[by_variable[variable]] = StaticValue(text, f"environment {variable}")
        elif near := _nearest(variable, by_variable, cutoff=0.85):
            warnings.append(f"environment: unknown setting {variable}: did you mean {near[0]}?")
    return found, warnings


def read_file(path: Path) -> dict[str, StaticValue]:
    """A file by its ending: `.toml`, and everything else is a properties file."""
    try:
        with path.open("rb") as file:
            data = file.read(CONFIG_FILE_MAX_BYTES + 1)
    except OSError as error:
        raise _bad(f"cannot read {path}: {error.strerror}") from None
    if len(data) > CONFIG_FILE_MAX_BYTES:
        raise _bad(f"{path}: larger than {CONFIG_FILE_MAX_BYTES} bytes, which is no file of settings")
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode("latin-1")  # what a Java properties file is by definition
    if path.suffix.lower() == ".toml":
        return _from_toml(path, text)
    return {name: StaticValue(value, f"{path}:{line}") for name, value, line in parse_properties(text)}


# --- TOML -----------------------------------------------------------------------------------------------------------


def _from_toml(path: Path, text: str) -> dict[str, StaticValue]:
    """Dotted names or tables: `log.segment.bytes = 1` and `[log]` with `segment.bytes = 1` say the same."""
    import tomllib  # here and not above: most nodes have no such file, and its import takes 2 ms of every start

    try:
        tree = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise _bad(f"{path}: {error}") from None
    lines = _toml_lines(text)
    found: dict[str, StaticValue] = {}
    for name, value in _flatten("", tree):
        origin = f"{path}:{lines[name]}" if name in lines else str(path)
        found[name] = StaticValue(_toml_text(value, f"{origin}: {name}"), origin)
    return found


def _flatten(prefix: str, tree: Mapping[str, object]) -> Iterator[tuple[str, object]]:
    for key, value in tree.items():
        name = f"{prefix}.{key}" if prefix else key
        if isinstance(value, dict):
            yield from _flatten(name, value)
        else:
            yield name, value


def _toml_text(value: object, where: str) -> str:
    match value:
        case bool():
            return "true" if value else "false"
        case str() | int() | float():
            return str(value)
        case list() if all(isinstance(item, str | int) and not isinstance(item, bool) for item in value):
            return ",".join(map(str, value))
    raise _bad(f"{where}: expected text, a number, true or false, or a list of them")


_TABLE = re.compile(r"\s*\[\s*([^\[\]]+?)\s*\]")
_KEY = re.compile(r"\s*((?:[\w-]+|\"[^\"]*\"|'[^']*')(?:\s*\.\s*(?:[\w-]+|\"[^\"]*\"|'[^']*'))*)\s*=")


def _toml_lines(text: str) -> dict[str, int]:
    """On which line each name stands, as well as a look at line beginnings can tell: it is for a complaint only."""
    lines: dict[str, int] = {}
    table = ""
    for number, line in enumerate(text.splitlines(), 1):
        if match := _TABLE.match(line):
            table = _plain(match[1]) + "."
        elif match := _KEY.match(line):
            lines[table + _plain(match[1])] = number
    return lines


def _plain(key: str) -> str:
    return re.sub(r"\s*\.\s*", ".", key.replace('"', "").replace("'", ""))


def _bad(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_CONFIG, message)
