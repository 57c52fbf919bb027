"""The files of pinned requirements agree: what is installed first stays when the rest follows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[3] / "requirements"


def pins(name: str) -> dict[str, set[str]]:
    """The hashes of each pin; when it is wanted (Windows, a version of Python) may differ."""
    text = re.sub(r"^\s*#.*\n", "", (FOLDER / name).read_text(), flags=re.MULTILINE).replace("\\\n", " ")
    lines = [line.partition(" --hash") for line in text.splitlines() if line]
    return {pin.partition(";")[0].strip(): set(re.findall(r"sha256:\w+", rest)) for pin, _, rest in lines}


@pytest.mark.parametrize(
    ("smaller", "larger", "only"),
    [("base.txt", "run.txt", {"setuptools"}), ("base.txt", "dev.txt", set()), ("run.txt", "dev.txt", set())],
)
def test_a_file_is_part_of_the_one_that_follows(smaller: str, larger: str, only: set[str]) -> None:
    first, then = pins(smaller), pins(larger)
    assert first and all(first.values())
    left = {pin: hashes for pin, hashes in first.items() if then.get(pin) != hashes}
    assert {pin.partition("==")[0] for pin in left} == only
