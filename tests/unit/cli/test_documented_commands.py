"""Every command line that the README, the documentation and the connectors' pages show is one that the commands take.

Which of them are also run, and with what output, is said by the tests of the pages; this one leaves none out.
"""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest
import typer

from barnabas.cli.app import Command, app

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
SHELL = ("|", "||", "&&", ";", ">", "2>&1", "&", "<")
TYPED = re.compile(r"^    (?:.*[|;&] *|\w+=\S+ +|\$ )?barnabas (.*)$")
MENTIONED = re.compile(r"`barnabas ([a-z][^`]*)`")


def parse(words: list[str]) -> str | None:
    """What is wrong with a command line, as the command itself would say it."""
    command: Command = typer.main.get_command(app)
    context = None
    try:
        while True:
            context = command.make_context(command.name, list(words), parent=context)
            if not hasattr(command, "commands"):
                return None
            words = [*context._protected_args, *context.args]
            if not words and command.invoke_without_command:
                return None
            _, command, words = command.resolve_command(context, words)
    except typer.Exit:
        return None  # --help, --version
    except Exception as error:  # whatever a page provokes is a finding; typer's copy of click has no public class
        return str(error.format_message()) if hasattr(error, "format_message") else repr(error)


def typed(page: Path) -> list[tuple[int, list[str]]]:
    lines = page.read_text().splitlines()
    found = []
    for number, line in enumerate(lines, 1):
        match = TYPED.match(line)
        if match is None:
            continue
        text, following = match[1], number
        while text.endswith("\\"):
            text = text[:-1] + lines[following].strip()
            following += 1
        words = shlex.split(text, comments=True)
        ends = [place for place, word in enumerate(words) if word in SHELL or word.startswith((">", "<<"))]
        found.append((number, words[: ends[0]] if ends else words))
    return found


def test_there_are_pages_with_commands() -> None:
    assert sum(len(typed(page)) for page in PAGES) > 150


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_command_lines(page: Path) -> None:
    tried = ((line, words, parse(words)) for line, words in typed(page))
    wrong = [f"{page.name}:{line}: barnabas {' '.join(words)}: {problem}" for line, words, problem in tried if problem]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_in_sentences(page: Path) -> None:
    """They may leave arguments out or name them in capitals, but every command and option exists."""
    tried = ((text, parse(shlex.split(text))) for text in MENTIONED.findall(page.read_text()))
    wrong = [f"{page.name}: barnabas {text}: {problem}" for text, problem in tried if "No such" in (problem or "")]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("topic list", None),
        ("topic lst", "No such command"),
        ("topic create orders --partitons 3", "No such option"),
        ("topic create", "Missing argument"),
    ],
)
def test_what_is_wrong_is_seen(line: str, problem: str | None) -> None:
    found = parse(shlex.split(line))
    assert (found is None) if problem is None else problem in (found or "")
