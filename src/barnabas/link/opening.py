"""What is said on a connection before its first request, without I/O: which versions the node speaks, and a login.

Each is a conversation: a generator that gives the next request and is sent the decoded answer. A driver runs it to its
end before anybody else may ask on the connection. The transport comes first: where there is TLS, the driver has it done
before the conversation begins.

ApiVersions is asked in version 0, which every node answers. The handshake is SaslHandshake 1, so that the messages of
the mechanism travel in SaslAuthenticate (KIP-152) and a refusal has a code and a text.
"""

from collections.abc import Generator, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from barnabas.link.codes import name_of
from barnabas.link.errors import LoginFailed, NotKafka
from barnabas.link.sasl import Credentials, messages
from barnabas.link.versions import NodeVersions
from barnabas.wire.apis import API_VERSIONS, SASL_AUTHENTICATE, SASL_HANDSHAKE
from barnabas.wire.codec import Decoded

if TYPE_CHECKING:
    from barnabas.wire.messages import ApiVersionsResponse, SaslAuthenticateResponse, SaslHandshakeResponse

Result = TypeVar("Result")


class Ask(NamedTuple):
    api_key: int
    version: int
    body: Mapping[str, object]


Conversation = Generator[Ask, Decoded, Result]  # what it is sent is of the class that it declares


def ask_versions() -> Conversation[NodeVersions]:
    answer: ApiVersionsResponse = yield Ask(API_VERSIONS, 0, {})
    if answer.error_code:
        raise NotKafka(f"the node refused ApiVersions 0: {name_of(answer.error_code)}")
    return NodeVersions({each.api_key: (each.min_version, each.max_version) for each in answer.api_keys})


def log_in(credentials: Credentials, nonce: str) -> Conversation[int]:
    """`nonce`: fresh randomness for each login. Gives for how many milliseconds it counts, 0 where it does not end."""
    offered: SaslHandshakeResponse = yield Ask(SASL_HANDSHAKE, 1, {"mechanism": credentials.mechanism})
    if offered.error_code:
        known = ", ".join(offered.mechanisms) or "none"
        raise LoginFailed(f"it does not know the login {credentials.mechanism}, only {known}")
    speaking = messages(credentials, nonce)
    message = next(speaking)
    while True:
        answer: SaslAuthenticateResponse = yield Ask(SASL_AUTHENTICATE, 1, {"auth_bytes": message})
        if answer.error_code:
            raise LoginFailed(f"the login failed: {answer.error_message or 'wrong user or password'}")
        try:
            message = speaking.send(bytes(answer.auth_bytes))
        except StopIteration:
            return answer.session_lifetime_ms


def log_in_again_after_ms(lifetime_ms: int) -> float:
    """When the next login begins on the same connection (KIP-368): early enough for its messages, which may have to
    wait behind the answers of long polls, to arrive before the node closes the connection."""
    return max(lifetime_ms * 0.5, min(lifetime_ms * 0.85, lifetime_ms - 5_000))
