"""`barnabas quota`: how much users, clients and addresses may use, and who is throttled now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.common.failure import Failure, usage
from barnabas.cli.common.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap
from barnabas.cli.common.screen import Column, emit_json, note, outcome, say, table
from barnabas.cli.quota.words import SHOWN, amount, entity, shown, who

if TYPE_CHECKING:
    from barnabas.cli.common.cluster import Cluster
    from barnabas.wire.messages import AlterClientQuotasResponse, DescribeClientQuotasResponse

app = typer.Typer(help="Limit what users, clients and addresses use; see who is throttled.", no_args_is_help=True)

User = Annotated[str | None, typer.Argument(metavar="USER", help="The user; without a login it is ANONYMOUS.")]
Client = Annotated[str | None, typer.Option("--client", metavar="ID", help="Only clients of this client id.")]
Ip = Annotated[str | None, typer.Option("--ip", metavar="ADDRESS", help="Whoever connects from this address.")]
Default = Annotated[bool, typer.Option("--default", help="Each user that has no quota of its own.")]
DefaultClient = Annotated[bool, typer.Option("--default-client", help="Each client id without a quota of its own.")]
DefaultIp = Annotated[bool, typer.Option("--default-ip", help="Each address that has no quota of its own.")]
Produce = Annotated[str | None, typer.Option("--produce", metavar="RATE", help="Bytes produced, such as 1MB/s.")]
Fetch = Annotated[str | None, typer.Option("--fetch", metavar="RATE", help="Bytes fetched, such as 2MiB/s.")]
Requests = Annotated[str | None, typer.Option("--requests", metavar="PERCENT", help="A node's time, such as 50%.")]
Partitions = Annotated[
    str | None, typer.Option("--partitions", metavar="RATE", help="Partitions created and deleted, such as 10/s.")
]
Connections = Annotated[
    str | None, typer.Option("--connections", metavar="RATE", help="Connections opened; of an address.")
]


@app.command("set")
def set_quota(
    user: User = None,
    client: Client = None,
    ip: Ip = None,
    default: Default = False,
    default_client: DefaultClient = False,
    default_ip: DefaultIp = False,
    produce: Produce = None,
    fetch: Fetch = None,
    requests: Requests = None,
    partitions: Partitions = None,
    connections: Connections = None,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Set quotas of a user, a client id, both, or an address.

    They hold on each node by itself. Of several that fit, the most exact one counts.

    \b
    Example:
      barnabas quota set alice --produce 1MB/s --fetch 2MB/s --requests 50%
      barnabas quota set --default --default-client --produce 512KiB/s
      barnabas quota set --ip 10.0.0.7 --connections 10/s
    """
    parts = entity(user, client, ip, default=default, default_client=default_client, default_ip=default_ip)
    given = dict(zip(SHOWN, (produce, fetch, requests, partitions, connections), strict=True))
    values = {key: amount(key, text) for key, text in given.items() if text is not None}
    if not values:
        raise usage("which quota?", "Say --produce, --fetch, --requests, --partitions or --connections.")
    for key in values:
        if ("ip" in parts) != (key == "connection_creation_rate"):
            raise usage("--connections is the quota of an address, and its only one", "Say --ip ADDRESS with it.")
    with _cluster(bootstrap) as cluster:
        _alter(cluster, parts, [{"key": key, "value": value, "remove": False} for key, value in values.items()])
    told = ", ".join(f"{SHOWN[key]} {shown(key, value)}" for key, value in values.items())
    outcome(as_json, {"entity": parts, "quotas": values}, f"{who(parts)}: {told}")


@app.command("list")
def list_quotas(
    now: Annotated[bool, typer.Option("--now", help="Who is throttled, on this machine's nodes.")] = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """List the quotas, or with --now who is throttled by which.

    Who is throttled each node says in the status.json of its data folder: --now shows the nodes of this machine, and
    the last ten seconds.

    \b
    Example:
      barnabas quota list
      barnabas quota list --now
    """
    if now:
        _list_throttled(as_json, bootstrap)
        return
    with _cluster(bootstrap) as cluster:
        found = _quotas(cluster)
    if as_json:
        emit_json([{"entity": parts, "quotas": values} for parts, values in found])
    elif not found:
        say("no quotas. Set one: barnabas quota set USER --produce 1MB/s")
    else:
        columns = (Column("who", flexible=True, style="bold"), Column("quotas", flexible=True))
        rows = ([who(parts), ", ".join(f"{SHOWN.get(k, k)} {shown(k, v)}" for k, v in sorted(values.items()))]
                for parts, values in found)  # fmt: skip
        table(columns, rows)


@app.command("remove")
def remove(
    user: User = None,
    client: Client = None,
    ip: Ip = None,
    default: Default = False,
    default_client: DefaultClient = False,
    default_ip: DefaultIp = False,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Remove all quotas of a user, a client id, both, or an address.

    \b
    Example:
      barnabas quota remove alice
      barnabas quota remove --default --default-client
    """
    parts = entity(user, client, ip, default=default, default_client=default_client, default_ip=default_ip)
    with _cluster(bootstrap) as cluster:
        values = next((values for known, values in _quotas(cluster) if known == parts), {})
        if not values:
            raise Failure(f"{who(parts)}: no quota of its own", "See which there are: barnabas quota list")
        _alter(cluster, parts, [{"key": key, "value": 0.0, "remove": True} for key in values])
    outcome(as_json, {"entity": parts, "removed": sorted(values)}, f"{who(parts)}: no quotas any more")


def _cluster(bootstrap: str) -> Cluster:
    from barnabas.cli.common.cluster import Cluster

    return Cluster(bootstrap)


def _quotas(cluster: Cluster) -> list[tuple[dict[str, str | None], dict[str, float]]]:
    from barnabas.cli.common.cluster import refused
    from barnabas.wire.apis import DESCRIBE_CLIENT_QUOTAS

    body = {"components": [], "strict": False}
    answer: DescribeClientQuotasResponse = cluster.ask_any(DESCRIBE_CLIENT_QUOTAS, body)
    if answer.error_code:
        raise refused(answer.error_code, "list the quotas")
    found = [
        ({part.entity_type: part.entity_name for part in entry.entity}, {v.key: v.value for v in entry.values})
        for entry in answer.entries or ()
    ]
    return sorted(found, key=lambda each: who(each[0]))


def _alter(cluster: Cluster, parts: Mapping[str, str | None], ops: list[dict[str, object]]) -> None:
    from barnabas.cli.common.cluster import refused
    from barnabas.wire.apis import ALTER_CLIENT_QUOTAS

    named = [{"entity_type": kind, "entity_name": name} for kind, name in parts.items()]
    body = {"entries": [{"entity": named, "ops": ops}], "validate_only": False}
    answer: AlterClientQuotasResponse = cluster.ask_any(ALTER_CLIENT_QUOTAS, body)
    for entry in answer.entries:
        if entry.error_code:
            raise refused(entry.error_code, f"quota of {who(parts)}", told=entry.error_message)


def _list_throttled(as_json: bool, bootstrap: str) -> None:
    from barnabas.cli.doctor.command import local_folders
    from barnabas.cli.doctor.health import running_nodes

    folders = local_folders(bootstrap)
    if not folders:
        raise Failure("no node of the cluster runs on this machine", "Ask on the machine of a node; see: quota list")
    rows = [row for folder in folders for status in running_nodes(folder) for row in _throttled(status)]
    if as_json:
        emit_json(rows)
    elif not rows:
        say("nobody was throttled in the last ten seconds")
    else:
        columns = (
            Column("node", right=True),
            Column("client", flexible=True, style="bold"),
            Column("by the rule of", flexible=True),
            Column("quota"),
            Column("uses", right=True),
            Column("throttled for", right=True),
            Column("ago", right=True),
        )
        table(columns, map(_row, rows))
    if not as_json and len(folders) > 1:
        note(f"of {len(folders)} nodes on this machine")


def _throttled(status: Mapping[str, object]) -> Iterator[dict[str, object]]:
    """Of one node; what its file says was so when it was written, up to two seconds ago."""
    import time

    from barnabas.core.access.quotas.meters import LATELY_MS

    quotas, written_ms = status.get("quotas"), status.get("written_ms")
    if not isinstance(quotas, dict) or not isinstance(written_ms, int):
        return
    passed_ms = time.time() * 1000 - written_ms
    for each in quotas["throttled"]:
        ago_ms = each["ago_ms"] + max(int(passed_ms), 0)
        if ago_ms < each["time_ms"] + LATELY_MS:
            yield {"node": status.get("node_id"), **each, "ago_ms": ago_ms}


def _row(row: Mapping[str, object]) -> list[str]:
    from barnabas.cli.common import human

    key, limit, used, rule = (row[name] for name in ("key", "limit", "used", "rule"))
    time_ms, ago_ms = row["time_ms"], row["ago_ms"]
    assert isinstance(key, str) and isinstance(limit, float) and isinstance(used, float | int)
    assert isinstance(time_ms, int) and isinstance(ago_ms, int) and isinstance(rule, dict)
    parts = {kind: row[name] for kind, name in (("user", "user"), ("client-id", "client_id")) if row[name] is not None}
    client = who({kind: str(name) for kind, name in parts.items()})
    return [
        str(row["node"]),
        client,
        who(rule),
        f"{SHOWN.get(key, key)} {shown(key, limit)}",
        shown(key, used, of=limit),
        human.duration(time_ms / 1000),
        human.duration(ago_ms / 1000),
    ]
