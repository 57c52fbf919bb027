"""`barnabas txn find-hanging` and `txn abort`: transactions that nobody ends, and ending them (txn/abort.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.common import human, moments
from barnabas.cli.common.failure import usage
from barnabas.cli.common.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap, Yes, confirm
from barnabas.cli.common.screen import emit_json, outcome, say

if TYPE_CHECKING:
    from barnabas.cli.common.cluster import Cluster

LONGER_THAN = "15m"  # transaction.max.timeout.ms: a coordinator has ended every younger one, or will
LongerThan = typer.Option("--longer-than", metavar="TIME", help="Only those open for longer: 30s, 15m, 2h.")
Partition = Annotated[int | None, typer.Option("--partition", "-p", metavar="N", help="Only this partition.")]
OfTopic = Annotated[str | None, typer.Option("--topic", "-t", metavar="TOPIC", help="Only this topic.")]


def open_cluster(bootstrap: str) -> Cluster:
    from barnabas.cli.common.cluster import Cluster

    return Cluster(bootstrap)


def milliseconds(text: str) -> int:
    try:
        return moments.duration_ms(text)
    except ValueError as error:
        raise usage(f"--longer-than: {error}") from None


def age(seconds: float | None) -> str:
    return "-" if seconds is None else human.duration(round(seconds, 1))


def find_hanging(
    topic: OfTopic = None,
    partition: Partition = None,
    longer_than: Annotated[str, LongerThan] = LONGER_THAN,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Find open transactions that no coordinator will ever end.

    Readers with read_committed wait for them for ever. Each comes with the command that ends it.

    \b
    Example:
      barnabas txn find-hanging
      barnabas txn find-hanging --topic orders --longer-than 1h --json
    """
    from barnabas.cli.txn.reading import hanging

    longer_than_ms = milliseconds(longer_than)
    if partition is not None and topic is None:
        raise usage("--partition needs --topic")
    with open_cluster(bootstrap) as cluster:
        rows = hanging(cluster, topic, partition, longer_than_ms)
    if as_json:
        emit_json(rows)
        return
    if not rows:
        idle = human.duration(longer_than_ms / 1000)
        say(f"no transaction hangs (looked at those without a write for {idle}; --longer-than changes that)")
        return
    for row in rows:
        name = f" ({row.transactional_id})" if row.transactional_id else ""
        say(f"{row.topic}-{row.partition} from offset {row.start_offset:,}: producer {row.producer_id}{name}, "
            f"silent for {age(row.idle_seconds)}: {row.why}")  # fmt: skip
        say(f"  barnabas txn abort --topic {row.topic} --partition {row.partition} --start-offset {row.start_offset}")


def abort(
    transactional_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="The transactional id.", show_default=False)
    ] = None,
    topic: Annotated[str | None, typer.Option("--topic", "-t", metavar="TOPIC", help="Where it hangs.")] = None,
    partition: Annotated[int | None, typer.Option("--partition", "-p", metavar="N", help="Where it hangs.")] = None,
    start_offset: Annotated[
        int | None, typer.Option("--start-offset", metavar="OFFSET", help="Its first offset in that partition.")
    ] = None,
    yes: Yes = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Abort an open transaction, by its id or by its place.

    By its id, the program that uses it is fenced: it must start anew. By its place, an abort marker is written into the
    partition; a transaction that its coordinator still counts in there is refused.

    \b
    Example:
      barnabas txn abort billing-1
      barnabas txn abort --topic orders --partition 0 --start-offset 1200 --yes
    """
    from barnabas.cli.txn import abort as txn_abort
    from barnabas.model.ids import TopicPartition

    place = (topic, partition, start_offset)
    if transactional_id is not None and place == (None, None, None):
        with open_cluster(bootstrap) as cluster:
            found = txn_abort.open_transaction(cluster, transactional_id)
            where = human.plural(len(found.partitions), "partition")
            question = f"Abort the transaction of {transactional_id} in {where}, open for {age(found.age_seconds)}?"
            confirm(f"{question} Its program is fenced.", yes)
            txn_abort.abort_by_id(cluster, found)
        result: dict[str, object] = {"transactional_id": transactional_id, "aborted": True}
        outcome(as_json, result, f"aborted the transaction of {transactional_id}")
    elif transactional_id is None and topic is not None and partition is not None and start_offset is not None:
        with open_cluster(bootstrap) as cluster:
            writer = txn_abort.hanging_writer(cluster, TopicPartition(topic, partition), start_offset)
            confirm(f"Abort what producer {writer.producer_id} left open in {topic}-{partition}?", yes)
            txn_abort.abort_by_place(cluster, writer)
        result = {"topic": topic, "partition": partition, "start_offset": start_offset, "aborted": True}
        outcome(as_json, result, f"aborted the transaction at offset {start_offset:,} of {topic}-{partition}")
    else:
        raise usage(
            "give a transactional id, or all of --topic, --partition and --start-offset",
            "Find out which: barnabas txn find-hanging",
        )
