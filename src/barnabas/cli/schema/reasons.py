"""Why a schema is not compatible, from what a registry answers with verbose=true.

A registry says each reason as a text that looks like JSON and is none: {errorType:'...', description:'...',
additionalInfo:'...'}; the last ones of a list name the version and the level. What does not look so is shown as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

_REASON = re.compile(
    r"errorType:\s*['\"](?P<kind>[A-Z0-9_]+)['\"].*?description:\s*(?P<quote>['\"])(?P<text>.*?)(?P=quote)"
    r"(?:,\s*additionalInfo:\s*['\"](?P<more>.*?)['\"])?\s*\}?\s*$",
    re.DOTALL,
)
_PATH = re.compile(r"(?:at path|path|location:?)\s+['\"]?(?P<path>[/#][^\s'\",]*)['\"]?")
_ASIDE = ("{oldSchemaVersion:", "{oldSchema:", "{validateFields:", "{compatibility:")


class Reason(NamedTuple):
    kind: str  # Confluent's word; empty where there is none
    path: str
    text: str

    def line(self) -> str:
        where = f"{self.path}: " if self.path and self.path not in self.text else ""
        return f"{where}{self.text}"


def reasons(messages: Iterable[str]) -> list[Reason]:
    return [_reason(each) for each in messages if not each.startswith(_ASIDE)]


def _reason(message: str) -> Reason:
    text = " ".join(message.split())
    found = _REASON.search(text)
    if found is None:
        return Reason("", "", text)
    said, more = found["text"], found["more"] or ""
    path = _PATH.search(said) or _PATH.search(more)
    where = path["path"] if path is not None else more if more.startswith(("/", "#")) else ""
    return Reason(found["kind"], where, said)
