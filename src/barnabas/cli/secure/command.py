"""`barnabas secure`: the certificates of a cluster on several machines.

On one machine `barnabas up --secure` does all of this by itself.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from barnabas.cli.common.failure import Failure, usage
from barnabas.cli.common.options import AsJson
from barnabas.cli.common.screen import Column, emit_json, outcome, say, table

app = typer.Typer(help="Make and renew the certificates of a secured cluster.", no_args_is_help=True)

Folder = Annotated[str, typer.Argument(metavar="DIR", help="The folder of the certificate authority.")]
SOON_DAYS = 30


@app.command("init")
def init(folder: Folder, as_json: AsJson = False) -> None:
    """Make a certificate authority and an admin.

    The folder stays with you: whoever has its ca.key can make nodes.

    \b
    Example:
      barnabas secure init ./authority
      barnabas secure node ./authority node-1 --host kafka-1.example.org
    """
    from barnabas.cli.secure import authority, bundle
    from barnabas.cli.secure.files import CA_KEY

    path = Path(folder).expanduser()
    if (path / CA_KEY).exists():
        raise Failure(f"{path} has a certificate authority already", "Nothing was changed.")
    authority.create_authority(path)
    bundle.create_admin(path)
    text = f"{path} has the cluster's certificate authority; keep {CA_KEY} secret and safe"
    outcome(as_json, {"folder": str(path)}, text)
    if not as_json:
        say(f"next: barnabas secure node {folder} node-1 --host HOST-OF-NODE-1")


@app.command("node")
def node(
    folder: Folder,
    name: Annotated[str, typer.Argument(metavar="NAME", help="node-1 for the node with node.id=1, and so on.")],
    host: Annotated[
        list[str], typer.Option("--host", metavar="HOST", help="A name or address it is reached by; repeat.")
    ],
    out: Annotated[
        str | None, typer.Option("--out", metavar="DIR", help="Where the bundle goes; else DIR/NAME.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Make a node's certificate: a bundle to carry to its machine.

    \b
    Example:
      barnabas secure node ./authority node-1 --host kafka-1.example.org --host 192.0.2.1
      barnabas up --secure --bundle ./node-1 --set node.id=1
    """
    from barnabas.cli.secure import authority, bundle
    from barnabas.cli.secure.files import CA_CERTIFICATE, write_secret

    if not name or "/" in name:
        raise usage(f"{name!r} is not a name for a node", "Name it node-1 for node.id=1, and so on.")
    path = Path(folder).expanduser()
    into = Path(out).expanduser() if out is not None else path / name
    authority.issue_node(path, name, host, into / f"{name}.pem")
    for file in (CA_CERTIFICATE, bundle.ADMIN_SCRAM):
        if (path / file).exists():
            write_secret(into / file, (path / file).read_bytes())
    outcome(as_json, {"node": name, "bundle": str(into)}, f"{into} is the bundle of {name}: carry it to its machine")
    if as_json:
        return
    say(f"there: barnabas up --secure --bundle {into.name} --set node.id={name.rpartition('-')[2]}")


@app.command("rotate")
def rotate(folder: Folder, as_json: AsJson = False) -> None:
    """Renew the certificates of the nodes in a folder.

    Running nodes take them within seconds, and connections live on.

    \b
    Example:
      barnabas secure rotate ~/.local/share/barnabas/secure
    """
    from barnabas.cli.secure import authority

    path = Path(folder).expanduser()
    files = _certificates(path)
    if not files:
        raise Failure(f"{path} has no certificates of nodes", "See the folder with: barnabas secure status DIR")
    for file in files:
        authority.issue_node(path, file.stem, sorted(authority.hosts_of(file)), file)
        end = authority.expires(file)
        result = {"file": str(file), "expires": f"{end:%Y-%m-%dT%H:%M:%SZ}"}
        outcome(as_json, result, f"{file} is new and counts until {end:%Y-%m-%d}")


@app.command("status")
def status(
    folder: Annotated[
        str | None,
        typer.Argument(metavar="[DIR]", help="The folder with the certificates; else that of `up --secure`."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Show what expires when. Exits with 1 when something does within 30 days.

    Without a folder: what `up --secure` and `up --nodes 3 --secure` have made where they keep data by default.

    \b
    Example:
      barnabas secure status
      barnabas secure status ./authority
    """
    import datetime

    from barnabas.cli.secure import authority

    folders = _made_by_up() if folder is None else [Path(folder).expanduser()]
    files = {path: _all_certificates(path) for path in folders}
    if not any(files.values()):
        where = " and ".join(map(str, folders))
        none = f"{where} {'have' if len(folders) > 1 else 'has'} no certificates"
        raise Failure(none, "Make some (barnabas up --secure), or name their folder: barnabas secure status DIR")
    several = sum(map(bool, files.values())) > 1
    now = datetime.datetime.now(datetime.UTC)
    rows = [
        (path, str(file) if several else file.name, end, (end - now).days)
        for path, found in files.items()
        for file in found
        for end in (authority.expires(file),)
    ]
    if as_json:
        emit_json([{"file": name, "expires": f"{end:%Y-%m-%dT%H:%M:%SZ}", "days": days} for _, name, end, days in rows])
    else:
        columns = (Column("certificate", flexible=True, style="bold"), Column("expires"), Column("days left", True))
        table(columns, ([name, f"{end:%Y-%m-%d}", str(days)] for _, name, end, days in rows))
    if (soon := next((path for path, _, _, days in rows if days < SOON_DAYS), None)) is not None:
        raise Failure("a certificate expires within 30 days", f"Renew them: barnabas secure rotate {soon}")


def _made_by_up() -> list[Path]:
    """Where `up --secure` keeps certificates, of one node and of a cluster, unless it is told otherwise."""
    from barnabas.cli.secure.bundle import FOLDER
    from barnabas.cli.up.settings import default_cluster_data, default_data

    return [default_data() / FOLDER, default_cluster_data() / FOLDER]


def _all_certificates(folder: Path) -> list[Path]:
    from barnabas.cli.secure.files import CA_CERTIFICATE

    return [file for file in (folder / CA_CERTIFICATE, *_certificates(folder)) if file.exists()]


def _certificates(folder: Path) -> list[Path]:
    from barnabas.cli.secure.files import CA_CERTIFICATE

    return sorted(file for file in folder.glob("*.pem") if file.name != CA_CERTIFICATE)
