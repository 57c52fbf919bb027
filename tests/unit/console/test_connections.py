"""Which connection to a cluster a session gets, and when it ends. The cluster is one that nobody can reach."""

from __future__ import annotations

import asyncio
import time

import pytest

from barnabas.console.clusters.connection import Connections
from barnabas.console.options import ClusterOptions
from barnabas.console.people.sessions import Login, Session, Sessions
from barnabas.console.problems import Problem
from barnabas.link.sasl import OAUTHBEARER, Credentials

NOBODY = ClusterOptions("c", "127.0.0.1:1", {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": OAUTHBEARER})


def token(text: str, user: str = "alice") -> Login:
    return Login(user, Credentials(OAUTHBEARER, user, text), time.time() + 300)


def signed_in(sessions: Sessions, login: Login) -> Session:
    session = sessions.begin()
    session.logins["c"] = login
    return session


def test_two_browsers_of_one_person_do_not_close_each_others_connections() -> None:
    async def run() -> None:
        sessions = Sessions()
        connections = Connections([NOBODY], sessions)
        here, there = signed_in(sessions, token("one")), signed_in(sessions, token("two"))
        first, second = connections.of("c", here.logins["c"]), connections.of("c", there.logins["c"])
        for _ in range(5):
            assert connections.of("c", here.logins["c"]) is first
            assert connections.of("c", there.logins["c"]) is second
        assert first is not second and not first.closed and not second.closed
        assert connections.of("c", token("one")).login.credentials != second.login.credentials
        await connections.close()
        assert first.closed and second.closed

    asyncio.run(run())


def test_a_renewed_token_keeps_the_connection_and_what_runs_on_it() -> None:
    async def run() -> None:
        sessions = Sessions()
        connections = Connections([NOBODY], sessions)
        session = signed_in(sessions, token("old"))
        before = connections.of("c", session.logins["c"])
        session.logins["c"] = new = token("new")
        assert connections.of("c", new) is before
        assert not before.closed and before.login is new
        connections.forget_unused()
        assert connections.of("c", new) is before
        await connections.close()

    asyncio.run(run())


def test_a_connection_ends_with_the_last_session_that_has_its_login() -> None:
    async def run() -> None:
        sessions = Sessions()
        connections = Connections([NOBODY], sessions)
        login = token("one")
        first, second = signed_in(sessions, login), signed_in(sessions, login)
        made = connections.of("c", login)
        sessions.end(first)
        connections.forget_unused()
        assert connections.of("c", login) is made and not made.closed
        sessions.end(second)
        connections.forget_unused()
        connections.forget_unused()  # the next round, while it is being closed
        assert made.closed
        await connections.close()

    asyncio.run(run())


def test_one_user_has_a_few_connections_however_often_they_sign_in() -> None:
    async def run() -> None:
        sessions = Sessions()
        connections = Connections([NOBODY], sessions)
        made = [connections.of("c", signed_in(sessions, token(str(each))).logins["c"]) for each in range(20)]
        assert sum(not each.closed for each in made) == 8 and not made[-1].closed
        for each in made:
            each.mover.start("Balance", [], 1, None)
        with pytest.raises(Problem, match="alice has signed in too often"):
            connections.of("c", signed_in(sessions, token("more")).logins["c"])
        await connections.close()

    asyncio.run(run())


def test_searches_of_all_people_together_have_one_bound() -> None:
    async def run() -> None:
        sessions = Sessions()
        connections = Connections([NOBODY], sessions)
        browsers = [
            connections.of("c", signed_in(sessions, token(user, user)).logins["c"]).browser for user in ("ada", "bob")
        ]
        assert len({id(each._searches) for each in browsers}) == len({id(each._opener) for each in browsers}) == 1
        await connections.close()

    asyncio.run(run())
