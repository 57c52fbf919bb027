"""What happens to open clients when the process ends, and when it forks.

At the end of a program that did not close them, producers flush, and consumers commit what is finished and leave their
group; an Admin has nothing under way. A record that cannot be delivered by then is reported in one line on stderr, the
only one this library writes.

librdkafka works in threads, and a fork copies none: a client made before the fork would wait for ever in the child. So
the child's copies refuse every call with UsedAfterFork. Their librdkafka objects are never freed in the child, because
freeing waits for the threads too. The parent goes on with its own.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import sys
import weakref
from typing import NoReturn, Protocol

from barnabas.client.errors import BarnabasError, UsedAfterFork


class Closeable(Protocol):
    def at_exit(self) -> None: ...
    def after_fork(self, forked: ForkedHandle) -> None: ...


_open_clients: weakref.WeakSet[Closeable] = weakref.WeakSet()


def register(client: Closeable) -> None:
    """Closes `client` at exit, and disables its copy in a forked child."""
    _open_clients.add(client)


class ForkedHandle:
    """Stands where librdkafka's object was: every use raises, closing does nothing."""

    def __init__(self, made_in: int) -> None:
        self._made_in = made_in

    def error(self) -> UsedAfterFork:
        return UsedAfterFork(
            f"this client was made in process {self._made_in} and cannot be used in its fork {os.getpid()}: make a new "
            "one after the fork (gunicorn: in the post_fork hook, multiprocessing: inside the worker function)"
        )

    def refuse(self, *_: object) -> NoReturn:
        raise self.error()

    def __getattr__(self, name: str) -> NoReturn:
        raise self.error()

    def __len__(self) -> int:
        raise self.error()

    def close(self) -> None:
        """Nothing of this process is open."""

    def finish(self) -> None:
        """Nothing of this process is in hand."""


def never_free(handle: object) -> None:
    """One reference that is never given back."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(handle))


@atexit.register
def _close_all() -> None:
    for client in list(_open_clients):
        try:
            client.at_exit()
        except BarnabasError as error:
            print(f"barnabas: {error}", file=sys.stderr)
        except Exception as error:  # the end of a program is no place for a traceback
            print(f"barnabas: {type(error).__name__}: {error}", file=sys.stderr)


def _disable_in_child() -> None:
    clients = list(_open_clients)
    _open_clients.clear()
    for client in clients:
        client.after_fork(ForkedHandle(os.getppid()))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_disable_in_child)
