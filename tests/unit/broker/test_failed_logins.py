"""Whoever guesses passwords is slowed down; nobody else is, and the memory of it is bounded."""

from barnabas.broker.network.login.failed_logins import FailedLogins
from barnabas.model.limits import FAILED_LOGIN_DELAY_MAX_MS, FAILED_LOGINS_REMEMBERED


def delays(failed: FailedLogins, times: int, address: str = "a", user: str | None = None) -> list[float]:
    return [failed.failed(address, user, 100) for _ in range(times)]


def test_delays_grow_to_a_bound() -> None:
    failed = FailedLogins(lambda: 0.0)
    found = delays(failed, 30)
    assert found[:5] == [100, 100, 100, 200, 400]
    assert found[-1] == FAILED_LOGIN_DELAY_MAX_MS
    assert delays(failed, 1, "b") == [100]


def test_by_user_as_well() -> None:
    failed = FailedLogins(lambda: 0.0)
    assert [failed.failed(f"address {number}", "alice", 100) for number in range(5)] == [100, 100, 100, 200, 400]


def test_success_and_time_forget() -> None:
    now = [0.0]
    failed = FailedLogins(lambda: now[0])
    delays(failed, 10, user="alice")
    failed.succeeded("a", "alice")
    assert delays(failed, 1, user="alice") == [100]
    delays(failed, 10)
    now[0] += 601_000
    assert delays(failed, 1) == [100]


def test_the_memory_is_bounded() -> None:
    failed = FailedLogins(lambda: 0.0)
    for number in range(FAILED_LOGINS_REMEMBERED + 100):
        failed.failed(str(number), None, 100)
    assert len(failed._addresses) == FAILED_LOGINS_REMEMBERED
    assert failed.total == FAILED_LOGINS_REMEMBERED + 100


def test_long_names_are_cut() -> None:
    failed = FailedLogins(lambda: 0.0)
    for _ in range(4):
        failed.failed("a", "x" * 500_000, 100)
    assert sum(map(len, failed._users)) < 100


def test_no_delay_stays_none() -> None:
    assert FailedLogins(lambda: 0.0).failed("a", None, 0) == 0
