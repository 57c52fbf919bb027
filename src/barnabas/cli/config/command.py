"""`barnabas config`: the settings of topics, nodes and groups, read and changed while everything runs.

Three kinds of things have settings: `topic views`, `node 1` (or `node all`: every node of the cluster that has no value
of its own), `group billing`. (On the wire a node is a "broker".) Names and values are Kafka's; a name that does not
exist is answered with the nearest one that does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, cast

import typer

from barnabas.cli.common import human
from barnabas.cli.common.failure import Failure, usage
from barnabas.cli.common.link import admin, no_topic
from barnabas.cli.common.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap, pairs
from barnabas.cli.common.screen import Column, emit_json, say, table

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from barnabas.client.admin.admin import Admin
    from barnabas.client.admin.descriptions import ConfigValue

app = typer.Typer(help="Read and change the settings of topics, nodes and groups.", no_args_is_help=True)

WireKind = Literal["topic", "broker", "group"]
_KINDS: dict[str, WireKind] = {"topic": "topic", "node": "broker", "broker": "broker", "group": "group"}

_ALL_NODES = "all"

Kind = Annotated[str, typer.Argument(metavar="KIND", help="topic, node or group.")]
Name = Annotated[str, typer.Argument(metavar="NAME", help="A topic's or group's name, a node's number, or all.")]
Changes = Annotated[list[str], typer.Argument(metavar="SETTING=VALUE...", help="One or more, by Kafka's names.")]
Settings = Annotated[list[str], typer.Argument(metavar="SETTING...", help="One or more, by Kafka's names.")]


@app.command("list")
def list_settings(
    kind: Kind,
    name: Name,
    changed: Annotated[bool, typer.Option("--changed", "-c", help="Only what differs from the default.")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """List all settings, what they mean and where they come from.

    \b
    Example:
      barnabas config list topic views
      barnabas config list node 1 --changed
      barnabas config list group billing --json
    """
    found = _settings(kind, name, bootstrap)
    if changed:
        found = {key: value for key, value in found.items() if not value.is_default}
    if as_json:
        emit_json(found)
    elif not found:
        say("every setting has its default")
    else:
        show(found)


@app.command("get")
def get(
    kind: Kind, name: Name, settings: Settings, as_json: AsJson = False, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP
) -> None:
    """Print the bare value of a setting, for scripts.

    Of several settings it prints one `name=value` a line.

    \b
    Example:
      barnabas config get topic views retention.ms
      barnabas config get node 1 num.partitions log.retention.hours
    """
    found = _settings(kind, name, bootstrap)
    for setting in settings:
        if setting not in found and name == _ALL_NODES and _KINDS[kind] == "broker":
            way_out = f"What a node has: barnabas config get node 1 {setting}"
            raise Failure(f"{setting} is not set for all nodes: each node has its own, or the default", way_out)
        if setting not in found:
            raise unknown(setting, found)
    if as_json:
        emit_json({setting: found[setting] for setting in settings})
        return
    for setting in settings:
        value = found[setting].value
        text = "" if value is None else value
        say(text if len(settings) == 1 else f"{setting}={text}")


@app.command("set")
def set_settings(
    kind: Kind, name: Name, changes: Changes, as_json: AsJson = False, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP
) -> None:
    """Set one or more settings.

    \b
    Example:
      barnabas config set topic views retention.ms=3600000 max.message.bytes=2097152
      barnabas config set node all log.retention.ms=259200000
    """
    _change(kind, name, bootstrap, as_json, "set", pairs(changes, "set"))


@app.command("delete")
def delete(
    kind: Kind, name: Name, settings: Settings, as_json: AsJson = False, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP
) -> None:
    """Give settings their default back.

    \b
    Example:
      barnabas config delete topic views retention.ms
    """
    _change(kind, name, bootstrap, as_json, "delete", dict.fromkeys(settings, ""))


@app.command("append")
def append(
    kind: Kind, name: Name, changes: Changes, as_json: AsJson = False, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP
) -> None:
    """Add a value to a setting that is a list.

    \b
    Example:
      barnabas config append topic members cleanup.policy=compact
    """
    _change(kind, name, bootstrap, as_json, "append", pairs(changes, "append"))


@app.command("subtract")
def subtract(
    kind: Kind, name: Name, changes: Changes, as_json: AsJson = False, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP
) -> None:
    """Take a value out of a setting that is a list.

    \b
    Example:
      barnabas config subtract topic members cleanup.policy=delete
    """
    _change(kind, name, bootstrap, as_json, "subtract", pairs(changes, "subtract"))


def show(settings: Mapping[str, ConfigValue]) -> None:
    """The table of settings, here and in `topic describe`."""
    rows = []
    for name, each in settings.items():
        value = "(hidden)" if each.sensitive else "-" if each.value is None else each.value
        means = human.setting(name, each.value)
        rows.append([name, each.source, f"{value} ({means})" if means else value])
    table((Column("setting", style="bold"), Column("from", style="dim"), Column("value", flexible=True)), rows)


def _wire_kind(kind: str, name: str) -> WireKind:
    if kind not in _KINDS:
        raise usage(f"{kind!r} has no settings", "Choose from topic, node and group.")
    if _KINDS[kind] == "broker" and not name.isdigit() and name != _ALL_NODES:
        raise usage(f"a node is named by its number, or all, not {name!r}", "See the numbers: barnabas cluster status")
    return _KINDS[kind]


def _settings(kind: str, name: str, bootstrap: str) -> dict[str, ConfigValue]:
    wire_kind = _wire_kind(kind, name)
    if wire_kind == "broker" and name == _ALL_NODES:
        from barnabas.cli.config import all_nodes

        return all_nodes.read(bootstrap)
    with admin(bootstrap) as cluster:
        if wire_kind == "topic":
            _require_topic(cluster, name)
        return cluster.configs(wire_kind, name)


def _change(kind: str, name: str, bootstrap: str, as_json: bool, how: str, changes: dict[str, str]) -> None:
    wire_kind = _wire_kind(kind, name)
    if wire_kind == "broker" and name == _ALL_NODES:
        from barnabas.cli.config import all_nodes

        known = all_nodes.known(bootstrap)
        refuse_unknown(changes, known, wire_kind)
        all_nodes.change(bootstrap, how, changes)
        _warn_of_zones(bootstrap, how, changes)
        _tell(kind, name, as_json, changes, all_nodes.read(bootstrap))
        return
    with admin(bootstrap) as cluster:
        if wire_kind == "topic":
            _require_topic(cluster, name)
        # A node takes any name as a setting of a plugin, as Kafka does: a typing error would be kept and do nothing.
        refuse_unknown(changes, cluster.configs(wire_kind, name), wire_kind)
        if how == "delete":
            cluster.alter_configs(wire_kind, name, delete=list(changes))
        else:
            cluster.alter_configs(wire_kind, name, **cast("dict[str, dict[str, str]]", {how: changes}))  # type: ignore[arg-type]
        now = cluster.configs(wire_kind, name)
    _warn_of_zones(bootstrap, how, changes)
    _tell(kind, name, as_json, changes, now)


def _warn_of_zones(bootstrap: str, how: str, changes: Mapping[str, str]) -> None:
    from barnabas.cli.common.zone_settings import MIN_ZONES, PREFERRED, warn_of_zones

    if how in ("set", "append") and (PREFERRED in changes or MIN_ZONES in changes):
        with admin(bootstrap) as cluster:
            warn_of_zones(cluster, changes)


def _tell(kind: str, name: str, as_json: bool, changes: Mapping[str, str], now: Mapping[str, ConfigValue]) -> None:
    """The changed settings as they are now; null where one is set no longer."""
    if as_json:
        emit_json({setting: now.get(setting) for setting in changes})
        return
    for setting in changes:
        if setting not in now:
            say(f"{kind} {name}: {setting} is no longer set")
            continue
        value = now[setting].value
        means = human.setting(setting, value)
        say(f"{kind} {name}: {setting} is now {value}{f' ({means})' if means else ''}")


def refuse_unknown(changes: Iterable[str], known: Mapping[str, ConfigValue], wire_kind: str) -> None:
    for setting in changes:
        if setting not in known and not _is_hidden(setting, wire_kind):
            raise unknown(setting, known)
        if wire_kind == "broker" and setting in known and known[setting].read_only:
            raise _only_at_a_start(setting, known)


def _only_at_a_start(setting: str, known: Mapping[str, ConfigValue]) -> Failure:
    """Of log.retention.hours and its like only the one in milliseconds can be changed, in Kafka too."""
    in_ms = f"{setting.rpartition('.')[0]}.ms"
    at_once = in_ms in known and not known[in_ms].read_only
    way_out = f"{in_ms} can be." if at_once else "Put it into the node's settings, and start the node again."
    return Failure(f"{setting} cannot be changed while a node runs", way_out)


def _is_hidden(setting: str, wire_kind: str) -> bool:
    """A setting that a node shows only where it is set: Confluent's check of schema ids, those about zones."""
    from barnabas.model.settings import NODE_SETTINGS, TOPIC_SETTINGS
    from barnabas.model.settings.kinds import UpdateMode

    row = {"topic": TOPIC_SETTINGS, "broker": NODE_SETTINGS}.get(wire_kind, {}).get(setting)
    return row is not None and row.internal and row.update_mode is not UpdateMode.READ_ONLY


def _require_topic(cluster: Admin, name: str) -> None:
    names = [each.name for each in cluster.topics(internal=True)]
    if name not in names:
        raise no_topic(name, names)


def unknown(setting: str, known: Mapping[str, ConfigValue]) -> Failure:
    import difflib

    near = difflib.get_close_matches(setting, list(known), n=1)
    way_out = f"Did you mean {near[0]}?" if near else "docs/settings.md lists them all."
    return Failure(f"there is no setting {setting!r}", way_out)
