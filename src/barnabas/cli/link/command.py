"""`barnabas link`: topics that follow those of another cluster, byte for byte, until they are promoted."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.common.failure import Failure, usage
from barnabas.cli.common.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap, Yes, confirm, to_paste
from barnabas.cli.common.screen import Column, emit_json, outcome, say, table

if TYPE_CHECKING:
    from barnabas.cli.common.cluster import Cluster
    from barnabas.cli.link.links import Progress

app = typer.Typer(help="Topics that follow those of another cluster.", no_args_is_help=True)

_FIRST_LOOK_S = 5.0

Name = Annotated[str, typer.Argument(metavar="NAME", help="The link's name.")]
Topics = Annotated[
    list[str] | None,
    typer.Option("--topics", metavar="REGEX", help="Topics, by their whole names; may be repeated. Default: all."),
]


def _cluster(bootstrap: str) -> Cluster:
    from barnabas.cli.common.cluster import Cluster

    return Cluster(bootstrap)


@app.command("create")
def create(
    name: Name,
    source: Annotated[str, typer.Option("--from", metavar="HOST:PORT", help="A node of the source, or several.")],
    topics: Topics = None,
    groups: Annotated[
        list[str] | None,
        typer.Option("--groups", metavar="REGEX", help="Groups whose offsets come along. Default: all."),
    ] = None,
    no_groups: Annotated[bool, typer.Option("--no-groups", help="Without the offsets of groups.")] = False,
    acls: Annotated[bool, typer.Option("--acls", help="Rules about the topics and groups come along.")] = False,
    keep_deleted: Annotated[
        bool, typer.Option("--keep-deleted", help="A topic that is deleted at the source stays here.")
    ] = False,
    rate: Annotated[
        str, typer.Option("--rate", metavar="BYTES", help="How much each node fetches a second, such as 10MB.")
    ] = "",
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Follow topics of another cluster under their own names.

    The other one is Barnabas or Apache Kafka. Topics appear here with the same partitions, settings, records and
    offsets, and follow as they change. Clients may only read them, until `barnabas link promote`. How to log in at
    the source says the client profile of its address.

    \b
    Example:
      barnabas link create east --from east-1:9092 --topics 'orders.*'
      barnabas link status east
    """
    from barnabas.cli.link import links

    settings: dict[str, str | None] = {
        "bootstrap.servers": source,
        "topics": ",".join(topics) if topics else None,
        "groups": ",".join(groups) if groups else None,
        "sync.groups": "false" if no_groups else None,
        "sync.acls": "true" if acls else None,
        "sync.deletes": "false" if keep_deleted else None,
        "max.bytes.per.second": _bytes(rate) if rate else None,
        **links.login_settings(source),
    }
    with _cluster(bootstrap) as cluster:
        if name in links.names(cluster):
            raise Failure(
                f"there is a link {name!r} already", f"Look at it: {to_paste(f'link status {name}', bootstrap)}"
            )
        _check_source(cluster, source)
        links.alter(cluster, links.LINK, {name: {key: value for key, value in settings.items() if value is not None}})
        found = _await_first(cluster, name)
    see = to_paste(f"link status {name}", bootstrap)
    text = f"{name}: follows {source}, {_topics_text(found)}. How far it is: {see}"
    outcome(as_json, {"name": name, "topics": sorted({p.topic for p in found.partitions})}, text)


def _check_source(cluster: Cluster, source: str) -> None:
    """It answers, and is another cluster."""
    with _cluster(source) as other:
        if other.metadata([]).cluster_id == cluster.metadata([]).cluster_id:
            raise usage(f"--from {source} is this cluster itself", "Name a node of the cluster that it is to follow.")


def _await_first(cluster: Cluster, name: str) -> Progress:
    """Its first topics are there after a moment."""
    from barnabas.cli.link import links

    deadline = time.monotonic() + _FIRST_LOOK_S
    while True:
        found = links.progress(cluster, name)
        if found.partitions or found.errors or found.synced_ms >= 0 or time.monotonic() >= deadline:
            return found
        time.sleep(0.1)


def _topics_text(found: Progress) -> str:
    from barnabas.cli.common.human import plural

    return plural(len({partition.topic for partition in found.partitions}), "topic") + " so far"


def _bytes(text: str) -> str:
    from barnabas.operate.access.quotas import amount
    from barnabas.operate.unusable import Unusable

    if text.strip() == "0":
        return "0"
    try:
        return str(int(amount("consumer_byte_rate", text)))
    except Unusable as error:
        raise usage(str(error), "Write it as 10MB or 10MB/s; 0 is no limit.") from None


@app.command("list")
def list_links(as_json: AsJson = False, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP) -> None:
    """List the links, with what they follow and how far behind they are.

    \b
    Example:
      barnabas link list
    """
    from barnabas.cli.common import human
    from barnabas.cli.link import links

    with _cluster(bootstrap) as cluster:
        known = links.names(cluster)
        settings = links.configs(cluster, links.LINK, known)
        found = [links.progress(cluster, name) for name in known]
    if as_json:
        emit_json([_summary(each, settings[each.name]) for each in found])
        return
    if not found:
        make = to_paste("link create NAME --from HOST:PORT --topics REGEX", bootstrap)
        say(f"no links. Make one: {make}")
        return
    columns = (
        Column("name", style="bold"),
        Column("follows", flexible=True),
        Column("topics", right=True),
        Column("partitions", right=True),
        Column("lag", right=True),
        Column("state", flexible=True),
    )
    rows = [
        [
            each.name,
            settings[each.name]["bootstrap.servers"] or "",
            human.count(len({p.topic for p in each.partitions})),
            human.count(len(each.partitions)),
            human.count(each.total_lag),
            _state(each),
        ]
        for each in found
    ]
    table(columns, rows)


def _summary(found: Progress, settings: dict[str, str | None]) -> dict[str, object]:
    return {
        "name": found.name,
        "from": settings["bootstrap.servers"],
        "topics": sorted({p.topic for p in found.partitions}),
        "partitions": len(found.partitions),
        "lag_records": found.total_lag,
        "errors": found.errors,
    }


def _state(found: Progress) -> str:
    if found.errors:
        return found.errors[0]
    wrong = sum(bool(p.error_message) for p in found.partitions)
    return f"{wrong} partitions with errors" if wrong else "follows"


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

    with _cluster(bootstrap) as cluster:
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
    limit = _bytes(rate)
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

    with _cluster(bootstrap) as cluster:
        source = links.must_exist(cluster, name)["bootstrap.servers"] or ""
        settings: links.Settings = {**dict.fromkeys(LOGIN_SETTINGS), **links.login_settings(source)}
        _check_source(cluster, source)
        links.alter(cluster, links.LINK, {name: settings})
    user = settings["sasl.username"] or "nobody in particular"
    outcome(as_json, {"name": name, "user": settings["sasl.username"]}, f"{name}: logs in at {source} as {user}")


def _change(bootstrap: str, name: str, settings: dict[str, str | None], as_json: bool, text: str) -> None:
    from barnabas.cli.link import links

    with _cluster(bootstrap) as cluster:
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

    try:
        wait_s = duration_ms(wait) / 1000
    except ValueError as error:
        raise usage(f"--wait: {error}", "Write it as --wait 60s.") from None
    if now:
        confirm("Records that are not here yet stay behind. Promote now?", yes)
    with _cluster(bootstrap) as cluster:
        result = promoted(cluster, name, topics or [], None if now else wait_s, quiet=as_json)
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

    confirm(f"Records that only the former source of {name} has are cut off there. Go on?", yes)
    with _cluster(bootstrap) as cluster:
        result = reversed_link(cluster, name, source or bootstrap)
    outcome(as_json, result, in_words(result))


@app.command("delete")
def delete(name: Name, as_json: AsJson = False, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP) -> None:
    """Remove a link whose topics were promoted.

    \b
    Example:
      barnabas link delete east
    """
    from barnabas.cli.link import links

    with _cluster(bootstrap) as cluster:
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
    from barnabas.cli.link.verifying import verified

    with _cluster(bootstrap) as cluster:
        result = verified(cluster, name, source, topics or [], quiet=as_json)
    if as_json:
        emit_json(result.as_json())
    else:
        result.show()
    if result.differences:
        raise typer.Exit(1)
