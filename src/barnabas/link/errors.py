"""How a request may end without an answer. After any LinkDown the connection is of no more use.

A request that ended so may or may not have been carried out; whoever asked decides whether it may be sent again.
"""


class LinkDown(ConnectionError):
    """No answer will come on this connection. `reason` says why, without the address of the node."""

    def __init__(self, reason: str, where: str = "") -> None:
        super().__init__(f"{where}: {reason}" if where else reason)
        self.reason = reason


class Unreachable(LinkDown):
    """The connection could not be opened."""


class Silent(LinkDown):
    """No answer came in time."""


class NotKafka(LinkDown):
    """What was received is not an answer of Kafka's protocol to what was asked."""


class LoginFailed(Exception):
    """The node refused the login, or could not prove who it is. Trying again does not help."""


class UnknownApi(Exception):
    """The node speaks no version of the API that we speak."""
