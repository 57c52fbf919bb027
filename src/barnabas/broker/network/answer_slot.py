"""The place of one answer in the order of answers of a connection."""

import asyncio
from collections.abc import Sequence

from barnabas.broker.network.writer import Piece

Reply = bytes | Sequence[Piece] | None
"""The bytes of a whole answer, or its pieces; None for a request that has no answer (acks=0)."""


class Slot:
    __slots__ = ("future", "ready", "reply")

    def __init__(self) -> None:
        self.ready = False
        self.future: asyncio.Future[Reply] | None = None
        self.reply: Reply = None
