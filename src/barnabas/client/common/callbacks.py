"""The program's own functions, called from inside librdkafka's.

What they raise travels through C code that puts it up again only when it is a finished exception object; one that
Python has raised from C (`None < 3`, a missing key) is not until somebody caught it. So it is caught here, and raised
again.
"""

from __future__ import annotations

from collections.abc import Callable


def call(callback: Callable[..., object], *arguments: object) -> None:
    try:
        callback(*arguments)
    except BaseException as error:
        raise error
