"""How the nodes of a test's cluster prove to each other who they are: by certificates, as `up --secure` sets it up, or
by passwords. The test's own questions go to a second listener, which is open: whoever comes there may do everything."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)

from barnabas.cli.secure import bundle
from barnabas.cli.secure.files import CA_CERTIFICATE
from tests.support.members import QUIET

PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
USER, PASSWORD = "alice", "a-password-of-a-test"


class NodesSecurity(NamedTuple):
    protocol: str  # of the listener NODES
    folder: Path  # of certificates
    settings: dict[str, str]

    def of_node(self, number: int) -> dict[str, str]:
        if self.protocol != "SASL_SSL":
            return self.settings
        bundle.ensure(self.folder, f"node-{number}", ["127.0.0.1"])
        told = bundle.settings(self.folder, f"node-{number}") | self.settings
        told.pop("listener.security.protocol.map")
        return told | {"super.users": f"{told['super.users']};User:ANONYMOUS"}

    def client(self, bootstrap: str) -> dict[str, str]:
        """librdkafka's settings for the listener NODES; `create_user` has to come first."""
        return {
            "bootstrap.servers": bootstrap,
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": "SCRAM-SHA-512",
            "sasl.username": USER,
            "sasl.password": PASSWORD,
            "ssl.ca.location": str(self.folder / CA_CERTIFICATE),
        }


def by_certificate(folder: Path) -> NodesSecurity:
    return NodesSecurity("SASL_SSL", folder, {})


def by_password(folder: Path, reauth_ms: int = 0) -> NodesSecurity:
    jaas = f'{PLAIN_MODULE} username="nodes" password="{PASSWORD}" user_nodes="{PASSWORD}";'
    return NodesSecurity(
        "SASL_PLAINTEXT",
        folder,
        {
            "sasl.enabled.mechanisms": "PLAIN",
            "sasl.mechanism.inter.broker.protocol": "PLAIN",
            "listener.name.nodes.plain.sasl.jaas.config": jaas,
            "connections.max.reauth.ms": str(reauth_ms),
        },
    )


def create_user(open_bootstrap: str, user: str = USER, password: str = PASSWORD) -> None:
    """By the open listener."""
    admin = AdminClient({**QUIET, "bootstrap.servers": open_bootstrap})
    info = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
    made = UserScramCredentialUpsertion(user, info, password.encode())
    for future in admin.alter_user_scram_credentials([made]).values():
        future.result(20)


def allow(open_bootstrap: str, topic: str, user: str = USER) -> None:
    """Everything about the topic and about all groups."""
    admin = AdminClient({**QUIET, "bootstrap.servers": open_bootstrap})
    rules = [
        AclBinding(kind, name, pattern, f"User:{user}", "*", AclOperation.ALL, AclPermissionType.ALLOW)
        for kind, name, pattern in (
            (ResourceType.TOPIC, topic, ResourcePatternType.LITERAL),
            (ResourceType.GROUP, "*", ResourcePatternType.LITERAL),
        )
    ]
    for future in admin.create_acls(rules).values():
        future.result(20)
