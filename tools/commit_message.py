"""Checks a commit message, for git's commit-msg hook: `python tools/commit_message.py FILE` (see CONTRIBUTING.md).

The subject is an imperative sentence of at most 72 characters, without a full stop; below it an empty line, and a body
that says why. Merges, reverts and the fixups of a rebase are git's own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

SUBJECT_MAX, LINE_MAX = 72, 100
BY_GIT = ("Merge ", "Revert ", "fixup! ", "squash! ", "amend! ")
SCISSORS = "------------------------ >8 ------------------------"


def problems(message: str) -> Iterator[str]:
    lines = [line.rstrip() for line in message.partition(SCISSORS)[0].splitlines() if not line.startswith("#")]
    while lines and not lines[0]:
        del lines[0]
    if not lines:
        yield "the message is empty"
        return
    subject, *rest = lines
    if subject.startswith(BY_GIT):
        return
    if len(subject) > SUBJECT_MAX:
        yield f"the subject has {len(subject)} characters, at most {SUBJECT_MAX}"
    if subject.endswith("."):
        yield "the subject ends with a full stop"
    if subject[0].islower():
        yield "the subject begins with a small letter"
    if rest and rest[0]:
        yield "the line below the subject is not empty"
    if not any(rest[1:]):
        yield "there is no body: say why"
    for line in rest:
        if len(line) > LINE_MAX and " " in line.strip():  # an address cannot be broken
            yield f"a line of the body has {len(line)} characters, at most {LINE_MAX}"


def main(path: str) -> int:
    found = list(problems(Path(path).read_text()))
    for problem in found:
        print(f"commit message: {problem}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
