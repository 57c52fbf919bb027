"""Users that log in by SCRAM: list, create, another password, delete. Passwords are hashed here, and never sent."""

from __future__ import annotations

import asyncio
import secrets
from typing import TYPE_CHECKING

import msgspec

from barnabas.console.pages.access.asking import check, written_rightly
from barnabas.console.problems import NotFound, Problem
from barnabas.console.web.calls import Call, Route
from barnabas.model.errors import ErrorCode
from barnabas.operate.access.passwords import (
    SALT_BYTES,
    check_name,
    check_password,
    deletions,
    mechanism_name,
    upsertions,
)
from barnabas.wire.apis import ALTER_USER_SCRAM_CREDENTIALS, DESCRIBE_USER_SCRAM_CREDENTIALS

if TYPE_CHECKING:
    from barnabas.link.async_nodes import AsyncNodes
    from barnabas.wire.messages import AlterUserScramCredentialsResponse, DescribeUserScramCredentialsResponse

_PASSWORD_MAX = 1_024  # characters: what is hashed takes time


class _New(msgspec.Struct):
    """Without a password one is made, and shown once."""

    name: str
    password: str | None = None


class _Password(msgspec.Struct):
    password: str | None = None


async def list_users(call: Call) -> object:
    users = await read_users(call.nodes)
    return [{"name": name, "mechanisms": mechanisms} for name, mechanisms in sorted(users.items())]


async def read_users(nodes: AsyncNodes) -> dict[str, list[str]]:
    answer: DescribeUserScramCredentialsResponse = await nodes.ask_any(DESCRIBE_USER_SCRAM_CREDENTIALS, {"users": None})
    check(answer.error_code, "the users are not listed", answer.error_message)
    return {
        each.user: [name for info in each.credential_infos if (name := mechanism_name(info.mechanism)) is not None]
        for each in answer.results
        if not each.error_code
    }


async def create(call: Call) -> object:
    asked = await call.body(_New)
    call.names.append(asked.name[:100])
    with written_rightly():
        check_name(asked.name)
    if asked.name in await read_users(call.nodes):
        raise Problem(f"user {asked.name} exists", "Give it another password instead.", 409)
    return await _set_password(call, asked.name, asked.password)


async def password(call: Call) -> object:
    asked, user = await call.body(_Password), call.path("user")
    if user not in await read_users(call.nodes):
        raise NotFound(f"there is no user {user!r}")
    return await _set_password(call, user, asked.password)


async def _set_password(call: Call, user: str, given: str | None) -> dict[str, str | None]:
    secret = secrets.token_urlsafe(18) if given is None else given
    if len(secret) > _PASSWORD_MAX:
        raise Problem(f"a password has at most {_PASSWORD_MAX} characters")
    with written_rightly():
        check_password(secret)
    salts = secrets.token_bytes(SALT_BYTES), secrets.token_bytes(SALT_BYTES)
    made = await asyncio.to_thread(upsertions, user, secret, salts)
    for each in made:  # Apache Kafka refuses two mechanisms of a user in one request
        await _alter(call.nodes, user, {"deletions": [], "upsertions": [each]})
    return {"name": user, "password": secret if given is None else None}


async def delete(call: Call) -> object:
    user = call.path("user")
    mechanisms = (await read_users(call.nodes)).get(user)
    if mechanisms is None:
        raise NotFound(f"there is no user {user!r}")
    if user == call.user:
        raise Problem(f"you are signed in as {user}, and would not get in again", "Let another admin delete it.", 409)
    for each in deletions(user, mechanisms):
        await _alter(call.nodes, user, {"deletions": [each], "upsertions": []})
    return {}


async def _alter(nodes: AsyncNodes, user: str, body: dict[str, list[dict[str, object]]]) -> None:
    answer: AlterUserScramCredentialsResponse = await nodes.ask_any(ALTER_USER_SCRAM_CREDENTIALS, body)
    for each in answer.results:
        if each.error_code != ErrorCode.NONE:
            check(each.error_code, f"user {user} was not changed", each.error_message)


ROUTES = [
    Route("GET", "/access/users", list_users),
    Route("POST", "/access/users", create, change="create a user"),
    Route("PUT", "/access/users/{user:path}/password", password, change="change a password"),
    Route("DELETE", "/access/users/{user:path}", delete, change="delete a user"),
]
