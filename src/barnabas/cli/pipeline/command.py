"""`barnabas pipeline`: what pipelines there are, a new one of one's own, run one, see how it goes, stop it.

Spark is imported only by `run`, so that all else is quick and works without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.common.failure import Failure, usage
from barnabas.cli.common.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap, pairs
from barnabas.cli.common.screen import emit_json, paint, say
from barnabas.pipelines.session import DEFAULT_MASTER

if TYPE_CHECKING:
    from barnabas.pipelines.framework.pipeline import Option as PipelineOption

app = typer.Typer(help="The data pipelines on Spark: list, make, run, watch and stop them.", no_args_is_help=True)

Data = Annotated[
    str | None,
    typer.Option(
        "--data", "-d", metavar="DIR", envvar="BARNABAS_PIPELINES",
        help="Where pipelines keep their progress, tables and reports.  [default: ~/.local/share/barnabas/pipelines]",
    ),
]  # fmt: skip
Name = Annotated[str, typer.Argument(metavar="NAME", help="A pipeline's name, or the file or folder of one's own.")]


@app.command("list")
def list_pipelines(as_json: AsJson = False) -> None:
    """List the pipelines that ship.

    \b
    Example:
      barnabas pipeline list
    """
    from barnabas.pipelines.framework import registry

    found = registry.built_in()
    if as_json:
        emit_json(
            [
                {
                    "name": each.name,
                    "summary": each.summary,
                    "now": each.now_summary if each.has("now") else None,
                    "later": each.later_summary if each.has("later") else None,
                    "reads": [topic.name for topic in each.reads],
                    "writes": [topic.name for topic in each.writes],
                    "options": {option.name: option.default for option in each.options},
                }
                for each in found
            ]
        )
        return
    for each in found:
        say(f"{paint(each.name, 'bold')}  {each.summary}")
        for part, told in (("now", each.now_summary), ("later", each.later_summary)):
            if each.has(part):
                say(f"  {paint(f'--{part}'.ljust(8), 'cyan')} {told}")
        if each.options:
            say(paint(f"  --set     {', '.join(_shown(option) for option in each.options)}", "dim"))
    say()
    say("Try one: barnabas pipeline run activity --generate 200     Make one: barnabas pipeline new mine")


@app.command("new")
def new(
    name: Annotated[str, typer.Argument(metavar="NAME", help="The name of the pipeline, and of its file.")],
    folder: Annotated[str, typer.Option("--folder", "-f", metavar="DIR", help="Where to put it.")] = ".",
) -> None:
    """Write a small working pipeline of your own to start from.

    \b
    Example:
      barnabas pipeline new orders
      barnabas pipeline run orders.py --generate 50
    """
    from barnabas.cli.pipeline.new import write

    path = write(name, Path(folder).expanduser())
    say(f"wrote {path}")
    say()
    say("Try it:")
    say(f"  barnabas pipeline run {path} --generate 50      # a stream, with believable data")
    say(f"  barnabas pipeline run {path} --later            # the same in bulk")


@app.command("run")
def run(
    name: Name,
    now: Annotated[bool, typer.Option("--now", help="Read the stream as it comes (the default).")] = False,
    later: Annotated[bool, typer.Option("--later", help="Work through history, leave a result, end.")] = False,
    begin: Annotated[
        str | None, typer.Option("--from", metavar="TIME", help="Begin there: 2026-05-01T10:00, 10:30, -2h, yesterday.")
    ] = None,
    end: Annotated[str | None, typer.Option("--to", metavar="TIME", help="End there; the same words.")] = None,
    master: Annotated[
        str, typer.Option("--master", "-m", metavar="URL", help="Spark to run on: local[2], spark://host:7077 ...")
    ] = DEFAULT_MASTER,
    once: Annotated[bool, typer.Option("--once", help="Read what is there now, then end.")] = False,
    generate: Annotated[
        float | None,
        typer.Option(
            "--generate",
            "-g",
            min=0.1,
            max=100_000,
            metavar="N",
            help="Also write believable data, N records a second.",
        ),
    ] = None,
    seconds: Annotated[
        float | None, typer.Option("--seconds", "-s", min=1, metavar="N", help="End by itself after so many seconds.")
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="An option of the pipeline; may be repeated."),
    ] = None,
    topic: Annotated[
        list[str] | None,
        typer.Option("--topic", "-t", metavar="USUAL=YOURS", help="Read or write your topic in place of the usual."),
    ] = None,
    client: Annotated[
        list[str] | None,
        typer.Option("--client", metavar="NAME=VALUE", help="A client setting: security.protocol=SASL_SSL ..."),
    ] = None,
    registry: Annotated[
        str | None,
        typer.Option("--registry", metavar="URL", help="A schema registry: values of its formats are read as JSON."),
    ] = None,
    conf: Annotated[
        list[str] | None, typer.Option("--conf", metavar="NAME=VALUE", help="A setting of Spark; may be repeated.")
    ] = None,
    exactly_once: Annotated[
        bool,
        typer.Option("--exactly-once", help="Results exactly once, by micro-batches in place of Real-Time Mode."),
    ] = False,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget the progress and tables of earlier runs.")] = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="No screen; only errors and the summary.")] = False,
    data: Data = None,
    checkpoints: Annotated[
        str | None,
        typer.Option(
            "--checkpoints",
            metavar="URL",
            envvar="BARNABAS_CHECKPOINTS",
            help="Keep the progress and state of the stream on storage that all machines reach: s3a://bucket/path.",
        ),
    ] = None,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Run a pipeline.

    With --now it reads the stream until Ctrl-C or `barnabas pipeline stop`, and goes on from there the next time. With
    --later it works through the records between --from and --to. NAME is one that ships (barnabas pipeline list), a
    Python file of one's own, or a folder of Spark Declarative Pipelines.

    \b
    Example:
      barnabas pipeline run activity --generate 200
      barnabas pipeline run activity --later --from yesterday --to today
      barnabas pipeline run lake --topic events=orders --once
      barnabas pipeline run mine.py --master spark://host:7077 --checkpoints s3a://bucket/pipelines
    """
    from barnabas.cli.pipeline.run import Asked, run_pipeline

    if now and later:
        raise usage("--now and --later are two different runs", "Say one of them.")
    if later and (once or generate or seconds):
        raise usage("--once, --generate and --seconds are for --now", "--later ends by itself.")
    settings = pairs(client, "--client", "security.protocol=SSL")
    source = {f"kafka.{key.removeprefix('kafka.')}": value for key, value in settings.items()}
    if registry is not None:
        source["registry"] = registry
    asked = Asked(
        name=name,
        now=None if not now and not later else now,
        begin=begin,
        end=end,
        master=master,
        once=once,
        generate=generate,
        seconds=seconds,
        options=pairs(sets, "--set", "window=12h"),
        topics=pairs(topic, "--topic", "activity.searches=mine"),
        source=source,
        conf=pairs(conf, "--conf", "spark.driver.memory=2g"),
        fresh=fresh,
        exactly_once=exactly_once,
        quiet=quiet,
        home=_home(data),
        checkpoints=checkpoints or "",
        bootstrap=bootstrap,
    )
    with one_line():
        raise typer.Exit(run_pipeline(asked))


@app.command("status")
def status(
    name: Annotated[str | None, typer.Argument(metavar="[NAME]", help="Only this one.")] = None,
    as_json: AsJson = False,
    data: Data = None,
) -> None:
    """Show the pipelines that run now.

    \b
    Example:
      barnabas pipeline status
      barnabas pipeline status activity --json
    """
    from barnabas.cli.pipeline.running import show
    from barnabas.pipelines.framework.run_directory import PARTS, houses

    found = houses(_home(data))
    if name is not None:
        name = _pipeline_name(name)
        _refuse_unknown(name, {house.pipeline for house in found})
    states = [
        state
        for house in found
        if name in (None, house.pipeline)
        for part in PARTS
        if (state := house.state(part)) is not None
    ]
    if as_json:
        emit_json(states)
    elif not states:
        say(f"{name} does not run" if name else "no pipeline runs")
    else:
        show(states)


@app.command("stop")
def stop(name: Name, data: Data = None) -> None:
    """Stop a pipeline that runs; it goes on from there the next time.

    \b
    Example:
      barnabas pipeline stop activity
    """
    from barnabas.pipelines.framework.run_directory import PARTS, RunDirectory, houses

    with one_line():
        house = RunDirectory(_home(data), _pipeline_name(name))
        stopped = [house.stop(part) for part in PARTS]
        if not any(stopped):
            _refuse_unknown(house.pipeline, {each.pipeline for each in houses(_home(data))})
            raise Failure(f"{house.pipeline} does not run", "barnabas pipeline status shows what does.")
    say(f"stopped {house.pipeline}")


@contextmanager
def one_line() -> Iterator[None]:
    """A pipeline's error as the command line says it."""
    from barnabas.pipelines.errors import PipelineError

    try:
        yield
    except PipelineError as error:
        raise Failure(str(error)) from error


def _shown(option: PipelineOption) -> str:
    """A default with a comma in it would look like several options."""
    return f"{option.name}={option.default!r}" if "," in option.default else f"{option.name}={option.default}"


def _pipeline_name(name: str) -> str:
    """A file of one's own runs under its name, unless its class says another."""
    return Path(name).stem if name.endswith(".py") else name


def _refuse_unknown(name: str, ran: set[str]) -> None:
    """A name that never ran here and does not ship is most often misspelt."""
    from barnabas.pipelines.framework.registry import BUILT_IN
    from barnabas.pipelines.nearest import did_you_mean

    known = {*BUILT_IN, *ran}
    if name not in known:
        raise Failure(f"no pipeline {name!r} has run here.{did_you_mean(name, known)}")


def _home(data: str | None) -> Path:
    from barnabas.pipelines.framework.run_directory import default_home

    return Path(data).expanduser() if data else default_home()
