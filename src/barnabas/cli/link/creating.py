"""`barnabas link create`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.common.failure import Failure, usage
from barnabas.cli.common.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap, to_paste
from barnabas.cli.common.screen import outcome
from barnabas.cli.link.options import Name, Topics

if TYPE_CHECKING:
    from barnabas.cli.common.cluster import Cluster
    from barnabas.operate.cluster_links import Progress

_FIRST_LOOK_S = 5.0


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
    users: Annotated[
        bool, typer.Option("--users", help="Users that log in by SCRAM come along, with their passwords. Needs TLS.")
    ] = False,
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
    from barnabas.cli.common.cluster import Cluster
    from barnabas.cli.link import links, typed, user_keys

    if no_groups and groups:
        raise usage("--no-groups and --groups do not go together", "Say which groups, or that none come along.")
    typed.check_name(name)
    typed.patterns("--topics", topics or ())
    typed.patterns("--groups", groups or ())
    source = typed.address("--from", source)
    settings: dict[str, str | None] = {
        "bootstrap.servers": source,
        "topics": ",".join(topics) if topics else None,
        "groups": ",".join(groups) if groups else None,
        "sync.groups": "false" if no_groups else None,
        "sync.acls": "true" if acls else None,
        "sync.users": "true" if users else None,
        "sync.deletes": "false" if keep_deleted else None,
        "max.bytes.per.second": typed.byte_rate("--rate", rate) if rate else None,
        **links.login_settings(source),
    }
    if users:
        user_keys.check_login(source, settings)
    with Cluster(bootstrap) as cluster:
        if name in links.names(cluster):
            raise Failure(
                f"there is a link {name!r} already", f"Look at it: {to_paste(f'link status {name}', bootstrap)}"
            )
        settings["source.cluster.id"] = check_source(cluster, source)
        if users:
            user_keys.check_source(source, settings.get("sasl.username") or "")
        links.alter(cluster, links.LINK, {name: {key: value for key, value in settings.items() if value is not None}})
        found = _await_first(cluster, name)
    see = to_paste(f"link status {name}", bootstrap)
    text = f"{name}: follows {source}, {_topics_text(found)}. How far it is: {see}"
    outcome(as_json, {"name": name, "topics": found.topics}, text)


def check_source(cluster: Cluster, source: str) -> str:
    """It answers, and is another cluster; gives its id."""
    from barnabas.cli.common.cluster import Cluster

    with Cluster(source) as other:
        found = other.metadata([]).cluster_id
        if found == cluster.metadata([]).cluster_id:
            raise usage(f"--from {source} is this cluster itself", "Name a node of the cluster that it is to follow.")
    return found or ""


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

    return plural(len(found.topics), "topic") + " so far"
