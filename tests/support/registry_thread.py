"""A schema registry in a thread of the test's process, for tests that need several, or quickly."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any

from barnabas.registry import server
from barnabas.registry.options import RegistryOptions

_WAIT_S = 30


@contextmanager
def serving_registry(bootstrap: str, topic: str = "_schemas", **options: Any) -> Iterator[str]:
    """Its address, for the length of a `with`."""
    ready: Future[str] = Future()
    made: list[Any] = []

    class Kept(server._Server):
        """`run` keeps the server to itself, and ends it by a signal."""

        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            made.append(self)

    def run() -> None:
        try:
            server.run(RegistryOptions(bootstrap, port=0, topic=topic, **options), ready.set_result)
        except BaseException as error:  # raised again in the thread that waits for the registry
            if not ready.done():
                ready.set_exception(error)

    original, server._Server = server._Server, Kept  # type: ignore[assignment, misc]
    thread = threading.Thread(target=run, name="registry", daemon=True)
    try:
        thread.start()
        address = ready.result(_WAIT_S)
    finally:
        server._Server = original  # type: ignore[misc]
    try:
        yield address
    finally:
        made[0].should_exit = True
        thread.join(_WAIT_S)
