"""What every mechanism keeps to."""

from collections.abc import Awaitable, Callable
from typing import NamedTuple, Protocol

# Kafka's words.
OTHER_ID = "Authentication failed: Client requested an authorization id that is different from username"


class LoginRefused(Exception):
    """The client is not let in; the text is for the client and tells nothing that it could guess with.

    `user`: whom the client said it is, for those who count failures. `reason`: what the node's log says beside it.
    `counted`: it was counted and logged before (`RefusedByReply`).
    """

    def __init__(self, text: str, user: str | None = None, reason: str | None = None, *, counted: bool = False) -> None:
        super().__init__(text)
        self.user = user
        self.reason = reason
        self.counted = counted


class RefusedByReply(Exception):
    """The client is told by an answer of the mechanism that it is not let in, and has to send one more message."""

    def __init__(self, reply: bytes, reason: str) -> None:
        super().__init__(reason)
        self.reply = reply


class NotReady(Exception):
    """What is needed is not known yet: the same message may be tried again, once, after `ready`, or when the node has
    caught up with the metadata (None)."""

    def __init__(self, ready: Callable[[], Awaitable[None]] | None = None) -> None:
        super().__init__()
        self.ready = ready


class Identity(NamedTuple):
    user: str
    expires_ms: int | None = None  # when the credentials end (a token's); None: they do not
    by_token: bool = False  # logged in with a delegation token


class SaslServer(Protocol):
    def step(self, message: bytes) -> tuple[bytes, Identity | None]:
        """The answer to a client's message, and who it is once that is proved. Raises LoginRefused."""


def invalid_credentials(mechanism: str, user: str) -> LoginRefused:
    """Kafka's words, the same for a wrong user and a wrong password."""
    return LoginRefused(
        f"Authentication failed during authentication due to invalid credentials with SASL mechanism {mechanism}",
        user,
    )
