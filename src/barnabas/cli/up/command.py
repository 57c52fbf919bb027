"""`barnabas up` as typer sees it: its help, its complaints and its completion, all from the table in up/options.py."""

import inspect
from typing import Annotated, Any

import typer

from barnabas.cli.up.options import HELP, ROWS, OptionRow, UpOptions


def up(**values: Any) -> None:  # what typer made of the row of each
    from barnabas.cli.up.node import run

    values["set"] = tuple(values["set"] or ())
    raise typer.Exit(run(UpOptions(**values)))


def _parameter(row: OptionRow) -> inspect.Parameter:
    kind: Any = bool if row.kind is bool else (list[str] if row.many else row.kind) | None  # a type, made here
    option = typer.Option(*row.flags, metavar=row.metavar or None, help=row.help, show_default=False)
    return inspect.Parameter(
        row.field,
        inspect.Parameter.KEYWORD_ONLY,
        default=False if row.kind is bool else None,
        annotation=Annotated[kind, option],
    )


_parameters = [_parameter(row) for row in ROWS]
up.__signature__ = inspect.Signature(_parameters)  # type: ignore[attr-defined]
up.__annotations__ = {parameter.name: parameter.annotation for parameter in _parameters}
up.__doc__ = HELP
