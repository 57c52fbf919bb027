"""The server's side of SASL against the client's side of link/, and against what a hostile client might send."""

import base64
import hmac

import pytest

from barnabas.core.access.credentials import ScramCredential
from barnabas.core.access.sasl.contract import Identity, LoginRefused
from barnabas.core.access.sasl.external import ExternalServer
from barnabas.core.access.sasl.plain import PlainServer
from barnabas.core.access.sasl.scram import SCRAM, ScramServer, credential, salted_password
from barnabas.link.errors import LoginFailed
from barnabas.link.sasl import Credentials, messages

SALT, SECRET = b"a salt of 18 bytes", b"s" * 32


def kept(mechanism: str, password: str, iterations: int = 4096) -> ScramCredential:
    scram = SCRAM[mechanism]
    return credential(scram, SALT, salted_password(scram, password, SALT, iterations), iterations)


def scram_server(mechanism: str, users: dict[str, ScramCredential], nonce: str = "server") -> ScramServer:
    return ScramServer(SCRAM[mechanism], users.get, nonce, lambda: SECRET)


def log_in(server: ScramServer, mechanism: str, user: str, password: str) -> Identity:
    client = messages(Credentials(mechanism, user, password), "client")
    message = next(client)
    while True:
        reply, identity = server.step(message)
        try:
            message = client.send(reply)
        except StopIteration:
            assert identity is not None
            return identity


@pytest.mark.parametrize("mechanism", SCRAM)
@pytest.mark.parametrize("user", ["alice", "o=k,u", "ünicode"])
def test_scram(mechanism: str, user: str) -> None:
    server = scram_server(mechanism, {user: kept(mechanism, "secret")})
    assert log_in(server, mechanism, user, "secret") == Identity(user)


@pytest.mark.parametrize("mechanism", SCRAM)
def test_a_wrong_password_and_an_unknown_user_look_alike(mechanism: str) -> None:
    users = {"alice": kept(mechanism, "secret")}
    texts = set()
    for user in ("alice", "nobody"):
        with pytest.raises(LoginRefused) as refused:
            log_in(scram_server(mechanism, users), mechanism, user, "guess")
        texts.add(str(refused.value))
        assert refused.value.user == user
    assert len(texts) == 1


def test_the_salt_of_an_unknown_user_is_always_the_same() -> None:
    answers = {scram_server("SCRAM-SHA-256", {}).step(b"n,,n=nobody,r=abc")[0] for _ in range(3)}
    assert len(answers) == 1
    assert scram_server("SCRAM-SHA-256", {}).step(b"n,,n=other,r=abc")[0] not in answers


def test_the_nonce_of_the_last_message_is_checked() -> None:
    server = scram_server("SCRAM-SHA-256", {"alice": kept("SCRAM-SHA-256", "secret")})
    client = messages(Credentials("SCRAM-SHA-256", "alice", "secret"), "client")
    first, _ = server.step(next(client))
    last = client.send(first)
    with pytest.raises(LoginRefused, match="nonce"):
        server.step(last.replace(b"r=clientserver", b"r=clientothers"))


def test_the_nonce_as_old_librdkafka_sends_it() -> None:
    """Before 2.6.1: its own part twice, signed as it was sent."""
    scram = SCRAM["SCRAM-SHA-256"]
    found = kept("SCRAM-SHA-256", "secret")
    server = scram_server("SCRAM-SHA-256", {"alice": found})
    first = server.step(b"n,,n=alice,r=client")[0].decode()
    unsigned = "c=biws,r=clientclientserver"
    salted = salted_password(scram, "secret", SALT, 4096)
    key = hmac.digest(salted, b"Client Key", "sha256")
    signature = hmac.digest(found.stored_key, f"n=alice,r=client,{first},{unsigned}".encode(), "sha256")
    proof = base64.b64encode(bytes(a ^ b for a, b in zip(key, signature, strict=True))).decode()
    assert server.step(f"{unsigned},p={proof}".encode())[1] == Identity("alice")


def test_channel_binding_is_checked() -> None:
    server = scram_server("SCRAM-SHA-256", {"alice": kept("SCRAM-SHA-256", "secret")})
    client = messages(Credentials("SCRAM-SHA-256", "alice", "secret"), "client")
    last = client.send(server.step(next(client))[0])
    with pytest.raises(LoginRefused):
        server.step(last.replace(b"c=biws", b"c=eSws"))


def test_a_server_without_the_password_is_refused_by_the_client() -> None:
    right, wrong = kept("SCRAM-SHA-256", "secret"), kept("SCRAM-SHA-256", "other")
    forged = right._replace(server_key=wrong.server_key)
    with pytest.raises(LoginFailed):
        log_in(scram_server("SCRAM-SHA-256", {"alice": forged}), "SCRAM-SHA-256", "alice", "secret")


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"n",
        b"y,,n=a,r=b",
        b"p=tls-unique,,n=a,r=b",
        b"n,,n=,r=b",
        b"n,,n=a",
        b"n,,n=a=b,r=c",
        b"\xff",
        b"n,a=x,n=a,r=b",
    ],
)
def test_first_messages_that_are_none(message: bytes) -> None:
    with pytest.raises(LoginRefused):
        scram_server("SCRAM-SHA-512", {}).step(message)


@pytest.mark.parametrize(
    "message", [b"", b"c=biws,r=abcserver", b"c=biws,r=abcserver,p=", b"c=biws,r=abcserver,p=AAAA", b"\xff"]
)
def test_last_messages_that_are_none(message: bytes) -> None:
    server = scram_server("SCRAM-SHA-512", {"a": kept("SCRAM-SHA-512", "x")})
    server.step(b"n,,n=a,r=abc")
    with pytest.raises(LoginRefused):
        server.step(message)


def test_plain() -> None:
    server = PlainServer({"alice": "secret"})
    assert server.step(b"\0alice\0secret") == (b"", Identity("alice"))
    assert server.step(b"alice\0alice\0secret") == (b"", Identity("alice"))


@pytest.mark.parametrize(
    "message",
    [
        b"\0alice\0wrong",
        b"\0bob\0secret",
        b"\0\0secret",
        b"\0alice\0",
        b"bob\0alice\0secret",
        b"alice",
        b"\xff\0a\0b",
        b"a\0b\0c\0d",
    ],
)
def test_plain_refuses(message: bytes) -> None:
    with pytest.raises(LoginRefused):
        PlainServer({"alice": "secret"}).step(message)


def test_external_needs_a_certificate() -> None:
    assert ExternalServer("node").step(b"") == (b"", Identity("node"))
    assert ExternalServer("node").step(b"node") == (b"", Identity("node"))
    for certified, message in ((None, b""), ("node", b"admin"), ("node", b"\xff")):
        with pytest.raises(LoginRefused):
            ExternalServer(certified).step(message)


def test_secrets_do_not_show() -> None:
    shown = repr(kept("SCRAM-SHA-256", "secret"))
    assert "key" not in shown and "salt" not in shown
