"""The tree of commands. One file a group; each command imports what it needs when it runs, so that help stays quick.

Only the group that is asked for is imported: a tree of all of them takes as long to build as most commands take to run.

Help is plain text (no boxes): it reads well at any width, in a pipe and in docs/cli.md, which is made from this tree by
tools/cli_page.py and compared with it by a test.
"""

import os
from collections.abc import Iterator, MutableMapping
from importlib import import_module
from types import ModuleType
from typing import Annotated, Any, TypeAlias

import typer
import typer.core

from barnabas.cli.common.failure import FAILED, USAGE, usage

# In the order of a first day. A group has an `app` in its module, a single command a function of its name.
COMMANDS = {
    "up": "barnabas.cli.up.command",
    "demo": "barnabas.cli.demo.command",
    "console": "barnabas.cli.console.command",
    "registry": "barnabas.cli.registry.command",
    "cluster": "barnabas.cli.cluster.command",
    "topic": "barnabas.cli.topic.command",
    "produce": "barnabas.cli.produce.command",
    "consume": "barnabas.cli.consume.command",
    "grep": "barnabas.cli.grep.command",
    "schema": "barnabas.cli.schema.command",
    "group": "barnabas.cli.group.command",
    "txn": "barnabas.cli.txn.command",
    "pipeline": "barnabas.cli.pipeline.command",
    "connect": "barnabas.cli.connect.command",
    "link": "barnabas.cli.link.command",
    "mirror": "barnabas.cli.mirror.command",
    "user": "barnabas.cli.user.command",
    "token": "barnabas.cli.token.command",
    "acl": "barnabas.cli.acl.command",
    "quota": "barnabas.cli.quota.command",
    "telemetry": "barnabas.cli.telemetry.command",
    "audit": "barnabas.cli.audit.command",
    "secure": "barnabas.cli.secure.command",
    "config": "barnabas.cli.config.command",
    "log": "barnabas.cli.log.command",
    "top": "barnabas.cli.top.command",
    "doctor": "barnabas.cli.doctor.command",
    "sim": "barnabas.cli.sim.command",
    "version": "barnabas.cli.version",
}


# Any: typer carries its own copy of click, in which Command has no public name.
Command: TypeAlias = Any


class _Commands(MutableMapping[str, Command]):
    """Made when it is asked for."""

    def __init__(self) -> None:
        self._made: dict[str, Command] = {}

    def __getitem__(self, name: str) -> Command:
        if name not in self._made:
            self._made[name] = _made(name, import_module(COMMANDS[name]))
        return self._made[name]

    def __setitem__(self, name: str, command: Command) -> None:
        self._made[name] = command

    def __delitem__(self, name: str) -> None:
        del self._made[name]

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)

    def __contains__(self, name: object) -> bool:
        return name in COMMANDS


def _made(name: str, module: ModuleType) -> Command:
    part = typer.Typer(rich_markup_mode=None, callback=lambda: None)
    if hasattr(module, "app"):
        part.add_typer(module.app, name=name)
    else:
        part.command(name)(getattr(module, name))
    root: Command = typer.main.get_command(part)
    return root.commands[name]


class Tree(typer.core.TyperGroup):
    def __init__(self, **settings: Any) -> None:  # Any: whatever typer's group takes
        super().__init__(**settings)
        self.commands = _Commands()

    def list_commands(self, ctx: object) -> list[str]:
        return list(COMMANDS)


app = typer.Typer(
    name="barnabas",
    cls=Tree,
    help="Barnabas: event streaming that speaks Kafka's protocol.\n\nStart with: barnabas up",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


@app.callback()
def _barnabas(
    versions: Annotated[bool, typer.Option("--version", "-V", help="Show the versions and exit.")] = False,
) -> None:
    if versions:  # before a command; alone, `_as_here` has made it the command `version`
        from barnabas.cli import version

        version.version()
        raise typer.Exit


COMPLETION = "_BARNABAS_COMPLETE"  # set by the shell's completion script

# typer carries its own copy of click since 0.2x and used the package before: take the class from whichever is there.
_USAGE_ERROR: type[Exception] = next(c for c in typer.BadParameter.__mro__ if c.__name__ == "ClickException")


def _as_here(arguments: list[str]) -> list[str]:
    """Habits of other tools: `--version`, and `-o json` (kubectl's) for --json."""
    if arguments in (["--version"], ["-V"]):
        return ["version"]
    for place, word in enumerate(arguments[:-1]):
        if word == "--":
            break
        if word in ("-o", "--output") and arguments[place + 1] == "json":
            return [*arguments[:place], "--json", *arguments[place + 2 :]]
    return arguments


def invoke(arguments: list[str]) -> int:
    """Run one command line; a wrong one becomes a Failure with exit code 2.

    Not by typer's own `main`: that one would end the process itself, with code 1 when a reader leaves a pipe.
    """
    arguments = _as_here(arguments)
    command = typer.main.get_command(app)
    if COMPLETION in os.environ:
        command.main(arguments, prog_name="barnabas", complete_var=COMPLETION)
    try:
        with command.make_context("barnabas", arguments) as context:
            command.invoke(context)
    except typer.Exit as ended:
        return ended.exit_code
    except typer.Abort:
        return FAILED
    except _USAGE_ERROR as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            typer.echo(str(error), err=True)
            return USAGE
        where = getattr(error, "ctx", None)
        path = where.command_path if where else "barnabas"
        raise usage(_one_line(error), f"See: {path} --help") from None
    return 0


def _one_line(error: Exception) -> str:
    text: str = error.format_message() if hasattr(error, "format_message") else str(error)
    text = " ".join(text.split())
    return text[:1].lower() + text[1:]
