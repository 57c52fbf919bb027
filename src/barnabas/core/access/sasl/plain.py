"""PLAIN (RFC 4616): user and password in one message. Users stand in the listener's JAAS line (`user_alice="..."`)."""

import hmac
from collections.abc import Mapping

from barnabas.core.access.sasl.contract import OTHER_ID, Identity, LoginRefused

_WRONG = "Authentication failed: Invalid username or password"  # Kafka's words


class PlainServer:
    def __init__(self, passwords: Mapping[str, str]) -> None:
        self._passwords = passwords

    def step(self, message: bytes) -> tuple[bytes, Identity | None]:
        try:
            parts = message.decode().split("\0")
        except UnicodeDecodeError:
            raise LoginRefused("Invalid SASL/PLAIN response: it is not UTF-8") from None
        if len(parts) != 3:
            raise LoginRefused(f"Invalid SASL/PLAIN response: expected 3 tokens, got {len(parts)}")
        authorization_id, user, password = parts
        if not user:
            raise LoginRefused("Authentication failed: username not specified")
        if not password:
            raise LoginRefused("Authentication failed: password not specified")
        expected = self._passwords.get(user)
        # An unknown user costs a comparison too, so that the time tells nothing.
        equal = hmac.compare_digest(password.encode(), (expected if expected is not None else password + "-").encode())
        if expected is None or not equal:
            raise LoginRefused(_WRONG, user)
        if authorization_id and authorization_id != user:
            raise LoginRefused(OTHER_ID)
        return b"", Identity(user)
