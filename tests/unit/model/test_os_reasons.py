"""Reasons of the operating system, in words."""

from __future__ import annotations

import errno
import socket

from barnabas.model.os_reasons import reason_of


def test_the_reason_alone() -> None:
    taken = OSError(errno.EADDRINUSE, "Address already in use (while attempting to bind on address ('::1', 1))")
    assert reason_of(taken) == "address already in use"


def test_a_name_that_is_not_resolved() -> None:
    assert reason_of(socket.gaierror(-2, "Name or service not known")) == "name or service not known"


def test_one_without_a_number() -> None:
    assert reason_of(OSError("What happened")) == "what happened"
