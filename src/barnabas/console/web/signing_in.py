"""Who is here, signing in and out. The cluster decides about its users; users of the console itself by their hash.

A wrong password costs time, and more with each one after it (people/tries.py).
"""

from __future__ import annotations

import asyncio

import msgspec
from starlette.requests import Request

from barnabas.console.clusters.connection import Connections
from barnabas.console.options import ConsoleOptions
from barnabas.console.people.passwords import is_right
from barnabas.console.people.roles import role_of
from barnabas.console.people.sessions import Login, Session, Sessions
from barnabas.console.people.tries import Tries
from barnabas.console.problems import Problem, SignInFirst
from barnabas.console.web.bodies import Bodies, decoded

_LOGIN_MAX_BYTES = 64 * 1024
_AT_ONCE = 8  # logins under way; scrypt takes 16 MiB each


class _Asked(msgspec.Struct):
    cluster: str
    user: str
    password: str


class SignIn:
    def __init__(self, options: ConsoleOptions, sessions: Sessions, connections: Connections, bodies: Bodies) -> None:
        self._options = options
        self._sessions = sessions
        self._connections = connections
        self._bodies = bodies
        self._tries = Tries()
        self._under_way = asyncio.Semaphore(_AT_ONCE)

    def show(self, request: Request, session: Session) -> object:
        """What a page begins with: clusters, who is signed in where, the token for changes."""
        clusters = []
        for each in self._connections.clusters.values():
            login = session.logins.get(each.name)
            role = role_of(login.user if login else "", self._options.roles, self._options.read_only)
            asks = each.needs_login or bool(self._options.users)
            clusters.append(
                {
                    "name": each.name,
                    "bootstrap": each.bootstrap,
                    "asks_for_login": asks,
                    "at_provider": each.by_token,
                    "user": login.user if login else None,
                    "may_change": not role.read_only,
                    "may_see_records": role.data,
                    "role": role.name,
                }
            )
        notice, session.notice = session.notice, ""
        return {"csrf": session.csrf, "clusters": clusters, "notice": notice}

    async def sign_in(self, request: Request, session: Session) -> object:
        with self._bodies.of_request() as body:
            asked = decoded(await body.read(request.stream(), _LOGIN_MAX_BYTES), _Asked)
        self._connections.options(asked.cluster)  # only clusters that are there take a turn
        async with self._tries.turn(asked.cluster, asked.user), self._under_way:
            login = await self._login(asked)
        fresh = self._sessions.begin()
        fresh.logins = {**session.logins, asked.cluster: login}
        self._sessions.end(session)
        return self.show(request, fresh), fresh

    async def _login(self, asked: _Asked) -> Login:
        if self._connections.options(asked.cluster).by_token:
            raise Problem(f"{asked.cluster} is signed in to at a provider, not with a password")
        if self._connections.options(asked.cluster).needs_login:
            return await self._connections.check(asked.cluster, asked.user, asked.password)
        kept = self._options.users.get(asked.user, "")
        if not await asyncio.to_thread(is_right, asked.password, kept):
            raise SignInFirst("user or password are wrong")
        return Login(asked.user)

    async def sign_out(self, request: Request, session: Session) -> object:
        self._sessions.end(session)
        self._connections.forget_unused()
        fresh = self._sessions.begin()
        return self.show(request, fresh), fresh
