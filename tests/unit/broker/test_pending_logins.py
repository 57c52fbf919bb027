"""Connections that have not logged in: a share of all, and the oldest goes first."""

from barnabas.broker.network.pending_logins import PendingLogins


def test_the_oldest_is_closed_first() -> None:
    closed: list[int] = []
    told: list[str] = []
    pending = PendingLogins(told.append)
    pending.limit(80)
    for number in range(23):
        pending.began(number, lambda number=number: closed.append(number))  # type: ignore[misc]
        if number == 1:
            pending.ended(0)
            pending.ended(0)
    assert (closed, len(pending), len(told)) == ([1, 2], 20, 2)


def test_a_small_node_lets_a_client_open_several_at_once() -> None:
    pending = PendingLogins(print)
    pending.limit(4)
    for number in range(16):
        pending.began(number, lambda: 1 / 0)
    assert len(pending) == 16
