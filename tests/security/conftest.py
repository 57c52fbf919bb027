"""One node with a listener of each kind, users of each mechanism, and certificates."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from confluent_kafka.admin import (
    AdminClient,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialUpsertion,
)

from tests.support.certificates import Authority, Certificate
from tests.support.process import free_port
from tests.support.servers import BarnabasNode

PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
PROTOCOLS = {"OPEN": "PLAINTEXT", "TLS": "SSL", "LOGIN": "SASL_PLAINTEXT", "SECURE": "SASL_SSL"}
PASSWORDS = {"PLAIN": "plain-pw", "SCRAM-SHA-256": "scram-256-pw", "SCRAM-SHA-512": "scram-512-pw"}
USER = "alice"


@dataclass(frozen=True)
class SecuredNode:
    node: BarnabasNode
    ports: dict[str, int]  # by listener
    authority: Authority
    alice: Certificate
    foreign: Certificate  # of another authority
    expired: Certificate

    def address(self, listener: str) -> str:
        return f"127.0.0.1:{self.ports[listener]}"

    def client(self, listener: str, mechanism: str | None = None, **more: str) -> dict[str, str | int]:
        """The settings of librdkafka for that listener."""
        protocol = PROTOCOLS[listener]
        found: dict[str, str | int] = {"bootstrap.servers": self.address(listener), "security.protocol": protocol}
        if protocol in ("SSL", "SASL_SSL"):
            found["ssl.ca.location"] = str(self.authority.file)
        if mechanism is not None:
            found |= {"sasl.mechanism": mechanism, "sasl.username": USER, "sasl.password": PASSWORDS[mechanism]}
        return found | more


@pytest.fixture(scope="session")
def secured(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SecuredNode]:
    folder = tmp_path_factory.mktemp("secured")
    authority, other = Authority(folder), Authority(folder, "other-ca")
    server = authority.issue("node-1", "nodes")
    ports = {name: free_port() for name in PROTOCOLS}
    node = BarnabasNode(folder / "node", settings(ports, authority.file, server), port=ports["OPEN"])
    alice, expired = authority.issue("alice"), authority.issue("expired", days=-1)
    node.start()
    try:
        admin = AdminClient({"bootstrap.servers": f"127.0.0.1:{ports['OPEN']}"})
        made: list[UserScramCredentialAlteration] = [
            UserScramCredentialUpsertion(
                USER, ScramCredentialInfo(getattr(ScramMechanism, name.replace("-", "_")), 4096), password.encode()
            )
            for name, password in PASSWORDS.items()
            if name != "PLAIN"
        ]
        for future in admin.alter_user_scram_credentials(made).values():
            future.result(20)
        yield SecuredNode(node, ports, authority, alice, other.issue("mallory"), expired)
    finally:
        node.stop()


def settings(ports: dict[str, int], trusted: Path, server: Certificate) -> dict[str, str]:
    return {
        "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items()),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in PROTOCOLS.items()),
        "ssl.keystore.location": str(server.pem),
        "ssl.truststore.location": str(trusted),
        "listener.name.tls.ssl.client.auth": "requested",
        "ssl.principal.mapping.rules": "RULE:^CN=([^,]+),?.*$/$1/,DEFAULT",
        "sasl.enabled.mechanisms": ",".join(PASSWORDS),
        "listener.name.login.plain.sasl.jaas.config": f'{PLAIN_MODULE} user_{USER}="{PASSWORDS["PLAIN"]}";',
        "listener.name.secure.plain.sasl.jaas.config": f'{PLAIN_MODULE} user_{USER}="{PASSWORDS["PLAIN"]}";',
        "listener.name.secure.connections.max.reauth.ms": "3600000",
        "connection.failed.authentication.delay.ms": "2",  # doubled for whoever goes on failing, as these tests do
    }
