"""The tree of commands. One file a group; each command imports what it needs when it runs, so that help stays quick.

Help is plain text (no boxes): it reads well at any width, in a pipe and in docs/cli.md, which is made from this tree by
tools/cli_page.py and compared with it by a test.
"""

import os
from typing import Annotated

import typer
import typer.core

from barnabas.cli import version
from barnabas.cli.acl import command as acl
from barnabas.cli.audit import command as audit
from barnabas.cli.cluster import command as cluster
from barnabas.cli.common.failure import FAILED, USAGE, usage
from barnabas.cli.config import command as config
from barnabas.cli.console import command as console
from barnabas.cli.consume import command as consume
from barnabas.cli.demo import command as demo
from barnabas.cli.doctor import command as doctor
from barnabas.cli.grep import command as grep
from barnabas.cli.group import command as group
from barnabas.cli.log import command as log
from barnabas.cli.pipeline import command as pipeline
from barnabas.cli.produce import command as produce
from barnabas.cli.quota import command as quota
from barnabas.cli.secure import command as secure
from barnabas.cli.sim import command as sim
from barnabas.cli.telemetry import command as telemetry
from barnabas.cli.token import command as token
from barnabas.cli.top import command as top
from barnabas.cli.topic import command as topic
from barnabas.cli.txn import command as txn
from barnabas.cli.up import command as up_command
from barnabas.cli.user import command as user


class InOrder(typer.core.TyperGroup):
    """Lists the commands in the order of a first day, not groups after commands."""

    def list_commands(self, ctx: object) -> list[str]:
        order = (
            "up",
            "demo",
            "console",
            "cluster",
            "topic",
            "produce",
            "consume",
            "grep",
            "group",
            "txn",
            "pipeline",
            "user",
            "token",
            "acl",
            "quota",
            "telemetry",
            "audit",
            "secure",
            "config",
            "log",
            "top",
            "doctor",
            "sim",
            "version",
        )
        return [name for name in order if name in self.commands]


app = typer.Typer(
    name="barnabas",
    cls=InOrder,
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
        version.version()
        raise typer.Exit


app.command("up")(up_command.up)
app.command("console")(console.console)
app.add_typer(cluster.app, name="cluster")
app.add_typer(topic.app, name="topic")
app.command("produce")(produce.produce)
app.command("consume")(consume.consume)
app.command("grep")(grep.grep)
app.add_typer(group.app, name="group")
app.add_typer(txn.app, name="txn")
app.add_typer(pipeline.app, name="pipeline")
app.add_typer(user.app, name="user")
app.add_typer(token.app, name="token")
app.add_typer(acl.app, name="acl")
app.add_typer(quota.app, name="quota")
app.add_typer(telemetry.app, name="telemetry")
app.command("audit")(audit.audit)
app.add_typer(secure.app, name="secure")
app.add_typer(config.app, name="config")
app.add_typer(log.app, name="log")
app.command("top")(top.top)
app.command("doctor")(doctor.doctor)
app.command("demo")(demo.demo)
app.command("sim")(sim.sim)
app.command("version")(version.version)

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
