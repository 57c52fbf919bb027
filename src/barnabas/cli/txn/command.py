"""`barnabas txn`: transactions, as their coordinators and as the partitions know them.

While a transaction is open, readers with read_committed wait at its first record. So an operator asks what is open, for
how long and where; and whether anybody is going to end it (txn/hanging.py).
"""

from __future__ import annotations

from typing import Annotated

import typer

from barnabas.cli.common import human
from barnabas.cli.common.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap, Topic
from barnabas.cli.common.screen import Column, emit_json, facts, say, table
from barnabas.cli.txn.hanging import LongerThan, Partition, abort, age, find_hanging, milliseconds, open_cluster

app = typer.Typer(help="Show transactions, find those that hang, and end them.", no_args_is_help=True)


@app.command("list")
def list_transactions(
    state: Annotated[
        list[str] | None,
        typer.Option("--state", metavar="STATE", help="Ongoing, PrepareCommit, CompleteAbort ...; may be repeated."),
    ] = None,
    longer_than: Annotated[str | None, LongerThan] = None,
    pattern: Annotated[
        str | None, typer.Option("--pattern", metavar="REGEX", help="Only ids that match as a whole.")
    ] = None,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """List the transactional ids, and how long each is open.

    \b
    Example:
      barnabas txn list
      barnabas txn list --state Ongoing --longer-than 1m
      barnabas txn list --json | jq -r '.[] | select(.age_seconds > 60) | .transactional_id'
    """
    from barnabas.cli.txn.reading import listed

    longer_than_ms = -1 if longer_than is None else milliseconds(longer_than)
    with open_cluster(bootstrap) as cluster:
        rows = listed(cluster, state or (), (), longer_than_ms, pattern)
    if as_json:
        emit_json(rows)
    elif not rows:
        say("no such transactions" if state or longer_than or pattern else "no transactions yet")
    else:
        columns = (
            Column("transactional id", flexible=True, style="bold"), Column("coordinator", True),
            Column("producer", True), Column("state"), Column("open for", True),
        )  # fmt: skip
        table(
            columns,
            (
                [row.transactional_id, str(row.coordinator), str(row.producer_id), row.state, age(row.age_seconds)]
                for row in rows
            ),
        )


@app.command("describe")
def describe(
    transactional_id: Annotated[str, typer.Argument(metavar="ID", help="The transactional id.")],
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Show what the coordinator knows of a transactional id.

    Of a transaction that is being ended, only the partitions that still wait for their marker are shown.

    \b
    Example:
      barnabas txn describe billing-1
      barnabas txn describe billing-1 --json | jq .partitions
    """
    from barnabas.cli.txn.abort import unknown
    from barnabas.cli.txn.reading import described

    with open_cluster(bootstrap) as cluster:
        found = described(cluster, transactional_id)
        if found is None:
            raise unknown(cluster, transactional_id)
        host, port = cluster.brokers[found.coordinator]
    if as_json:
        emit_json({**_fields(found), "partitions": [each._asdict() for each in found.partitions]})
        return
    started = "" if found.started_ms is None or not found.is_open else human.moment(found.started_ms)
    facts(
        [
            ("transactional id", found.transactional_id),
            ("state", found.state),
            ("coordinator", f"node {found.coordinator} at {host}:{port}"),
            ("producer", f"{found.producer_id}, epoch {found.producer_epoch}"),
            ("timeout", human.duration(found.timeout_ms / 1000)),
            ("started", started),
            ("open for", "" if found.age_seconds is None else age(found.age_seconds)),
        ]
    )
    if found.partitions:
        say()
        columns = (Column("topic", flexible=True, style="bold"), Column("partition", True))
        table(columns, ([each.topic, str(each.partition)] for each in found.partitions))


def _fields(row: object) -> dict[str, object]:
    import dataclasses

    return {each.name: getattr(row, each.name) for each in dataclasses.fields(row)}  # type: ignore[arg-type]


@app.command("producers")
def producers(
    topic: Topic,
    partition: Partition = None,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Show who writes to a topic, and whose transaction is open in it.

    \b
    Example:
      barnabas txn producers orders
      barnabas txn producers orders --partition 0 --json
    """
    from barnabas.cli.txn.reading import writers

    with open_cluster(bootstrap) as cluster:
        rows = writers(cluster, topic, partition)
    if as_json:
        emit_json(rows)
    elif not rows:
        say(f"no producer is remembered in {topic}; only idempotent ones are")
    else:
        columns = (
            Column("partition", True), Column("producer", True), Column("epoch", True), Column("last sequence", True),
            Column("last write"), Column("open since offset", True),
        )  # fmt: skip
        table(
            columns,
            (
                [
                    str(row.partition), str(row.producer_id), str(row.producer_epoch), str(row.last_sequence),
                    human.moment(row.last_timestamp_ms), "-" if row.start_offset is None else f"{row.start_offset:,}",
                ]
                for row in rows
            ),
        )  # fmt: skip


app.command("find-hanging")(find_hanging)
app.command("abort")(abort)
