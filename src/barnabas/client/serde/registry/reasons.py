"""Why a schema is not compatible, from what a registry says.

It says each reason as a text that looks like JSON and is none: {errorType:'...', description:'...',
additionalInfo:'...'}, alone (verbose=true) or several in the text of a refusal; others name the version and the level.
What does not look so is given as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_REASON = re.compile(
    r"\{errorType:\s*['\"](?P<kind>[A-Z0-9_]+)['\"],\s*description:\s*['\"](?P<text>.*?)['\"],"
    r"\s*additionalInfo:\s*['\"](?P<more>.*?)['\"]\s*\}",
    re.DOTALL,
)
_PATH = re.compile(r"path\s+['\"]?(?P<path>[/#][^\s'\",]*)")
_OTHER_TYPE = re.compile(r"details: \[(Incompatible because of different schema type)\b")
_ASIDE = ("{oldSchemaVersion:", "{oldSchema:", "{validateFields:", "{compatibility:")


class Reason(NamedTuple):
    kind: str  # Confluent's word; empty where there is none
    path: str
    text: str

    def line(self) -> str:
        where = f"{self.path}: " if self.path and self.path not in self.text else ""
        return f"{where}{self.text}"


def reasons(messages: Iterable[str]) -> list[Reason]:
    """Each once, in their order."""
    found: dict[Reason, None] = {}
    for message in messages:
        if message.startswith(_ASIDE):
            continue
        text = " ".join(message.split())
        known = [_reason(each) for each in _REASON.finditer(text)]
        found |= dict.fromkeys(known or [Reason("", "", text)])
    return list(found)


def refusal(text: str) -> str:
    """The text of an incompatible schema's refusal as a line for a person; as it is where it lists no reasons."""
    named = [_reason(each).line() for each in _REASON.finditer(text)] or _OTHER_TYPE.findall(text)
    return f"not compatible with earlier versions: {'; '.join(dict.fromkeys(named))}" if named else text


def _reason(found: re.Match[str]) -> Reason:
    said, more = found["text"], found["more"]
    path = _PATH.search(said) or _PATH.search(more)
    where = path["path"] if path is not None else more if more.startswith(("/", "#")) else ""
    return Reason(found["kind"], where, said)
