"""`barnabas connect new`: a definition to begin with, or a connector of one's own, written to be changed."""

from __future__ import annotations

import re
from pathlib import Path

from barnabas.cli.common.failure import Failure, usage
from barnabas.connect.connectors.table import CONNECTORS
from barnabas.connect.hints import hint

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,39}")

_PYTHON_DEFINITION = """\
# {name}: a source of your own, in {file}. Run it: barnabas connect run {name}.yaml
name: {name}
from:
  python: {{file: {file}, function: read, folder: .}}
to: {{topic: {name}, format: json}}
# transform: [{{filter: .size > 0}}, {{rename: {{size: bytes}}}}]
"""

_PYTHON_FUNCTION = '''\
"""A source of your own: the files of a folder, each once, and again when it has changed. Change it to what you need.

`read` gives records and, with each, the position after it: a small dict. Both are written in one transaction, and the
function is called again with the last position, now and then and after a crash: what it gave before is not given twice.
"""

from pathlib import Path


def read(position, options):
    seen = dict(position or {{}})
    for file in sorted(Path(options.get("folder", ".")).iterdir()):
        if not file.is_file():
            continue
        changed = file.stat().st_mtime_ns
        if seen.get(file.name) != changed:
            seen[file.name] = changed
            yield {{"name": file.name, "size": file.stat().st_size}}, dict(seen)


def write(records, options):
    """A sink of your own: to: {{python: {{file: {file}, function: write}}}}. What it raises is tried again."""
    for record in records:
        print(record.topic, record.partition, record.offset, record.key, record.value)
'''

_DEFINITION = """\
# {name}: {about}. Options: docs/connectors/{kind}.md
name: {name}
{body}
"""


def write(name: str, kind: str, folder: Path) -> list[Path]:
    """The files, which must not be there yet; the definition first."""
    if not _NAME.fullmatch(name):
        raise usage(f"{name!r} is no good name", "Use small letters, digits, _ and -, beginning with a letter.")
    if kind == "python":
        function = f"{name.replace('-', '_')}.py"
        texts = {
            f"{name}.yaml": _PYTHON_DEFINITION.format(name=name, file=function),
            function: _PYTHON_FUNCTION.format(file=function),
        }
    elif kind in CONNECTORS:
        texts = {f"{name}.yaml": _definition(name, kind)}
    else:
        raise usage(f"there is no system {kind!r}", hint(kind, ["python", *CONNECTORS]))
    paths = [folder / each for each in texts]
    for path in paths:
        if path.exists():
            raise Failure(f"{path} is there already", "Take another name, or another --folder.")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in zip(paths, texts.values(), strict=True):
            path.write_text(text)
    except OSError as error:
        raise Failure(f"{error.filename} cannot be written: {(error.strerror or str(error)).lower()}") from None
    return paths


def _definition(name: str, kind: str) -> str:
    shipped = CONNECTORS[kind]
    example = "\n".join(f"    {line}" for line in shipped.example.splitlines())
    if shipped.source:
        body = f"from:\n  {kind}:\n{example}\nto: {{topic: {name}}}"
    else:
        body = f"from: {{topics: [{name}]}}\nto:\n  {kind}:\n{example}"
    return _DEFINITION.format(name=name, about=shipped.about, kind=kind, body=body)
