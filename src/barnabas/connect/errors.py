"""What a connector can say went wrong. The kind decides what the runtime does about it."""

from __future__ import annotations


class ConnectError(Exception):
    """One line for a person: what happened, and the way out."""

    def __init__(self, message: str, way_out: str = "") -> None:
        super().__init__(message if not way_out else f"{message}. {way_out}")
        self.message = message
        self.way_out = way_out


class BadOption(ConnectError):
    """The definition cannot work as it is written. The connector does not start until it is changed."""


class Unavailable(ConnectError):
    """The other system cannot be reached, is busy, full or refuses the login. Tried again with growing pauses, for
    ever: what is wrong there may be mended without anybody telling us."""


class Refused(ConnectError):
    """The other system refuses what it was sent, and would refuse it again. `records` says which, by their place in
    the batch; empty: it does not say, and the runtime finds out by sending them one by one."""

    def __init__(self, message: str, records: tuple[int, ...] = ()) -> None:
        super().__init__(message)
        self.records = records
