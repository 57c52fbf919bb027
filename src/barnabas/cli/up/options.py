"""The options of `barnabas up`, as one table that two readers share.

`up` should be ready before a person has lifted the finger from the key, and importing typer alone costs more than
starting the node. So `quick` reads an ordinary command line from the table without typer; whatever it does not
understand (`--help`, a typing error, a missing value) it leaves to typer, whose command is made from the same table
and which then prints the help or the complaint.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

LOG_LEVELS = ("debug", "info", "warning", "error")
LOG_FORMATS = ("text", "json")


@dataclass(frozen=True, slots=True)
class UpOptions:
    host: str | None = None
    port: int | None = None
    data: str | None = None
    config: str | None = None
    set: tuple[str, ...] = ()
    advertise: str | None = None
    log_level: str | None = None
    log_format: str | None = None
    quiet: bool = False
    nodes: int | None = None
    zone: str | None = None
    witness: bool = False
    secure: bool = False
    bundle: str | None = None
    console: bool = False
    registry: bool = False
    mirror: str | None = None


@dataclass(frozen=True, slots=True)
class OptionRow:
    """One option: its field in UpOptions, its flags, and what a person reads about it."""

    field: str
    flags: tuple[str, ...]
    metavar: str
    help: str
    kind: type = str
    many: bool = False


ROWS = (
    OptionRow("host", ("--host",), "HOST", "Address to listen on; 0.0.0.0 for all. Usually 127.0.0.1."),
    OptionRow("port", ("--port", "-p"), "PORT", "Port to listen on; 0 takes any free one. Usually 9092.", int),
    OptionRow("data", ("--data", "-d"), "DIR", "Folder that keeps the records; made when it is missing."),
    OptionRow("config", ("--config", "-c"), "FILE", "Settings: a TOML file, or a Kafka server.properties as it is."),
    OptionRow("set", ("--set", "-s"), "NAME=VALUE", "One setting by Kafka's name; may be repeated.", many=True),
    OptionRow("advertise", ("--advertise",), "HOST:PORT", "Address that clients are told, when it is another."),
    OptionRow("nodes", ("--nodes", "-n"), "N", "A cluster of N nodes on this machine, one process each.", int),
    OptionRow("zone", ("--zone",), "ZONE", "Where it stands (broker.rack); with --nodes a list, used in turn: a,b,c."),
    OptionRow(
        "witness", ("--witness",), "", "A voter without data, for a third place; with --nodes the last one.", bool
    ),
    OptionRow("secure", ("--secure",), "", "TLS, logins and access rules: nobody gets in unless you let them.", bool),
    OptionRow("bundle", ("--bundle",), "DIR", "Where --secure keeps certificates; else in the data folder."),
    OptionRow("console", ("--console",), "", "Also a console in the browser, on 127.0.0.1:8080 or a free port.", bool),
    OptionRow("registry", ("--registry",), "", "Also a schema registry, on 127.0.0.1:8081 or a free port.", bool),
    OptionRow(
        "mirror", ("--mirror",), "FILE", "Also a mirror with other clusters, as the file says (mirror run FILE)."
    ),
    OptionRow("log_level", ("--log-level",), "LEVEL", f"What to report on stderr: {', '.join(LOG_LEVELS)}."),
    OptionRow("log_format", ("--log-format",), "FORMAT", "How: text, or json (an object a line)."),
    OptionRow("quiet", ("--quiet", "-q"), "", "Print only the bootstrap address, once it is ready.", bool),
)

HELP = """Start a node and keep it up until Ctrl-C.

    Clients of Kafka can connect at once. Settings come, the first one that has it, from the options here, from the
    environment (BARNABAS_LOG_RETENTION_MS=...), from the --config file, and else from Kafka's defaults.

    \b
    Example:
      barnabas up
      barnabas up --nodes 3
      barnabas up --secure
      barnabas up --nodes 3 --console --registry
      barnabas up --nodes 5 --zone a,b,c --witness
      barnabas up --port 0 --data /var/lib/barnabas --set log.retention.hours=24
      barnabas up --host 0.0.0.0 --advertise events.example.org:9092
    """


def quick(arguments: Sequence[str]) -> UpOptions | None:
    """The options of an ordinary command line, or None: then typer has to look at it."""
    rows = {flag: row for row in ROWS for flag in row.flags}
    values: dict[str, Any] = {}  # of the kind that each row says
    words = iter(arguments)
    for word in words:
        flag, equals, value = word.partition("=") if word.startswith("--") else (word, "", "")
        row = rows.get(flag)
        if row is None:
            return None
        if row.kind is bool:
            if equals:
                return None
            values[row.field] = True
            continue
        text = value if equals else next(words, None)
        if text is None or (not equals and text.startswith("-")):
            return None
        if row.kind is int and not (text.isascii() and text.isdigit() and len(text) < 10):
            return None
        if row.many:
            values[row.field] = (*values.get(row.field, ()), text)
        else:
            values[row.field] = int(text) if row.kind is int else text
    return UpOptions(**values)
