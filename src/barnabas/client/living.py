"""A program that ends without closing its producers and consumers still loses nothing that it could keep.

Producers flush, consumers record what is finished and leave their group. A record that cannot be delivered by then is
not lost in silence: one line on stderr says so, the only one that this library ever writes there.
"""

from __future__ import annotations

import atexit
import sys
import weakref
from typing import Protocol

from barnabas.client.errors import BarnabasError


class Closeable(Protocol):
    def at_exit(self) -> None: ...


_living: weakref.WeakSet[Closeable] = weakref.WeakSet()


def close_at_exit(client: Closeable) -> None:
    _living.add(client)


@atexit.register
def _close_all() -> None:
    for client in list(_living):
        try:
            client.at_exit()
        except BarnabasError as error:
            print(f"barnabas: {error}", file=sys.stderr)
        except Exception as error:  # the end of a program is no place for a traceback
            print(f"barnabas: {type(error).__name__}: {error}", file=sys.stderr)
