"""The certificates of `barnabas secure`: a client that checks strictly, as Python 3.13 does by default, takes them."""

from __future__ import annotations

import ssl
from pathlib import Path

import pytest

from barnabas.cli.secure.authority import create_authority, issue_node
from barnabas.cli.secure.files import CA_CERTIFICATE


def handshake(server: ssl.SSLContext, client: ssl.SSLContext, name: str) -> None:
    """Both ends in memory, each given what the other said until both are done."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    ends = [client.wrap_bio(to_client, to_server, server_hostname=name), server.wrap_bio(to_server, to_client, True)]
    for _ in range(10):
        for end in list(ends):
            try:
                end.do_handshake()
                ends.remove(end)
            except ssl.SSLWantReadError:
                pass
    assert not ends


@pytest.fixture
def contexts(tmp_path: Path) -> tuple[ssl.SSLContext, ssl.SSLContext]:
    create_authority(tmp_path)
    issue_node(tmp_path, "node-1", ["127.0.0.1", "node-1.example.org"], tmp_path / "node-1.pem")
    server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server.load_cert_chain(tmp_path / "node-1.pem")
    client = ssl.create_default_context(cafile=str(tmp_path / CA_CERTIFICATE))
    client.verify_flags |= ssl.VERIFY_X509_STRICT
    return server, client


@pytest.mark.parametrize("name", ["127.0.0.1", "node-1.example.org"])
def test_a_strict_client_takes_the_certificate(contexts: tuple[ssl.SSLContext, ssl.SSLContext], name: str) -> None:
    handshake(*contexts, name)


def test_another_name_is_refused(contexts: tuple[ssl.SSLContext, ssl.SSLContext]) -> None:
    with pytest.raises(ssl.SSLCertVerificationError, match="node-2"):
        handshake(*contexts, "node-2.example.org")
