"""`barnabas user`: who may log in by SCRAM.

Passwords are hashed here and never sent. They come from a prompt, a file or standard input, or are made, but never
stand on a command line, where others on this machine could read them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.common.failure import Failure, usage
from barnabas.cli.common.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap, Yes, confirm
from barnabas.cli.common.screen import Column, emit_json, note, outcome, say, table

if TYPE_CHECKING:
    from barnabas.cli.common.cluster import Cluster
    from barnabas.wire.messages import AlterUserScramCredentialsResponse, DescribeUserScramCredentialsResponse

app = typer.Typer(help="Create, list and delete the users that log in by SCRAM.", no_args_is_help=True)

User = Annotated[str, typer.Argument(metavar="USER", help="The user's name.")]
PasswordFile = Annotated[
    str | None,
    typer.Option("--password-file", metavar="FILE", help="Where the password is; - for stdin. Else one is made."),
]
Save = Annotated[
    str | None,
    typer.Option("--save", metavar="FILE", help="Write a client.properties for the user there, for its owner only."),
]

_NO_LOGINS = (
    "Nobody logs in at this cluster yet: its listeners have no SASL, and let everybody in. "
    "Start the nodes with --secure, or add a SASL_SSL listener (docs/security.md)."
)


@app.command("create")
def create(
    user: User,
    password_file: PasswordFile = None,
    save: Save = None,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Create a user; a password is made and shown once.

    With --password-file it is yours. The user may do nothing yet: barnabas acl add says what.

    \b
    Example:
      barnabas user create alice
      barnabas user create bob --save bob.properties
    """
    if save is not None and Path(save).expanduser().exists():
        raise Failure(f"{save} exists, and may have the only copy of a password", "Name another file.")
    with _cluster(bootstrap) as cluster:
        if user in _users(cluster):
            raise Failure(f"user {user} exists", f"Change the password with: barnabas user password {user}")
        can = _can_log_in(cluster)
        secret = _set_password(cluster, user, password_file)
    _tell(user, secret, can=can, made=password_file is None, save=save, as_json=as_json, bootstrap=bootstrap)


@app.command("password")
def password(
    user: User,
    password_file: PasswordFile = None,
    save: Save = None,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Give a user another password; those who are logged in stay so.

    \b
    Example:
      barnabas user password alice
    """
    with _cluster(bootstrap) as cluster:
        if user not in _users(cluster):
            raise Failure(f"there is no user {user}", f"Create it with: barnabas user create {user}")
        can = _can_log_in(cluster)
        secret = _set_password(cluster, user, password_file)
    _tell(user, secret, can=can, made=password_file is None, save=save, as_json=as_json, bootstrap=bootstrap)


@app.command("list")
def list_users(as_json: AsJson = False, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP) -> None:
    """List the users and how they log in.

    \b
    Example:
      barnabas user list
    """
    with _cluster(bootstrap) as cluster:
        users = _users(cluster)
    if as_json:
        emit_json([{"user": user, "mechanisms": mechanisms} for user, mechanisms in sorted(users.items())])
    elif not users:
        say("no users yet. Make one: barnabas user create NAME")
    else:
        columns = (Column("user", flexible=True, style="bold"), Column("logs in by"))
        table(columns, ([user, ", ".join(mechanisms)] for user, mechanisms in sorted(users.items())))


@app.command("delete")
def delete(user: User, yes: Yes = False, as_json: AsJson = False, bootstrap: Bootstrap = DEFAULT_BOOTSTRAP) -> None:
    """Delete a user; its access rules stay.

    Connections that are logged in go on until they end.

    \b
    Example:
      barnabas user delete alice --yes
    """
    from barnabas.operate.access.passwords import deletions

    with _cluster(bootstrap) as cluster:
        mechanisms = _users(cluster).get(user)
        if mechanisms is None:
            raise Failure(f"there is no user {user}", "See who there is: barnabas user list")
        if user == _own_user(bootstrap):
            raise Failure(
                f"you are logged in as {user}, and would not get in again",
                "Let another one who may do everything delete it.",
            )
        confirm(f"Delete user {user}?", yes)
        for each in deletions(user, mechanisms):
            _alter(cluster, user, {"deletions": [each], "upsertions": []})
    outcome(as_json, {"user": user, "deleted": True}, f"user {user} is deleted")


def _own_user(bootstrap: str) -> str | None:
    from barnabas.client.common.connection import addresses
    from barnabas.client.common.profile import profile_for

    return profile_for(addresses(bootstrap)).get("sasl.username")


def _cluster(bootstrap: str) -> Cluster:
    from barnabas.cli.common.cluster import Cluster

    return Cluster(bootstrap)


def _users(cluster: Cluster) -> dict[str, list[str]]:
    from barnabas.cli.common.cluster import refused
    from barnabas.operate.access.passwords import mechanism_name
    from barnabas.wire.apis import DESCRIBE_USER_SCRAM_CREDENTIALS

    answer: DescribeUserScramCredentialsResponse = cluster.ask_any(DESCRIBE_USER_SCRAM_CREDENTIALS, {"users": None})
    if answer.error_code:
        raise refused(answer.error_code, "list the users")
    return {
        each.user: [name for info in each.credential_infos if (name := mechanism_name(info.mechanism)) is not None]
        for each in answer.results
        if not each.error_code
    }


def _set_password(cluster: Cluster, user: str, file: str | None) -> str:
    import secrets

    from barnabas.operate.access.passwords import SALT_BYTES, check_name, upsertions

    with _written_rightly():
        check_name(user)
    secret = secrets.token_urlsafe(18) if file is None else _read_password(file)
    salts = secrets.token_bytes(SALT_BYTES), secrets.token_bytes(SALT_BYTES)
    for each in upsertions(user, secret, salts):  # Kafka refuses two credentials of a user in one request
        _alter(cluster, user, {"deletions": [], "upsertions": [each]})
    return secret


def _can_log_in(cluster: Cluster) -> bool:
    """True as well where we may not see the settings that say so."""
    from barnabas.operate.access.logins import SETTINGS, has_logins

    return has_logins(cluster.node_settings(SETTINGS))


def _tell(user: str, secret: str, *, can: bool, made: bool, save: str | None, as_json: bool, bootstrap: str) -> None:
    """A password that was made is shown once, unless it went into a file."""
    result: dict[str, str] = {"user": user}
    if save is not None:
        path = Path(save).expanduser()
        _save(path, user, secret, bootstrap)
        result["file"] = str(path)
    elif made:
        result["password"] = secret
    outcome(as_json, result, f"user {user} can log in" if can else f"user {user} is known to the cluster")
    if as_json:
        return
    if not can:
        note(_NO_LOGINS)
    if save is not None:
        say(f"{save} has how: BARNABAS_PROFILE={save}, or the properties of any Kafka client")
    elif made:
        say(f"password {secret}")
        note("It is not kept anywhere: write it down now.")


def _alter(cluster: Cluster, user: str, body: dict[str, list[dict[str, object]]]) -> None:
    from barnabas.cli.common.cluster import refused
    from barnabas.wire.apis import ALTER_USER_SCRAM_CREDENTIALS

    answer: AlterUserScramCredentialsResponse = cluster.ask_any(ALTER_USER_SCRAM_CREDENTIALS, body)
    for result in answer.results:
        if result.error_code:
            raise refused(result.error_code, f"change user {user}")


@contextmanager
def _written_rightly() -> Iterator[None]:
    from barnabas.operate.unusable import Unusable

    try:
        yield
    except Unusable as problem:
        raise usage(problem.message, problem.way_out) from None


def _read_password(file: str) -> str:
    from barnabas.operate.access.passwords import check_password

    if file == "-" and sys.stdin.isatty():
        import getpass

        return getpass.getpass("Password: ")
    try:
        text = sys.stdin.readline() if file == "-" else Path(file).expanduser().read_text()
    except (OSError, UnicodeDecodeError) as error:
        raise Failure(f"the password cannot be read: {error}") from None
    secret = text.strip("\n")
    with _written_rightly():
        check_password(secret)
    return secret


def _save(path: Path, user: str, secret: str, bootstrap: str) -> None:
    from barnabas.cli.secure.bundle import client_properties
    from barnabas.cli.secure.files import write_secret
    from barnabas.client.common.connection import addresses
    from barnabas.client.common.profile import profile_for

    ca = profile_for(addresses(bootstrap)).get("ssl.ca.location")
    write_secret(path, client_properties(user, secret, None if ca is None else Path(ca)).encode())
