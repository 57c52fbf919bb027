"""From the options of `up` to the settings of a node: flags by Kafka's names, the rest under them.

Where nothing says otherwise a node listens on 127.0.0.1:9092 only (it has no access control by default), and keeps
its records under the user's own data folder, so that they are found again wherever the command is given.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.cli.common.failure import Failure, usage, warn
from barnabas.cli.up.options import UpOptions

if TYPE_CHECKING:
    from barnabas.model.settings import Settings

HOST = "127.0.0.1"
PORT = 9092
SECURE_FOLDER = "secure"  # of cli/secure/bundle.py, which a plain start does not import


def load(options: UpOptions) -> tuple[Settings, Path]:
    """The settings, and the folder for the data."""
    from barnabas.broker.settings.sources import load_settings
    from barnabas.model.errors import KafkaError

    given = flags(options)
    config = Path(options.config).expanduser() if options.config is not None else None
    usual = {"listeners": f"{_protocol(options)}://{HOST}:{PORT}", "log.dirs": str(default_data())}
    if options.console:
        from barnabas.cli.console.child import metrics_listeners

        usual["metrics.listeners"] = metrics_listeners(1)[0]
    try:
        loaded = load_settings(flags=given, config=config, fallback=usual)
        if options.secure:
            from barnabas.cli.up.secure import secured  # certificates and all that: for those who ask for it

            loaded = load_settings(flags=given, config=config, fallback=secured(options, loaded.settings) | usual)
        folders = loaded.settings.data_directories()
    except KafkaError as error:
        raise Failure(error.message) from None
    for warning in loaded.warnings:
        if warning.startswith("command line: "):  # typed just now: a typing error, not a file of another release
            raise usage(warning.removeprefix("command line: "), "docs/settings.md lists them all.")
        warn(warning)
    quorum = ("controller.quorum.voters", "controller.quorum.bootstrap.servers")
    if options.witness and not any(loaded.settings.list(name) for name in quorum):
        raise usage(
            "--witness is a voter of a cluster, and no cluster is named",
            "Name the voters, this one too: --set node.id=3 --set controller.quorum.voters=1@HOST:PORT,2@...,3@...",
        )
    if len(folders) != 1:
        raise Failure(f"log.dirs names {len(folders)} folders, a node has one", "Start a node for each disk.")
    if not options.secure and all(each.protocol == "PLAINTEXT" for each in loaded.settings.client_listeners()):
        refuse_to_open(Path(folders[0]))
    return loaded.settings, Path(folders[0])


def refuse_to_open(data: Path) -> None:
    """A folder that `up --secure` has made is not served to everybody because a flag was forgotten."""
    if (data / SECURE_FOLDER).is_dir():
        raise Failure(
            f"{data} belongs to a secured node",
            "Start it with --secure, as the first time. To open it to everybody who reaches it, "
            f"move {data / SECURE_FOLDER} away.",
        )


def flags(options: UpOptions) -> dict[str, str]:
    """What the options say, by Kafka's names.

    --host and --port together are one setting, so one without the other takes the usual value for the other.
    """
    found: dict[str, str] = {}
    for item in options.set:
        name, equals, value = item.partition("=")
        if not equals or not name.strip():
            raise usage(f"--set {item!r} is not name=value", "Write it as --set log.retention.hours=24.")
        found[name.strip()] = value
    if options.port is not None and not 0 <= options.port <= 65535:
        raise usage(f"--port {options.port} is not a port", "Ports go from 0 (any free one) to 65535.")
    if options.host is not None or options.port is not None:
        number = PORT if options.port is None else options.port
        found["listeners"] = f"{_protocol(options)}://{_bracketed(options.host or HOST)}:{number}"
    if options.advertise is not None:
        host, colon, port = options.advertise.rpartition(":")
        if not colon or not host or not port.isdigit() or not 0 < int(port) <= 65535:
            raise usage(f"--advertise {options.advertise!r} is not host:port", "Write it as events.example.org:9092.")
        found["advertised.listeners"] = f"{_protocol(options)}://{host}:{port}"
    if options.zone is not None and options.nodes is None:
        found["broker.rack"] = _zone(options.zone)
    if options.witness and options.nodes is None:
        if found.get("process.roles", "controller") != "controller":
            raise usage("--witness is a controller without data", "Leave process.roles out.")
        found["process.roles"] = "controller"
    if options.data is not None:
        if not options.data:
            raise usage("--data is empty", "Name a folder, or leave it out.")
        found["log.dirs"] = str(Path(options.data).expanduser())
    return found


def zones(options: UpOptions, count: int) -> list[str | None]:
    """Of so many nodes, in turn; a witness has the last one for itself. None where --zone was not given."""
    if options.zone is None:
        return [None] * count
    named = [_zone(each) for each in options.zone.split(",")]
    alone = [named.pop()] if options.witness and len(named) > 1 else []
    data_nodes = count - options.witness
    if empty := list(dict.fromkeys(named))[data_nodes:]:
        text = f"--zone {options.zone} with --nodes {count}: no node with data is left for {', '.join(empty)}"
        raise usage(text, f"Name fewer zones, or use --nodes {count + len(empty)}.")
    return [*(named[index % len(named)] for index in range(count - len(alone))), *alone]


def _zone(text: str) -> str:
    name = text.strip()
    if not name or "," in name:
        raise usage(f"--zone {text!r} is not a name", "Write it as --zone a; a list is for --nodes: --zone a,b,c.")
    return name


def _protocol(options: UpOptions) -> str:
    return "SASL_SSL" if options.secure else "PLAINTEXT"


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host and not host.startswith("[") else host


def may_have_local_profiles() -> bool:
    """Whether some `up --secure` has left word for commands (client/common/local_profiles.py, which a plain start does
    not import)."""
    base = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return (Path(base).expanduser() / "barnabas" / "local").is_dir()


def default_data() -> Path:
    base = os.environ.get("XDG_DATA_HOME") or "~/.local/share"
    return Path(base).expanduser() / "barnabas"


def default_cluster_data() -> Path:
    """Of `up --nodes`."""
    return default_data() / "cluster"
