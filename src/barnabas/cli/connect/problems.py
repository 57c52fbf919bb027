"""What goes wrong with connectors, as one line."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from barnabas.cli.common.failure import Failure


@contextmanager
def told_in_one_line() -> Iterator[None]:
    from barnabas.client.errors import BarnabasError
    from barnabas.connect.errors import ConnectError

    try:
        yield
    except ConnectError as problem:
        raise Failure(problem.message, problem.way_out) from None
    except BarnabasError as problem:
        raise Failure(str(problem)) from None
