"""What strangers may send before a login or a handshake: closed cleanly, and a good client beside them is unhurt."""

import os
import socket
import ssl
import struct
import time
import warnings

import pytest

from barnabas.link.blocking_driver import BlockingLink, LinkOptions
from barnabas.link.errors import LinkDown, LoginFailed
from barnabas.link.sasl import Credentials
from barnabas.wire.apis import API_VERSIONS, METADATA, SASL_AUTHENTICATE, SASL_HANDSHAKE, SERVED
from barnabas.wire.codec import encode_request
from barnabas.wire.headers import request_header
from tests.security.conftest import PASSWORDS, USER, SecuredNode

HALF_OPEN = 300


def framed(api_key: int, version: int, body: bytes) -> bytes:
    header = request_header(api_key, version, 1, "stranger")
    return struct.pack(">i", len(header) + len(body)) + header + body


def is_closed(connection: socket.socket, seconds: float = 10) -> bool:
    """Without a byte of an answer."""
    connection.settimeout(seconds)
    try:
        return connection.recv(1) == b""
    except ConnectionResetError:
        return True


def logged_in(secured: SecuredNode, listener: str = "LOGIN", mechanism: str = "SCRAM-SHA-512") -> BlockingLink:
    context = ssl.create_default_context(cafile=str(secured.authority.file)) if listener == "SECURE" else None
    credentials = Credentials(mechanism, USER, PASSWORDS[mechanism])
    options = LinkOptions("good", tls=context, credentials=credentials)
    return BlockingLink("127.0.0.1", secured.ports[listener], options)


@pytest.mark.parametrize("api_key", sorted(set(SERVED) - {API_VERSIONS, SASL_HANDSHAKE}))
def test_no_other_request_is_served(secured: SecuredNode, api_key: int) -> None:
    for version in (SERVED[api_key].min_version, SERVED[api_key].max_version):
        with socket.create_connection(("127.0.0.1", secured.ports["LOGIN"]), 5) as stranger:
            stranger.sendall(framed(api_key, version, b"\0" * 64))
            assert is_closed(stranger)


def test_messages_and_requests_before_a_login_are_small(secured: SecuredNode) -> None:
    with socket.create_connection(("127.0.0.1", secured.ports["LOGIN"]), 5) as stranger:
        stranger.sendall(struct.pack(">i", 600 * 1024))
        assert is_closed(stranger)


def test_a_login_cannot_be_left_out(secured: SecuredNode) -> None:
    """SaslHandshake, then a request instead of SaslAuthenticate."""
    with socket.create_connection(("127.0.0.1", secured.ports["LOGIN"]), 5) as stranger:
        body = encode_request(SASL_HANDSHAKE, 1, {"mechanism": "PLAIN"})
        stranger.sendall(framed(SASL_HANDSHAKE, 1, body))
        assert stranger.recv(4096)
        stranger.sendall(framed(METADATA, 1, b"\0\0\0\0"))
        assert is_closed(stranger)


@pytest.mark.parametrize(("api_key", "body"), [(API_VERSIONS, {}), (SASL_HANDSHAKE, {"mechanism": "PLAIN"})])
def test_what_comes_before_a_login_does_not_come_during_one(
    secured: SecuredNode, api_key: int, body: dict[str, str]
) -> None:
    """As Kafka's SaslApiVersionsRequestTest asks."""
    link = BlockingLink("127.0.0.1", secured.ports["LOGIN"], LinkOptions("stranger"))
    assert link.call(SASL_HANDSHAKE, 1, {"mechanism": "PLAIN"}).error_code == 0
    assert link.call(api_key, 1, body).error_code == 34
    with pytest.raises(LinkDown):
        link.call(SASL_AUTHENTICATE, 1, {"auth_bytes": b"\0alice\0" + PASSWORDS["PLAIN"].encode()})


def test_a_mechanism_that_is_not_offered(secured: SecuredNode) -> None:
    link = BlockingLink("127.0.0.1", secured.ports["LOGIN"], LinkOptions("stranger"))
    answer = link.call(SASL_HANDSHAKE, 1, {"mechanism": "GSSAPI"})
    assert (answer.error_code, answer.mechanisms) == (33, list(PASSWORDS))
    with pytest.raises(LinkDown):
        link.call(SASL_HANDSHAKE, 1, {"mechanism": "PLAIN"})


@pytest.mark.parametrize("listener", ["OPEN", "TLS"])
def test_a_listener_without_logins_says_so(secured: SecuredNode, listener: str) -> None:
    context = ssl.create_default_context(cafile=str(secured.authority.file)) if listener == "TLS" else None
    link = BlockingLink("127.0.0.1", secured.ports[listener], LinkOptions("stranger", tls=context))
    assert link.call(SASL_HANDSHAKE, 1, {"mechanism": "PLAIN"}).error_code == 34
    assert link.call(SASL_AUTHENTICATE, 2, {"auth_bytes": b""}).error_code == 34
    link.close()


def test_a_failed_login_is_answered_late_and_closed(secured: SecuredNode) -> None:
    with socket.create_connection(("127.0.0.1", secured.ports["LOGIN"]), 5) as stranger:
        stranger.sendall(framed(SASL_HANDSHAKE, 1, encode_request(SASL_HANDSHAKE, 1, {"mechanism": "PLAIN"})))
        stranger.recv(4096)
        begun = time.monotonic()
        wrong = encode_request(SASL_AUTHENTICATE, 1, {"auth_bytes": b"\0alice\0wrong"})
        stranger.sendall(framed(SASL_AUTHENTICATE, 1, wrong))
        stranger.settimeout(20)
        assert b"Authentication failed" in stranger.recv(4096)
        assert time.monotonic() - begun >= 0.002
        assert is_closed(stranger)


def test_the_handshake_of_old_clients_is_served(secured: SecuredNode) -> None:
    """SaslHandshake 0: the mechanism's messages follow bare."""
    with socket.create_connection(("127.0.0.1", secured.ports["LOGIN"]), 5) as old:
        old.sendall(framed(SASL_HANDSHAKE, 0, encode_request(SASL_HANDSHAKE, 0, {"mechanism": "PLAIN"})))
        old.recv(4096)
        message = f"\0{USER}\0{PASSWORDS['PLAIN']}".encode()
        old.sendall(struct.pack(">i", len(message)) + message)
        assert old.recv(4) == b"\0\0\0\0"
        old.sendall(framed(METADATA, 1, b"\0\0\0\0"))
        assert old.recv(4096)


def test_half_open_handshakes_harm_nobody(secured: SecuredNode) -> None:
    strangers = [socket.create_connection(("127.0.0.1", secured.ports["SECURE"]), 5) for _ in range(HALF_OPEN)]
    try:
        for number, stranger in enumerate(strangers):
            if number % 3 == 1:
                stranger.sendall(b"\x16\x03\x01\x02\x00\x01")  # half a TLS record
            elif number % 3 == 2:
                stranger.sendall(os.urandom(200))
        link = logged_in(secured, "SECURE")
        assert link.ask(METADATA, {"topics": []}).brokers
        link.close()
    finally:
        for stranger in strangers:
            stranger.close()


def test_old_versions_of_tls_are_refused(secured: SecuredNode) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(str(secured.authority.file))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        context.minimum_version = ssl.TLSVersion.TLSv1
        context.maximum_version = ssl.TLSVersion.TLSv1_1
    context.set_ciphers("ALL:@SECLEVEL=0")
    with (
        socket.create_connection(("127.0.0.1", secured.ports["TLS"]), 5) as plain,
        pytest.raises((ssl.SSLError, OSError)),
    ):
        context.wrap_socket(plain, server_hostname="127.0.0.1")


def test_logging_in_again_on_the_same_connection(secured: SecuredNode) -> None:
    """KIP-368: as the same user only."""
    link = logged_in(secured, "SECURE")
    assert link.call(SASL_HANDSHAKE, 1, {"mechanism": "PLAIN"}).error_code == 33  # another mechanism
    link.close()
    link = logged_in(secured, "SECURE", "PLAIN")
    assert link.call(SASL_HANDSHAKE, 1, {"mechanism": "PLAIN"}).error_code == 0
    again = link.call(SASL_AUTHENTICATE, 1, {"auth_bytes": f"\0{USER}\0{PASSWORDS['PLAIN']}".encode()})
    assert (again.error_code, again.session_lifetime_ms) == (0, 3_600_000)
    assert link.ask(METADATA, {"topics": []}).brokers
    link.close()


@pytest.mark.parametrize("mechanism", PASSWORDS)
def test_secrets_are_not_in_the_log(secured: SecuredNode, mechanism: str) -> None:
    wrong = Credentials(mechanism, USER, "a-wrong-secret")
    with pytest.raises((LoginFailed, LinkDown)):
        BlockingLink("127.0.0.1", secured.ports["LOGIN"], LinkOptions("x", credentials=wrong))
    log = secured.node.log_path.read_text()
    assert "login of " in log  # of an address one line in a while: an earlier test's may stand for this one
    assert not any(secret in log for secret in ("a-wrong-secret", *PASSWORDS.values()))
