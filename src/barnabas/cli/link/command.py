"""`barnabas link`: topics that follow those of another cluster, byte for byte, until they are promoted.

This file has what is done with a link; `create` and `list` are beside it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.common.failure import Failure, usage
from barnabas.cli.common.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap, Yes, confirm, to_paste
from barnabas.cli.common.screen import emit_json, outcome
from barnabas.cli.link.creating import check_source, create
from barnabas.cli.link.listing import list_links
from barnabas.cli.link.options import Name, Topics

if TYPE_CHECKING:
    from barnabas.cli.common.cluster import Cluster

app = typer.Typer(help="Topics that follow those of another cluster.", no_args_is_help=True)
app.command("create")(create)
app.command("list")(list_links)


def _opened(bootstrap: str) -> Cluster:
    from barnabas.cli.common.cluster import Cluster

    return Cluster(bootstrap)


@app.command("status")
def status(
    name: Name,
    watch: Annotated[bool, typer.Option("--watch", help="Again every two seconds, until Ctrl-C.")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """How far a link is behind the source.

    Records and seconds, the rate, and when it will have caught up. Exits with 1 while something is wrong: the
    source cannot be reached, or a partition cannot be filled.

    \b
    Example:
      barnabas link status east
    """
    from barnabas.cli.link.status import show

    with _opened(bootstrap) as cluster:
        if not show(cluster, name, watch=watch, as_json=as_json):
            raise typer.Exit(1)


@app.command("pause")
def pause(name: Name, as_json: AsJson = False, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP) -> None:
    """Bring nothing over until it is resumed.

    \b
    Example:
      barnabas link pause east
    """
    again = to_paste(f"link resume {name}", bootstrap)
    _change(bootstrap, name, {"paused": "true"}, as_json, f"{name}: paused. On again: {again}")


@app.command("resume")
def resume(name: Name, as_json: AsJson = False, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP) -> None:
    """Go on where it was paused.

    \b
    Example:
      barnabas link resume east
    """
    _change(bootstrap, name, {"paused": None}, as_json, f"{name}: goes on")


@app.command("throttle")
def throttle(
    name: Name,
    rate: Annotated[str, typer.Argument(metavar="BYTES", help="A second and node, such as 10MB; 0: no limit.")],
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Limit how much each node fetches from the source.

    \b
    Example:
      barnabas link throttle east 10MB
      barnabas link throttle east 0
    """
    from barnabas.cli.link.typed import byte_rate

    limit = byte_rate("BYTES", rate)
    text = f"{name}: no limit" if limit == "0" else f"{name}: at most {rate} a second and node"
    _change(bootstrap, name, {"max.bytes.per.second": None if limit == "0" else limit}, as_json, text)


@app.command("login")
def login(name: Name, as_json: AsJson = False, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP) -> None:
    """Log in at the source anew, as its client profile says now.

    After a password, a user or a certificate authority of the source has changed. It goes on where it was.

    \b
    Example:
      barnabas link login east
    """
    from barnabas.cli.link import links
    from barnabas.model.settings.link import LOGIN_SETTINGS

    with _opened(bootstrap) as cluster:
        source = links.must_exist(cluster, name)["bootstrap.servers"] or ""
        settings: links.Settings = {**dict.fromkeys(LOGIN_SETTINGS), **links.login_settings(source)}
        settings["source.cluster.id"] = check_source(cluster, source)
        links.alter(cluster, links.LINK, {name: settings})
    user = settings["sasl.username"] or "nobody in particular"
    outcome(as_json, {"name": name, "user": settings["sasl.username"]}, f"{name}: logs in at {source} as {user}")


def _change(bootstrap: str, name: str, settings: dict[str, str | None], as_json: bool, text: str) -> None:
    from barnabas.cli.link import links

    with _opened(bootstrap) as cluster:
        links.must_exist(cluster, name)
        links.alter(cluster, links.LINK, {name: settings})
    outcome(as_json, {"name": name, **settings}, text)


@app.command("promote")
def promote(
    name: Name,
    topics: Topics = None,
    now: Annotated[
        bool, typer.Option("--now", help="At once, with what is here: the source is lost, or cannot be waited for.")
    ] = False,
    wait: Annotated[str, typer.Option("--wait", metavar="TIME", help="How long to wait for the last records.")] = "60s",
    yes: Yes = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Make ordinary topics of those that the link fills.

    Clients may write to them then. Stop the producers at the source first. It waits until the last records and
    offsets are here; --now does not, and says how many records of each partition were missing, as far as the source
    was heard.

    \b
    Example:
      barnabas link promote east
      barnabas link promote east --topics 'orders.*' --now
    """
    from barnabas.cli.common.moments import duration_ms
    from barnabas.cli.link.promotion import promoted
    from barnabas.cli.link.typed import patterns

    wanted = patterns("--topics", topics or ())
    try:
        wait_s = duration_ms(wait) / 1000
    except ValueError as error:
        raise usage(f"--wait: {error}", "Write it as --wait 60s.") from None
    if now:
        confirm("Records that are not here yet stay behind. Promote now?", yes)
    with _opened(bootstrap) as cluster:
        result = promoted(cluster, name, wanted, None if now else wait_s, quiet=as_json)
    if as_json:
        emit_json(result.as_json())
    else:
        result.show()


@app.command("reverse")
def reverse(
    name: Name,
    source: Annotated[
        str, typer.Option("--from", metavar="HOST:PORT", help="Where the former source finds this cluster.")
    ] = "",
    yes: Yes = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Turn the direction: the former source follows this cluster.

    The topics have to be promoted. What the former source wrote after the last record that came over is kept in
    files of its nodes (link-cut/ in their data folders) and cut off. Nothing may write to it any more.

    \b
    Example:
      barnabas link reverse east
    """
    from barnabas.cli.link.reversal import in_words, reversed_link
    from barnabas.cli.link.typed import address

    found_at = address("--from" if source else "--bootstrap", source or bootstrap)
    confirm(f"Records that only the former source of {name} has are cut off there. Go on?", yes)
    with _opened(bootstrap) as cluster:
        result = reversed_link(cluster, name, found_at)
    outcome(as_json, result, in_words(result))


@app.command("delete")
def delete(name: Name, as_json: AsJson = False, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP) -> None:
    """Remove a link whose topics were promoted.

    \b
    Example:
      barnabas link delete east
    """
    from barnabas.cli.link import links

    with _opened(bootstrap) as cluster:
        stored = links.must_exist(cluster, name)
        filled = sorted(links.topics_of(cluster, name))
        if filled:
            raise Failure(
                f"{name} fills {len(filled)} topics: {', '.join(filled[:5])}",
                f"Promote them first: {to_paste(f'link promote {name}', bootstrap)}",
            )
        links.alter(cluster, links.LINK, {name: dict.fromkeys(stored)})
    outcome(as_json, {"deleted": name}, f"{name}: deleted")


@app.command("verify")
def verify(
    name: Name,
    source: Annotated[
        str, typer.Option("--from", metavar="HOST:PORT", help="The source, if not the link's own addresses.")
    ] = "",
    topics: Topics = None,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Compare both clusters, batch by batch and byte for byte.

    Every topic that the link fills is read, and the offsets of groups are compared. Of a compacted topic it is the last
    record of each key. Exits with 1 when something differs.

    \b
    Example:
      barnabas link verify east
    """
    from barnabas.cli.link.typed import address, patterns
    from barnabas.cli.link.verifying import verified

    wanted = patterns("--topics", topics or ())
    other = address("--from", source) if source else ""
    with _opened(bootstrap) as cluster:
        result = verified(cluster, name, other, wanted, quiet=as_json)
    if as_json:
        emit_json(result.as_json())
    else:
        result.show()
    if result.differences:
        raise typer.Exit(1)
