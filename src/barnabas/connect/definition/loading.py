"""YAML to definitions, with errors that name the file, the connector and the word.

    name: orders-search
    from: {topics: [orders], format: json}
    to: {opensearch: {url: "http://127.0.0.1:9200", index: orders}}
    transform: [{rename: {id: order_id}}]

One side is topics, the other a system. A file may have several, with --- between them.
"""

from __future__ import annotations

import re
from pathlib import Path

import msgspec
import yaml

from barnabas.connect.contract import Options
from barnabas.connect.definition.definition import Definition
from barnabas.connect.errors import BadOption
from barnabas.connect.hints import hint
from barnabas.connect.spark import settings as spark_settings

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,99}")  # group and topics are named after it
_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_TEMPLATE = re.compile(r"\{[a-z_]+\}")
_FILE_MAX_BYTES = 1024 * 1024
_DEFINITIONS_MAX = 1000
_TASKS_MAX = 64

_TOP = ("name", "from", "to", "transform", "engine", "spark", "tasks", "errors", "batch", "commit_ms")
_TOPIC_WORDS = ("topic", "partitions", "format", "key_format", "registry", "schema", "key_schema")
_TOPICS_WORDS = ("topics", "topic", "start", "format", "key_format", "registry")
FORMATS = ("auto", "json", "text", "bytes", "avro", "json-schema", "protobuf")


def load_file(path: Path) -> list[Definition]:
    return load(text_of(path), str(path), path.parent)


def text_of(path: Path) -> str:
    """Of a file that somebody wrote; BadOption where it cannot be one."""
    try:
        with path.open("rb") as file:
            text = file.read(_FILE_MAX_BYTES + 1)
    except OSError as error:
        raise BadOption(f"{path} cannot be read: {(error.strerror or str(error)).lower()}") from None
    if len(text) > _FILE_MAX_BYTES:
        raise BadOption(f"{path} has more than {_FILE_MAX_BYTES} bytes: that is no definition")
    return text.decode("utf-8", "replace")


def load(text: str, where: str = "the definition", folder: Path | None = None) -> list[Definition]:
    try:
        found = list(documents(text))
    except (yaml.YAMLError, RecursionError, ValueError) as problem:
        raise no_yaml(where, text, problem) from None
    if not found:
        raise BadOption(f"{where} is empty", "See what a definition looks like: barnabas connect new NAME")
    definitions = [_definition(each, where, folder) for each in found]
    names = [each.name for each in definitions]
    if twice := {each for each in names if names.count(each) > 1}:
        raise BadOption(f"{where} has two connectors of the name {sorted(twice)[0]!r}", "Give each its own name.")
    return definitions


def no_yaml(where: str, text: str, problem: Exception) -> BadOption:
    """One line, with the place as far as it is known."""
    mark, why = getattr(problem, "problem_mark", None), getattr(problem, "problem", None) or str(problem)
    if isinstance(problem, yaml.reader.ReaderError):  # a character that may not be in a file of YAML
        before = text[: problem.position]
        line, column = before.count("\n"), len(before) - before.rfind("\n") - 1
        why = (
            f"the character {chr(problem.character)!r} may not be in it" if isinstance(problem.character, int) else why
        )
    elif mark is not None:
        line, column = mark.line, mark.column
    else:
        return BadOption(f"{where}: no valid YAML: {' '.join(why.split()) or type(problem).__name__}")
    return BadOption(f"{where}, line {line + 1}, column {column + 1}: no valid YAML: {' '.join(why.split())}")


def documents(text: str) -> list[object]:
    loader = yaml.CSafeLoader if hasattr(yaml, "CSafeLoader") else yaml.SafeLoader
    for token in yaml.scan(text, Loader=loader):
        if isinstance(token, yaml.AliasToken):  # aliases of aliases grow without bound
            raise BadOption("aliases (*name) are not taken in definitions", "Write the value where it is used.")
    found: list[object] = []
    for each in yaml.load_all(text, Loader=loader):  # a safe loader
        if each is not None:
            found.append(each)
        if len(found) > _DEFINITIONS_MAX:
            raise BadOption(f"a file has at most {_DEFINITIONS_MAX} connectors")
    return found


def _definition(given: object, where: str, folder: Path | None) -> Definition:
    if not isinstance(given, dict):
        raise BadOption(f"{where}: a definition is name, from and to, not {type(given).__name__}")
    _no_others(given, _TOP, where)
    name = given.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise BadOption(f"{where}: name {name!r}: letters, digits, - and _, at most 100")
    place = f"{where}, connector {name}"
    for word in ("from", "to"):
        if not isinstance(given.get(word), dict) or not given[word]:
            raise BadOption(f"{place}: {word!r} is missing", "It says a system with its options, or topics.")
    from_topics, to_topic = "topics" in given["from"] or "topic" in given["from"], "topic" in given["to"]
    if from_topics and to_topic:
        raise BadOption(f"{place}: topics on both sides", "To another cluster: to: {kafka: {bootstrap: ...}}.")
    if not from_topics and not to_topic:
        raise BadOption(
            f"{place}: one side is a topic", "A source has to: {topic: NAME}, a sink from: {topics: [NAME]}."
        )
    fields = _source(given, place) if to_topic else _sink(given, place)
    fields["options"] = _beside_the_file(fields["options"], fields["connector"], folder)
    fields["transform"] = _transform(given.get("transform", []), place, folder)
    for word in ("engine", "spark", "tasks", "errors", "batch", "commit_ms"):
        if word in given:
            fields[word] = given[word]
    if given.get("engine") == "spark":
        fields.setdefault("tasks", _TASKS_MAX)  # as many as Spark has cores for
    return _checked({"name": name, **fields}, place)


def _checked(fields: Options, place: str) -> Definition:
    from barnabas.connect.transform.steps import compiled

    try:
        made = msgspec.convert(fields, Definition)
    except msgspec.ValidationError as problem:
        raise BadOption(f"{place}: {str(problem)[:1].lower()}{str(problem)[1:]}") from None
    for word, least, most in (("tasks", 1, _TASKS_MAX), ("batch", 1, 100_000), ("commit_ms", 1, 60_000)):
        if not least <= getattr(made, word) <= most:
            raise BadOption(f"{place}: {word} is {least} to {most}, not {getattr(made, word)}")
    compiled(made.transform)
    try:
        spark_settings.read(made.spark)
    except BadOption as problem:
        raise BadOption(f"{place}: {problem.message}", problem.way_out) from None
    return made


def _source(given: Options, place: str) -> Options:
    to = given["to"]
    _no_others(to, _TOPIC_WORDS, f"{place}, to")
    connector, options = _system(given["from"], f"{place}, from")
    topic = to["topic"]
    if not isinstance(topic, str) or not _TOPIC.fullmatch(_TEMPLATE.sub("x", topic)):
        raise BadOption(f"{place}: {topic!r} is no topic's name")
    return {
        "side": "source",
        "connector": connector,
        "options": options,
        "topic": topic,
        "partitions": to.get("partitions", 0),
        "format": _format(to, place),
    }


def _sink(given: Options, place: str) -> Options:
    side = given["from"]
    _no_others(side, _TOPICS_WORDS, f"{place}, from")
    connector, options = _system(given["to"], f"{place}, to")
    topics = side.get("topics", side.get("topic"))
    if isinstance(topics, str):
        topics = [topics]
    if not isinstance(topics, list) or not topics or not all(isinstance(each, str) and each for each in topics):
        raise BadOption(f"{place}: topics is a list of names")
    for each in topics:
        if each.startswith("^"):
            try:
                re.compile(each)
            except re.error as problem:
                raise BadOption(f"{place}: topics {each!r}: {problem}") from None
        elif not _TOPIC.fullmatch(each):
            raise BadOption(f"{place}: {each!r} is no topic's name", "A regular expression begins with ^.")
    return {
        "side": "sink",
        "connector": connector,
        "options": options,
        "topics": topics,
        "start": side.get("start", "earliest"),
        "format": _format(side, place),
    }


def _format(side: Options, place: str) -> Options:
    found = {
        "key": side.get("key_format", "auto"),
        "value": side.get("format", "auto"),
        "registry": side.get("registry", ""),
        "key_schema": side.get("key_schema", ""),
        "value_schema": side.get("schema", ""),
    }
    for word in ("key", "value"):
        if found[word] not in FORMATS:
            raise BadOption(f"{place}: there is no format {found[word]!r}", f"There are: {', '.join(FORMATS)}.")
    needs = [found[word] for word in ("key", "value") if found[word] in ("avro", "json-schema", "protobuf")]
    if needs and not found["registry"]:
        raise BadOption(f"{place}: format {needs[0]} needs a registry", 'Say registry: "http://127.0.0.1:8081".')
    return found


def _system(side: Options, place: str) -> tuple[str, Options]:
    from barnabas.connect.connectors.table import known

    if len(side) != 1:
        raise BadOption(f"{place}: one system with its options, not {', '.join(map(repr, side))}")
    word, options = next(iter(side.items()))
    if word != "python":
        known(word)
    if options is None:
        options = {}
    if not isinstance(options, dict):
        raise BadOption(f"{place}: the options of {word} are name: value, not {options!r}")
    return word, options


def _beside_the_file(options: Options, connector: str, folder: Path | None) -> Options:
    """A Python file is named as seen from the definition."""
    if connector == "python" and folder is not None and isinstance(options.get("file"), str):
        return {**options, "file": str((folder / options["file"]).resolve())}
    return options


def _transform(given: object, place: str, folder: Path | None) -> list[Options]:
    if not isinstance(given, list):
        raise BadOption(f"{place}: transform is a list of steps")
    steps: list[Options] = [{each: {}} if isinstance(each, str) else each for each in given]
    for step in steps:
        if isinstance(step, dict) and isinstance(step.get("python"), dict):
            step["python"] = _beside_the_file(step["python"], "python", folder)
    return steps


def _no_others(given: Options, known: tuple[str, ...], place: str) -> None:
    for word in given:
        if word not in known:
            raise BadOption(f"{place}: there is no {word!r} here", hint(word, known))
