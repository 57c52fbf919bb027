"""What the commit-msg hook takes and refuses."""

from __future__ import annotations

import pytest

from tools.commit_message import problems

BODY = "\n\nBecause it was slow: 12 ms before, 3 ms after.\n"


@pytest.mark.parametrize(
    "message",
    [
        "Read dates of JSON values a chunk at a time" + BODY,
        "X" * 72 + BODY,
        "# a comment of git\n\nList groups one coordinator at a time" + BODY + "# On branch main\n",
        "fixup! list groups one coordinator at a time.",
        'Revert "List groups one coordinator at a time"',
        f"Link the specification\n\nSee\nhttps://example.org/{'long' * 40}\n",
    ],
)
def test_taken(message: str) -> None:
    assert list(problems(message)) == []


@pytest.mark.parametrize(
    ("message", "problem"),
    [
        ("", "empty"),
        ("# only comments\n", "empty"),
        ("X" * 73 + BODY, "the subject has 73 characters, at most 72"),
        ("Mend the leak." + BODY, "full stop"),
        ("mend the leak" + BODY, "small letter"),
        ("Mend the leak\nof sockets" + BODY, "below the subject is not empty"),
        ("Mend the leak", "no body"),
        ("Mend the leak\n\n# comment\n", "no body"),
        (f"Mend the leak\n\n{'word ' * 30}\n", "a line of the body"),
    ],
)
def test_refused(message: str, problem: str) -> None:
    assert any(problem in each for each in problems(message))
