"""What is done and checked before anything is read: the publication, the slot, and that the server is the one that the
position is about."""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass

import psycopg
from psycopg import sql

from barnabas.connect.connectors.postgres.capture import catalog
from barnabas.connect.connectors.postgres.capture.catalog import SlotFacts, TableFacts
from barnabas.connect.connectors.postgres.capture.connection import Server, in_words
from barnabas.connect.connectors.postgres.capture.options import PostgresOptions, default_name
from barnabas.connect.connectors.postgres.capture.position import Stand
from barnabas.connect.connectors.postgres.capture.replication import Replication
from barnabas.connect.connectors.postgres.capture.wal import lsn_of, lsn_text
from barnabas.connect.errors import Unavailable

_VERSION_MIN = 140000
_BACKLOG_MAX = 1 << 30  # bytes of log that are worth going through for nothing
_SILENT_S = 20.0  # a reader reports every 5 s
_CLOSING_S = 10.0


def check_server(connection: psycopg.Connection) -> None:
    version = connection.info.server_version
    if version < _VERSION_MIN:
        raise Unavailable(f"PostgreSQL {version // 10000} is too old", "The source needs PostgreSQL 14 or later")
    with in_words("cannot ask for settings"):
        row = connection.execute("show wal_level").fetchone()
    assert row is not None
    if row[0] != "logical":
        raise Unavailable(
            f"wal_level of PostgreSQL is {row[0]}",
            "ALTER SYSTEM SET wal_level = logical, and restart PostgreSQL",
        )


@dataclass(frozen=True, slots=True)
class Publishing:
    tables: dict[str, TableFacts]  # those that are captured, by schema.table
    added: set[str]  # were not in the publication before
    is_new: bool  # the publication itself
    left_out: set[str]  # a pattern names them, but their updates and deletes would name no row


def publish(
    connection: psycopg.Connection, options: PostgresOptions, publication: str, known: Collection[str]
) -> Publishing:
    """The publication has the tables afterwards. Of those that were captured before (`known`), one may be gone: the
    others go on."""
    with in_words("cannot read the catalog"):
        is_new = not catalog.publication_exists(connection, publication)
        left_out: set[str] = set()
        wanted = _wanted(connection, options, known, left_out) if options.tables else []
        added = catalog.publish(connection, publication, wanted) if wanted else set()
        there = catalog.published(connection, publication)
        if not there and not known:
            raise Unavailable(
                f"publication {publication} does not exist or has no tables",
                f"CREATE PUBLICATION {publication} FOR TABLE ..., or give the option tables",
            )
        names = [(each.schema, each.name) for each in wanted] if options.tables else list(there)
        found = catalog.table_facts(connection, names, there)
    for (schema, name), table in found.items():
        if (schema, name) not in there:
            raise Unavailable(
                f"publication {publication} has partitions of {table.label}, but not the table itself",
                f"ALTER PUBLICATION {publication} SET (publish_via_partition_root = true)",
            )
    return Publishing({table.label: table for table in found.values()}, added, is_new, left_out)


def _wanted(
    connection: psycopg.Connection, options: PostgresOptions, known: Collection[str], left_out: set[str]
) -> list[TableFacts]:
    """Tables that the options name. One without a key that only a pattern names is left out: it may have been made a
    minute ago by somebody who knows nothing of this."""
    named = {catalog.pattern_parts(each) for each in options.tables if not catalog.is_pattern(each)}
    pairs = catalog.tables_wanted(connection, options.tables)
    facts = catalog.table_facts(connection, pairs, {})
    found = []
    for pair in pairs:
        table = facts.get(pair)
        if table is None:
            if catalog.label(*pair) not in known:
                raise Unavailable(
                    f"there is no table {catalog.label(*pair)} in database {connection.info.dbname}",
                    "Make it, or correct the option tables",
                )
        elif table.has_identity:
            found.append(table)
        elif pair in named:
            raise catalog.without_identity(table)
        else:
            left_out.add(table.label)
    if not found and not known:
        raise Unavailable(f"no table matches {', '.join(options.tables)}", "Correct the option tables")
    return found


def check_server_identity(replication: Replication, stand: Stand | None, connector: str) -> tuple[str, int]:
    """That this is the server, and the history, that the position is about. Its system identifier and timeline."""
    system, timeline_text, lsn_there, *_ = replication.query("IDENTIFY_SYSTEM")
    timeline = int(timeline_text)
    if stand is None:
        return system, timeline
    way_out = f"If this database is the right one, `barnabas connect reset {connector}` starts with a new snapshot"
    if system != stand.system:
        raise Unavailable(
            f"this is another PostgreSQL: its system identifier is {system}, the position is of {stand.system}", way_out
        )
    if timeline < stand.timeline:
        raise Unavailable(
            f"PostgreSQL was restored from an older backup: it is on timeline {timeline}, the position on"
            f" {stand.timeline}",
            way_out,
        )
    reached = stand.reached
    if timeline > stand.timeline:
        left = _left_at(replication.query(f"TIMELINE_HISTORY {timeline}"), stand.timeline)
        if left is None or left < reached:
            raise Unavailable(
                f"PostgreSQL was restored or promoted at {lsn_text(left or 0)} (timeline {timeline}), before what was"
                f" already delivered ({lsn_text(reached)}): delivered changes are missing there",
                way_out,
            )
    elif lsn_of(lsn_there) < reached:
        raise Unavailable(
            f"PostgreSQL was restored from an older backup: its log ends at {lsn_there}, and changes up to"
            f" {lsn_text(reached)} were delivered",
            way_out,
        )
    return system, timeline


def _left_at(answer: list[str], timeline: int) -> int | None:
    """Where the server's history left the timeline. The file has lines of a timeline, an LSN and a reason."""
    for line in (answer[1] if len(answer) > 1 else "").splitlines():
        fields = line.split("\t")
        if len(fields) >= 2 and fields[0].strip() == str(timeline):
            return lsn_of(fields[1].strip())
    return None


@dataclass(frozen=True, slots=True)
class SlotWanted:
    slot: str
    may_drop: bool  # its name is no one else's
    must_drop: bool  # the publication is younger than one that is there
    application: str
    connector: str


def usable_slot(connection: psycopg.Connection, wanted: SlotWanted, stand: Stand | None) -> SlotFacts | None:
    """The slot, where there is one to go on with. None: it has to be made."""
    slot = wanted.slot
    with in_words("cannot ask for the replication slot"):
        facts = catalog.slot_facts(connection, slot)
    way_out = f"`barnabas connect reset {wanted.connector}` starts with a new snapshot"
    if facts is None:
        if stand is not None:
            raise Unavailable(
                f"replication slot {slot} does not exist any more, so changes after {lsn_text(stand.lsn)} are lost: it"
                " was dropped, or the database failed over to a server without it",
                way_out,
            )
        return None
    if facts.plugin != "pgoutput" or facts.database != connection.info.dbname:
        raise Unavailable(
            f"replication slot {slot} is of plugin {facts.plugin!r} and database {facts.database!r}",
            "Give the option slot another name",
        )
    if facts.pid is not None:
        _end_silent_reader(connection, slot, facts.pid, wanted.application)
    if stand is None:
        is_useful = not facts.is_lost and not wanted.must_drop and facts.backlog < _BACKLOG_MAX
        if is_useful or not wanted.may_drop:
            return facts
        with in_words(f"cannot drop the replication slot {slot}"):  # of an earlier life
            connection.execute("select pg_drop_replication_slot(%s)", [slot])
        return None
    if facts.is_lost:
        raise Unavailable(
            f"PostgreSQL has removed log that replication slot {slot} needs (max_slot_wal_keep_size)", way_out
        )
    if facts.confirmed_lsn > stand.lsn:
        raise Unavailable(
            f"replication slot {slot} is at {lsn_text(facts.confirmed_lsn)}, beyond what was delivered"
            f" ({lsn_text(stand.lsn)}): something else reads it, or the position is an older one",
            way_out,
        )
    return facts


def check_slot_age(facts: SlotFacts, stand: Stand, slot: str, name: str) -> None:
    """On the same timeline a slot goes back only with the whole server: PostgreSQL writes the restart LSN of a slot to
    disk before it uses it."""
    if facts.restart_lsn < stand.slot_lsn:
        raise Unavailable(
            f"PostgreSQL was restored from an older backup: replication slot {slot} is back at"
            f" {lsn_text(facts.restart_lsn)}, it was at {lsn_text(stand.slot_lsn)} before",
            f"`barnabas connect reset {name}` starts with a new snapshot",
        )


def _end_silent_reader(connection: psycopg.Connection, slot: str, pid: int, application: str) -> None:
    with in_words("cannot ask who reads the replication slot"):
        ended = catalog.end_silent_reader(connection, pid, application, _SILENT_S)
    if ended:
        raise Unavailable(f"replication slot {slot} was held by a reader that is gone (pid {pid}), which was ended")
    raise Unavailable(
        f"replication slot {slot} is in use by pid {pid}",
        "A reader that is gone holds it until wal_sender_timeout; for another connector, give the option slot",
    )


def remove(server: Server, options: PostgresOptions, name: str) -> None:
    """Slot and publication that only this connector has used. A reader that has just been closed is awaited."""
    own = default_name(name)
    deadline = time.monotonic() + _CLOSING_S
    with server.connect() as connection, in_words(f"cannot remove what connector {name} has made in PostgreSQL"):
        if not options.slot:
            while (facts := catalog.slot_facts(connection, own)) and facts.pid and time.monotonic() < deadline:
                time.sleep(0.05)
            connection.execute(
                "select pg_drop_replication_slot(slot_name) from pg_replication_slots where slot_name = %s", [own]
            )
        if not options.publication:
            connection.execute(sql.SQL("drop publication if exists {}").format(sql.Identifier(own)))
