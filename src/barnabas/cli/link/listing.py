"""`barnabas link list`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.cli.common.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap, to_paste
from barnabas.cli.common.screen import Column, emit_json, say, table

if TYPE_CHECKING:
    from barnabas.operate.cluster_links import Progress


def list_links(as_json: AsJson = False, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP) -> None:
    """List the links, with what they follow and how far behind they are.

    \b
    Example:
      barnabas link list
    """
    from barnabas.cli.common import human
    from barnabas.cli.common.cluster import Cluster
    from barnabas.cli.link import links

    with Cluster(bootstrap) as cluster:
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
        Column("promoted", right=True),
        Column("state", flexible=True),
    )
    rows = [
        [
            each.name,
            settings[each.name]["bootstrap.servers"] or "",
            human.count(len(each.topics)),
            human.count(len(each.partitions)),
            human.count(each.total_lag),
            human.count(len(each.promoted)),
            _state(each),
        ]
        for each in found
    ]
    table(columns, rows)


def _summary(found: Progress, settings: dict[str, str | None]) -> dict[str, object]:
    return {
        "name": found.name,
        "from": settings["bootstrap.servers"],
        "topics": found.topics,
        "partitions": len(found.partitions),
        "lag_records": found.total_lag,
        "promoted": found.promoted,
        "errors": found.errors,
    }


def _state(found: Progress) -> str:
    if found.errors:
        return found.errors[0]
    wrong = sum(bool(p.error_message) for p in found.partitions)
    if wrong:
        return f"{wrong} partitions with errors"
    return "promoted" if found.promoted and not found.partitions else "follows"
