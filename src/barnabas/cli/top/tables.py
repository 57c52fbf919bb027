"""The rows of `barnabas top`, as text: for the live screen and for a snapshot alike."""

from barnabas.cli.common import human
from barnabas.cli.common.screen import Column
from barnabas.observe.overview import GroupRow, NodeRow, TopicRow

NODES = (
    Column("NODE", right=True),
    Column("STATE"),
    Column("IN/S", right=True),
    Column("OUT/S", right=True),
    Column("RECORDS/S", right=True),
    Column("REQUESTS/S", right=True),
    Column("PRODUCE P99 MS", right=True),
    Column("STALLS", right=True),
    Column("MEMORY", right=True),
    Column("CPU %", right=True),
    Column("CLIENTS", right=True),
)
TOPICS = (
    Column("TOPIC", flexible=True),
    Column("RECORDS/S", right=True),
    Column("IN/S", right=True),
    Column("OUT/S", right=True),
    Column("SIZE", right=True),
)
GROUPS = (
    Column("GROUP", flexible=True),
    Column("TOPIC", flexible=True),
    Column("BEHIND", right=True),
    Column("RECORDS", right=True),
    Column("MEMBERS", right=True),
)


def node_row(row: NodeRow) -> tuple[str, ...]:
    if not row.up:
        return (str(row.node), "down", *[""] * 9)
    return (
        str(row.node),
        row.why or "up",
        human.size(round(row.bytes_in)),
        human.size(round(row.bytes_out)),
        f"{row.messages_in:,.0f}",
        f"{row.requests:,.0f}",
        "" if row.p99_ms is None else f"{row.p99_ms:.1f}",
        str(row.loop_stalls),
        human.size(row.memory_bytes),
        f"{row.cpu_percent:.0f}",
        str(row.connections),
    )


def topic_row(row: TopicRow) -> tuple[str, ...]:
    sizes = (human.size(round(row.bytes_in)), human.size(round(row.bytes_out)), human.size(row.log_bytes))
    return (row.topic, f"{row.messages_in:,.0f}", *sizes)


def group_row(row: GroupRow) -> tuple[str, ...]:
    behind = "?" if row.seconds is None else human.duration(row.seconds)
    return (row.group, row.topic, behind, "?" if row.lag is None else f"{row.lag:,}", str(row.members))
