"""What each client says when it is refused: what the node told it, where the client passes that on."""

from __future__ import annotations

from tests.security.matrix.ways import WRONG_LOGINS, WRONG_TOKEN, Wrong

_CERTIFICATES = {  # the alert of TLS, as the libraries spell it
    "expired certificate": r"(?i)certificate.expired|expired certificate",
    "foreign certificate": r"(?i)unknown.ca|unknown certificate authority",
    "no certificate": r"(?i)certificate.required",
}
_BAD_TOKEN = r'\{"status":"invalid_token"\}'

# Clients that do not pass on what they were told.
_WORDLESS = {
    # asyncio drops an alert that comes after the client's part of the handshake, and aiokafka does not look into the
    # answer to a token.
    "aiokafka": {**dict.fromkeys(_CERTIFICATES, r"Connection at .* closed"), WRONG_TOKEN: r"Connection at .* closed"},
    # It finds the end of the connection before it looks at the answer that came with it.
    "kafka-python": dict.fromkeys(
        (*WRONG_LOGINS, WRONG_TOKEN), r"SaslAuthenticationFailed|Bootstrap connection to .* failed: .*disconnected"
    ),
    "franz-go": {WRONG_TOKEN: r"unexpected data in oauth response"},
    "kafkajs": {WRONG_TOKEN: r"Closed connection"},
}


def said_for(client: str, wrong: Wrong) -> str:
    """A regular expression."""
    if (words := _WORDLESS.get(client, {}).get(wrong.what)) is not None:
        return words
    if wrong.what in _CERTIFICATES:
        return _CERTIFICATES[wrong.what]
    if wrong.what == WRONG_TOKEN:
        return _BAD_TOKEN
    return r"Invalid username or password" if wrong.way.mechanism == "PLAIN" else r"due to invalid credentials"
