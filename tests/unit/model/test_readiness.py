"""Something to read is noticed on any descriptor, also above those that select() takes."""

from __future__ import annotations

import fcntl
import resource
import socket
import time
from collections.abc import Iterator

import pytest

from barnabas.model.readiness import readable

SELECT_MAX = 1024


@pytest.fixture(params=["low", "high"])
def pair(request: pytest.FixtureRequest) -> Iterator[tuple[socket.socket, socket.socket]]:
    """Two ends of a connection, the first with a descriptor below or above what select() takes."""
    near, far = socket.socketpair()
    if request.param == "high":
        limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        if limits[1] != resource.RLIM_INFINITY and limits[1] < 2 * SELECT_MAX:
            pytest.skip("this machine allows no more descriptors")
        resource.setrlimit(resource.RLIMIT_NOFILE, (max(limits[0], 2 * SELECT_MAX), limits[1]))
        high = fcntl.fcntl(near.fileno(), fcntl.F_DUPFD_CLOEXEC, SELECT_MAX)  # the first from there on that is free
        near.close()
        near = socket.socket(fileno=high)
    with near, far:
        yield near, far
    if request.param == "high":
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)


def test_what_has_come_is_noticed(pair: tuple[socket.socket, socket.socket]) -> None:
    near, far = pair
    assert not readable(near)
    far.send(b"x")
    assert readable(near) and readable(near, 5.0)
    near.recv(1)
    far.close()
    assert readable(near)  # the end is something to read


def test_it_waits_as_long_as_it_may(pair: tuple[socket.socket, socket.socket]) -> None:
    begun = time.monotonic()
    assert not readable(pair[0], 0.05)
    assert time.monotonic() - begun >= 0.04
