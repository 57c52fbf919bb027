"""Sessions, tries at passwords, and what requests may hold."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import msgspec
import pytest

from barnabas.console.people.passwords import hashed, is_right
from barnabas.console.people.sessions import IDLE_SECONDS, SESSIONS_MAX, Login, Sessions
from barnabas.console.people.tries import MOST_SECONDS, Tries
from barnabas.console.problems import Problem, SignInFirst
from barnabas.console.web.bodies import Bodies, decoded


class Clock:
    now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_session_ends_when_nobody_uses_it() -> None:
    clock = Clock()
    sessions = Sessions(clock)
    session = sessions.begin()
    session.logins["a"] = login = Login("alice")
    clock.now = IDLE_SECONDS - 1
    assert sessions.find(session.name) is session  # and counts from now on again
    clock.now += IDLE_SECONDS - 1
    assert sessions.is_alive(session) and sessions.has_login("a", login)
    clock.now += 2
    assert sessions.find(session.name) is None
    assert not sessions.is_alive(session) and not sessions.has_login("a", login)


def test_visits_of_strangers_do_not_end_the_session_of_a_person() -> None:
    clock = Clock()
    sessions = Sessions(clock)
    person = sessions.begin()
    person.logins["a"] = Login("alice")
    for number in range(SESSIONS_MAX * 2):
        clock.now = number / 1000
        sessions.begin()
    assert sessions.find(person.name) is person


def test_each_wrong_password_of_a_user_takes_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr("barnabas.console.people.tries.asyncio.sleep", sleep)
    clock = Clock()

    async def run() -> None:
        tries = Tries(clock)
        for _ in range(8):
            with pytest.raises(SignInFirst):
                async with tries.turn("a", "alice"):
                    raise SignInFirst("wrong")
        with pytest.raises(SignInFirst):
            async with tries.turn("a", "bob"):
                raise SignInFirst("wrong")
        async with tries.turn("a", "alice"):
            pass
        with pytest.raises(SignInFirst):
            async with tries.turn("a", "alice"):
                raise SignInFirst("wrong")

    asyncio.run(run())
    assert slept == [1, 2, 4, 8, 16, MOST_SECONDS, MOST_SECONDS, MOST_SECONDS, 1, 1]


def test_tries_of_one_user_take_turns_and_only_so_many_wait() -> None:
    async def run() -> None:
        tries = Tries()
        inside = 0
        go = asyncio.Event()

        async def attempt() -> None:
            nonlocal inside
            async with tries.turn("a", "alice"):
                inside += 1
                assert inside == 1
                await go.wait()
                inside -= 1

        waiting = [asyncio.create_task(attempt()) for _ in range(4)]
        await asyncio.sleep(0)
        with pytest.raises(Problem) as refused:
            await attempt()
        assert refused.value.status == 429
        go.set()
        await asyncio.gather(*waiting)

    asyncio.run(run())


def test_passwords_are_compared_by_their_hash() -> None:
    kept = hashed("right")
    assert is_right("right", kept) and not is_right("wrong", kept) and not is_right("", "")
    assert "right" not in kept and hashed("right") != kept


class _Wanted(msgspec.Struct):
    name: str


@pytest.mark.parametrize("data", [b"{", b"[]", b'{"name": 5}', b"\xff", b'{"name": ' + b"[" * 100_000, b"[" * 100_000])
def test_what_cannot_be_read_is_one_line(data: bytes) -> None:
    with pytest.raises(Problem, match="the request cannot be read"):
        decoded(data, _Wanted)


def test_all_requests_together_hold_so_much_and_no_more() -> None:
    async def parts(size: int) -> AsyncIterator[bytes]:
        for _ in range(size):
            yield b"x"

    async def run() -> None:
        bodies = Bodies(most=10)
        with bodies.of_request() as first, bodies.of_request() as second:
            assert await first.read(parts(8)) == b"x" * 8
            with pytest.raises(Problem, match="too much to do"):
                await second.read(parts(3))
        assert bodies.held == 0
        with bodies.of_request() as third, pytest.raises(Problem) as refused:
            await third.read(parts(6), 5)
        assert refused.value.status == 413 and bodies.held == 0

    asyncio.run(run())


def test_whoever_comes_back_from_the_provider_gets_no_login_of_a_session_that_was_ended() -> None:
    sessions = Sessions()
    session = sessions.begin()
    session.logins["a"] = Login("alice")
    sessions.end(session)  # alice has signed out, while somebody was at the provider for cluster b
    assert {**session.logins, "b": Login("bob")} == {"b": Login("bob")}
