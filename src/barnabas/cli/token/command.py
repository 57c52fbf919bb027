"""`barnabas token`: delegation tokens, with which programs log in as a user without its password (KIP-48).

A token is named by its id. Its HMAC, which is its password, is shown once, when it is created, or goes into a file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from barnabas.cli.common.failure import Failure, usage
from barnabas.cli.common.options import DEFAULT_BOOTSTRAP, AsJson, Bootstrap
from barnabas.cli.common.screen import Column, emit_json, note, outcome, say, table

if TYPE_CHECKING:
    from barnabas.cli.common.cluster import Cluster
    from barnabas.wire.messages import (
        CreateDelegationTokenResponse,
        DescribedDelegationToken,
        DescribeDelegationTokenResponse,
        ExpireDelegationTokenResponse,
        RenewDelegationTokenResponse,
    )

app = typer.Typer(help="Create, renew, expire and list delegation tokens.", no_args_is_help=True)

Token = Annotated[str, typer.Argument(metavar="ID", help="The token's id.")]


@app.command("create")
def create(
    owner: Annotated[
        str | None, typer.Option("--owner", metavar="USER", help="Whose token; else your own. Needs CREATE_TOKENS.")
    ] = None,
    renewer: Annotated[
        list[str] | None, typer.Option("--renewer", metavar="USER", help="Who else may renew it; repeatable.")
    ] = None,
    lifetime: Annotated[
        str | None, typer.Option("--lifetime", metavar="TIME", help="How long it can be renewed at most, such as 2d.")
    ] = None,
    save: Annotated[
        str | None,
        typer.Option("--save", metavar="FILE", help="Write a client.properties there, for its owner only."),
    ] = None,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Create a token; its HMAC, the password, is shown once.

    Whoever has it logs in as its owner until it expires.

    \b
    Example:
      barnabas token create --renewer spark --save job.properties
    """
    from barnabas.wire.apis import CREATE_DELEGATION_TOKEN

    body = {
        "owner_principal_type": None if owner is None else "User",
        "owner_principal_name": None if owner is None else _user(owner),
        "renewers": [{"principal_type": "User", "principal_name": _user(user)} for user in renewer or ()],
        "max_lifetime_ms": -1 if lifetime is None else _duration_ms(lifetime),
    }
    with _cluster(bootstrap) as cluster:
        answer: CreateDelegationTokenResponse = cluster.ask_any(CREATE_DELEGATION_TOKEN, body)
    _check(answer.error_code, "create a token")
    _tell(answer, save, as_json, bootstrap)


@app.command("renew")
def renew(
    token: Token,
    period: Annotated[
        str | None, typer.Option("--for", metavar="TIME", help="From now; else as long as the cluster allows.")
    ] = None,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """Let a token expire later; its owner and its renewers may.

    \b
    Example:
      barnabas token renew 8yXw0sJ2Sn2ZqJ5mQ1Yz3g
    """
    from barnabas.wire.apis import RENEW_DELEGATION_TOKEN

    period_ms = -1 if period is None else _duration_ms(period)
    with _cluster(bootstrap) as cluster:
        body = {"hmac": bytes(_found(cluster, token).hmac), "renew_period_ms": period_ms}
        answer: RenewDelegationTokenResponse = cluster.ask_any(RENEW_DELEGATION_TOKEN, body)
    _check(answer.error_code, f"renew token {token}")
    result = {"token": token, "expires_ms": answer.expiry_timestamp_ms}
    outcome(as_json, result, f"token {token} expires {_moment(answer.expiry_timestamp_ms)}")


@app.command("expire")
def expire(
    token: Token,
    period: Annotated[str | None, typer.Option("--in", metavar="TIME", help="From now; else at once.")] = None,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """End a token, at once or after some time.

    Its owner and its renewers may. Connections that are logged in with it go on until it would have expired.

    \b
    Example:
      barnabas token expire 8yXw0sJ2Sn2ZqJ5mQ1Yz3g
    """
    from barnabas.wire.apis import EXPIRE_DELEGATION_TOKEN

    period_ms = -1 if period is None else _duration_ms(period)
    with _cluster(bootstrap) as cluster:
        body = {"hmac": bytes(_found(cluster, token).hmac), "expiry_time_period_ms": period_ms}
        answer: ExpireDelegationTokenResponse = cluster.ask_any(EXPIRE_DELEGATION_TOKEN, body)
    _check(answer.error_code, f"expire token {token}")
    result = {"token": token, "expires_ms": answer.expiry_timestamp_ms}
    ended = "is removed" if period is None else f"expires {_moment(answer.expiry_timestamp_ms)}"
    outcome(as_json, result, f"token {token} {ended}")


@app.command("list")
def list_tokens(
    owner: Annotated[
        list[str] | None, typer.Option("--owner", metavar="USER", help="Only those of this user; repeatable.")
    ] = None,
    as_json: AsJson = False,
    bootstrap: Bootstrap = DEFAULT_BOOTSTRAP,
) -> None:
    """List the tokens that you may see.

    Those are the ones that you own, have asked for, may renew, or may see by a rule.

    \b
    Example:
      barnabas token list
    """
    with _cluster(bootstrap) as cluster:
        tokens = _tokens(cluster, owner)
    if as_json:
        emit_json([_shown(token) for token in tokens])
    elif not tokens:
        say("no tokens. Make one: barnabas token create")
    else:
        titles = ("token", "owner", "requester", "renewers", "expires", "at the latest")
        columns = [Column(title, flexible=title == "renewers") for title in titles]
        table(
            columns,
            (
                [
                    token.token_id,
                    token.principal_name,
                    token.token_requester_principal_name,
                    ", ".join(renewer.principal_name for renewer in token.renewers),
                    _moment(token.expiry_timestamp),
                    _moment(token.max_timestamp),
                ]
                for token in tokens
            ),
        )


def _cluster(bootstrap: str) -> Cluster:
    from barnabas.cli.common.cluster import Cluster

    return Cluster(bootstrap)


def _tokens(cluster: Cluster, owners: list[str] | None) -> list[DescribedDelegationToken]:
    from barnabas.wire.apis import DESCRIBE_DELEGATION_TOKEN

    wanted = None
    if owners:
        wanted = [{"principal_type": "User", "principal_name": _user(name)} for name in owners]
    answer: DescribeDelegationTokenResponse = cluster.ask_any(DESCRIBE_DELEGATION_TOKEN, {"owners": wanted})
    _check(answer.error_code, "list the tokens")
    return sorted(answer.tokens, key=lambda token: token.issue_timestamp)


def _found(cluster: Cluster, token_id: str) -> DescribedDelegationToken:
    for token in _tokens(cluster, None):
        if token.token_id == token_id:
            return token
    raise Failure(f"there is no token {token_id} that you may see", "See which there are: barnabas token list")


def _shown(token: DescribedDelegationToken) -> dict[str, object]:
    """Without the HMAC: a list is not a place for passwords."""
    return {
        "token": token.token_id,
        "owner": token.principal_name,
        "requester": token.token_requester_principal_name,
        "renewers": [renewer.principal_name for renewer in token.renewers],
        "issued_ms": token.issue_timestamp,
        "expires_ms": token.expiry_timestamp,
        "max_ms": token.max_timestamp,
    }


def _tell(answer: CreateDelegationTokenResponse, save: str | None, as_json: bool, bootstrap: str) -> None:
    import base64

    hmac = base64.b64encode(bytes(answer.hmac)).decode()
    result: dict[str, object] = {
        "token": answer.token_id,
        "owner": answer.principal_name,
        "expires_ms": answer.expiry_timestamp_ms,
        "max_ms": answer.max_timestamp_ms,
    }
    if save is None:
        result["hmac"] = hmac
    else:
        path = Path(save).expanduser()
        _save(path, answer.token_id, hmac, bootstrap)
        result["file"] = str(path)
    expires = _moment(answer.expiry_timestamp_ms)
    outcome(as_json, result, f"token {answer.token_id} of {answer.principal_name} expires {expires}")
    if as_json:
        return
    if save is not None:
        say(f"{save} has how to log in with it, for Java clients")
    else:
        say(f"hmac  {hmac}")
        note("Whoever has it logs in as the owner: keep it like a password.")


def _save(path: Path, token_id: str, hmac: str, bootstrap: str) -> None:
    from barnabas.cli.secure.bundle import client_properties
    from barnabas.cli.secure.files import write_secret
    from barnabas.client.common.connection import addresses
    from barnabas.client.common.profile import profile_for

    profile = profile_for(addresses(bootstrap))
    ca = profile.get("ssl.ca.location")
    protocol = profile.get("security.protocol", "SASL_SSL")
    text = client_properties(token_id, hmac, None if ca is None else Path(ca), by_token=True, protocol=protocol)
    write_secret(path, text.encode())


def _check(code: int, doing: str) -> None:
    from barnabas.cli.common.cluster import refused
    from barnabas.model.errors import ErrorCode

    if code == ErrorCode.DELEGATION_TOKEN_AUTH_DISABLED:
        raise Failure(f"{doing}: this cluster has no tokens", "Set delegation.token.secret.key on every node.")
    if code == ErrorCode.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED:
        raise Failure(
            f"{doing}: only who has logged in with credentials of its own may",
            "Connect to a listener with SASL, or with a TLS client certificate, and not by a token.",
        )
    if code:
        raise refused(code, doing)


def _user(name: str) -> str:
    found = name.removeprefix("User:")
    if not found:
        raise usage("a user has no name", "Write it as alice or User:alice.")
    return found


def _duration_ms(text: str) -> int:
    from barnabas.cli.common.moments import duration_ms

    try:
        return duration_ms(text)
    except ValueError as error:
        raise usage(str(error), "") from None


def _moment(at_ms: int) -> str:
    from datetime import datetime

    try:
        return datetime.fromtimestamp(at_ms / 1000).astimezone().isoformat(" ", "seconds")
    except (OverflowError, ValueError, OSError):
        return "never"
