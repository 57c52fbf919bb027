"""`barnabas grep`: every record of a topic that matches, on stdout.

The whole topic is searched, from where it begins to where it ended when the command began. Exit codes are grep's: 0
found, 1 nothing found, 2 an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.common import moments
from barnabas.cli.common.failure import USAGE, Failure, usage
from barnabas.cli.common.options import DEFAULT_BOOTSTRAP, Bootstrap, Topic

if TYPE_CHECKING:
    from barnabas.browse import Query

NOTHING_FOUND = 1


def grep(
    topic: Topic,
    pattern: Annotated[str | None, typer.Argument(metavar="PATTERN", help="The text to look for.")] = None,
    regex: Annotated[bool, typer.Option("--regex", "-e", help="PATTERN is a regular expression (RE2).")] = False,
    key: Annotated[bool, typer.Option("--key", "-K", help="PATTERN is the whole key of a record.")] = False,
    where: Annotated[
        str | None, typer.Option("--where", "-w", metavar="EXPRESSION", help='In place of PATTERN: .user.name == "ada"')
    ] = None,
    ignore_case: Annotated[bool, typer.Option("--ignore-case", "-i", help="ADA is ada.")] = False,
    start: Annotated[
        str | None, typer.Option("--from", "-f", metavar="PLACE", help=f"Where to begin: {moments.HELP}.")
    ] = None,
    stop: Annotated[
        str | None, typer.Option("--to", "-t", metavar="PLACE", help="Where to stop (that record is left out).")
    ] = None,
    partition: Annotated[
        list[int] | None, typer.Option("--partition", "-p", metavar="N", help="Only this one; may be repeated.")
    ] = None,
    committed: Annotated[bool, typer.Option("--committed", help="Leave out aborted transactions.")] = False,
    count: Annotated[bool, typer.Option("--count", "-c", help="Only say how many there are.")] = False,
    number: Annotated[int | None, typer.Option("--max", "-n", min=1, metavar="N", help="Stop after N.")] = None,
    form: Annotated[str, typer.Option("--format", "-o", metavar="FORM", help="text, json or raw.")] = "text",
    keys: Annotated[bool, typer.Option("--keys", "-k", help="Show keys.")] = False,
    headers: Annotated[bool, typer.Option("--headers", help="Show headers.")] = False,
    timestamps: Annotated[bool, typer.Option("--timestamps", "-T", help="Show when each was written.")] = False,
    offsets: Annotated[bool, typer.Option("--offsets", "-O", help="Show partition:offset.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Search a whole topic.

    PATTERN is looked for in keys, values and headers. The exit code is 0 when something was found, 1 when nothing was,
    2 when the search failed. See docs/searching.md for the language of --where.

    \b
    Example:
      barnabas grep views '"view": 77'
      barnabas grep views --regex 'view": 8\\d{3}' --offsets --max 10
      barnabas grep views --where '.view >= 8990 and .view != 8995' --json
      barnabas grep views view --from -1h --count
    """
    from barnabas.cli.consume.formats import FORMATS, Shown, renderer
    from barnabas.cli.grep.searching import Wanted, run

    form = "json" if as_json else form
    if form not in FORMATS:
        raise usage(f"--format {form!r} is unknown", f"Choose from {', '.join(FORMATS)}.")
    wanted = Wanted(
        topic=topic,
        query=_query(pattern, regex, key, where, ignore_case),
        start=_place(start, "--from"),
        stop=_place(stop, "--to"),
        partitions=partition or None,
        committed=committed,
        most=0 if count else number,
    )
    render = renderer(form, Shown(keys, headers, timestamps, offsets))
    try:
        found = run(bootstrap, wanted, render)
    except Failure as failure:
        raise Failure(failure.message, failure.way_out, USAGE) from None
    if count:
        typer.echo(found)
    if not found:
        raise typer.Exit(NOTHING_FOUND)


def _query(pattern: str | None, regex: bool, key: bool, where: str | None, ignore_case: bool) -> Query:
    from barnabas.browse import Query
    from barnabas.browse.expression import BadExpression
    from barnabas.browse.search.query import finder

    if (pattern is None) == (where is None):
        raise usage("say what to look for: PATTERN or --where EXPRESSION, one of them")
    if where is not None and (regex or key or ignore_case):
        raise usage("--regex, --key and --ignore-case go with PATTERN, not with --where")
    if key and (regex or ignore_case):
        raise usage("--key compares the whole key", "For a part of it: --where 'key ~ \"...\"'")
    if where is not None:
        query = Query("expression", where)
    else:
        query = Query("key" if key else "regex" if regex else "text", pattern or "", ignore_case)
    try:
        finder(query)
    except BadExpression as problem:
        raise usage(str(problem)) from None
    return query


def _place(text: str | None, flag: str) -> moments.Position | None:
    import time

    if text is None:
        return None
    try:
        return moments.parse(text, int(time.time() * 1000))
    except ValueError as error:
        raise usage(f"{flag}: {error}") from None
