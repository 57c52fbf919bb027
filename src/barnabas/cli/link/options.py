"""What several commands about links take."""

from typing import Annotated

import typer

Name = Annotated[str, typer.Argument(metavar="NAME", help="The link's name.")]
Topics = Annotated[
    list[str] | None,
    typer.Option("--topics", metavar="REGEX", help="Topics, by their whole names; may be repeated. Default: all."),
]
