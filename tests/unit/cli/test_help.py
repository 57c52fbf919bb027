"""Documentation is tested: each command has help with an example that parses; docs/cli.md is what the commands say."""

import importlib.util
import re
import shlex
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import typer.main

from barnabas.cli.app import app

ROOT = Path(__file__).parents[3]


def load_tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("cli_page", ROOT / "tools" / "cli_page.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


TOOL = load_tool()
TREE = {path: context for path, context, _ in TOOL.walk(typer.main.get_command(app), "barnabas", None, 1)}
GROUPS = {
    path.removeprefix("barnabas "): context.command.list_commands(context)
    for path, context in TREE.items()
    if path != "barnabas" and hasattr(context.command, "list_commands")
}
COMMANDS = {path: context for path, context in TREE.items() if not hasattr(context.command, "list_commands")}


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.delenv("BARNABAS_BOOTSTRAP", raising=False)


def test_the_page_is_what_the_commands_say() -> None:
    assert (ROOT / "docs" / "cli.md").read_text() == TOOL.page(), "run: python tools/cli_page.py"


def test_every_command_that_a_text_names_is_there() -> None:
    """Errors and pages tell people what to run: `barnabas cluster drain` and the like."""
    named = re.compile(r"\bbarnabas (" + "|".join(sorted(GROUPS)) + r") ([a-z][a-z-]+)")
    found = {
        (path.name, *match.groups())
        for path in (ROOT / "src").rglob("*")
        if path.suffix in (".py", ".js")
        for match in named.finditer(path.read_text())
    }
    assert len(found) > 20
    assert [each for each in sorted(found) if each[2] not in GROUPS[each[1]]] == []


def test_the_tree_is_the_promised_one() -> None:
    assert set(COMMANDS) == {
        f"barnabas {name}"
        for name in (
            "up", "demo", "console", "top", "grep", "produce", "consume", "doctor", "sim", "version", "log dump",
            "topic create", "topic list", "topic describe", "topic alter", "topic grow", "topic delete",
            "topic delete-records",
            "group list", "group describe", "group reset", "group delete",
            "cluster status", "cluster balance", "cluster drain", "cluster kill-test",
            "cluster voters", "cluster recover",
            "txn list", "txn describe", "txn producers", "txn find-hanging", "txn abort",
            "pipeline list", "pipeline new", "pipeline run", "pipeline status", "pipeline stop",
            "connect run", "connect worker", "connect add", "connect check", "connect kinds", "connect new",
            "connect list", "connect status", "connect pause", "connect resume", "connect restart", "connect reset",
            "connect remove", "connect redrive",
            "link create", "link list",
            "link login", "link status", "link pause", "link resume", "link throttle", "link promote",
            "link reverse", "link delete", "link verify",
            "mirror run", "mirror status", "mirror pause", "mirror resume", "mirror remove",
            "telemetry subscribe", "telemetry list", "telemetry remove",
            "acl add", "acl list", "acl remove", "acl check", "audit", "quota set", "quota list", "quota remove",
            "schema list", "schema show", "schema register", "schema check", "schema diff", "schema delete",
            "registry import", "registry export",
            "user create", "user list", "user password", "user delete",
            "token create", "token renew", "token expire", "token list",
            "secure init", "secure node", "secure rotate", "secure status",
            "config list", "config get", "config set", "config delete", "config append", "config subtract",
        )
    }  # fmt: skip


# They run until they are stopped, write files that a program reads, or end with the exit code that says everything.
WITHOUT_JSON = {
    "up",
    "demo",
    "console",
    "sim",
    "pipeline new",
    "pipeline run",
    "pipeline stop",
    "connect run",
    "connect worker",
    "mirror run",
}


def test_every_command_that_a_script_may_read_has_json() -> None:
    without = {
        path.removeprefix("barnabas ")
        for path, context in COMMANDS.items()
        if not any("--json" in parameter.opts for parameter in context.command.params)
    }
    assert without == WITHOUT_JSON


def examples(path: str) -> list[str]:
    help_text = COMMANDS[path].command.help or ""
    _, found, lines = help_text.partition("Example:\n")
    assert found, f"{path} has no example"
    return [line.strip() for line in lines.strip().splitlines()]


def commands_in(example: str) -> list[list[str]]:
    """The `barnabas` command lines of a pipe."""
    parts: list[list[str]] = [[]]
    for word in shlex.split(example):
        if word == "|":
            parts.append([])
        else:
            parts[-1].append(word)
    return [part for part in parts if part[0] == "barnabas"]


@pytest.mark.parametrize("path", sorted(COMMANDS))
def test_every_example_parses(path: str) -> None:
    """Each `barnabas ...` in the examples is a command line that typer accepts."""
    mine = 0
    for example in examples(path):
        for words in commands_in(example):
            name, arguments = "barnabas", words[1:]
            while f"{name} {arguments[0] if arguments else ''}".strip() in TREE and arguments:
                name, arguments = f"{name} {arguments[0]}", arguments[1:]
                if name in COMMANDS:
                    break
            command: Any = COMMANDS[name].command
            command.make_context(name, list(arguments), resilient_parsing=False)
            mine += name == path
    assert mine, f"no example of {path} shows it"


@pytest.mark.parametrize("path", sorted(COMMANDS))
def test_the_first_line_fits_the_list_of_commands(path: str) -> None:
    assert not COMMANDS[path].command.get_short_help_str(66).endswith("...")


@pytest.mark.parametrize(
    "path",
    sorted(
        path
        for path in COMMANDS
        if path.endswith((" list", " describe", " get", " version", " producers", " find-hanging"))
    ),
)
def test_whatever_lists_has_json(path: str) -> None:
    assert "--json" in {flag for option in COMMANDS[path].command.params for flag in option.opts}
