"""One node with every listener at once, a provider of tokens, certificates, and rules by which only the right user
gets anything done: a login that gave another principal would fail."""

from __future__ import annotations

import dataclasses
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from confluent_kafka import TopicPartition
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    NewTopic,
    OffsetSpec,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialAlteration,
    UserScramCredentialUpsertion,
)

from tests.security.matrix.ways import ANONYMOUS, MUTUAL, OAUTH, PASSWORDS, PROTOCOLS, USER, Credentials, Way, Wrong
from tests.support.certificates import Authority, Certificate
from tests.support.oauth_provider import Provider
from tests.support.process import free_port
from tests.support.servers import BarnabasNode

PLAIN_MODULE = "org.apache.kafka.common.security.plain.PlainLoginModule required"
OAUTH_MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
ADMIN, ADMIN_PASSWORD = "admin", "admin-pw"
AUDIENCE, OTHER_SCOPE = "kafka", "payments"
GRANTED = [
    {"requestParam": "scope", "match": OTHER_SCOPE, "claims": {"sub": USER, "aud": [OTHER_SCOPE]}},
    {"requestParam": "grant_type", "match": "client_credentials", "claims": {"sub": USER, "aud": [AUDIENCE]}},
]


@dataclasses.dataclass(frozen=True)
class Stage:
    node: BarnabasNode
    ports: dict[str, int]
    authority: Authority
    certificates: dict[str, Certificate]
    provider: Provider
    admin: AdminClient  # of a super user

    def address(self, listener: str) -> str:
        return f"127.0.0.1:{self.ports[listener]}"

    def right(self, way: Way, folder: Path) -> Credentials:
        oauth = way.mechanism == OAUTH
        return Credentials(
            bootstrap=self.address(way.listener),
            protocol=way.protocol,
            mechanism=way.mechanism,
            user="job" if oauth else USER,
            password="secret" if oauth else PASSWORDS.get(way.mechanism or "", ""),
            ca=self.authority.file if way.protocol.endswith("SSL") else None,
            certificate=self.certificates["alice"] if way.mutual else None,
            token_url=self.provider.url("cluster"),
            scope="",
            folder=folder,
        )

    def wrong(self, wrong: Wrong, folder: Path) -> Credentials:
        right = self.right(wrong.way, folder)
        match wrong.what:
            case "wrong password":
                return dataclasses.replace(right, password="a wrong one")
            case "unknown user":
                return dataclasses.replace(right, user="nobody")
            case "expired certificate" | "foreign certificate":
                return dataclasses.replace(right, certificate=self.certificates[wrong.what.split()[0]])
            case "no certificate":
                return dataclasses.replace(right, certificate=None)
        return dataclasses.replace(right, scope=OTHER_SCOPE)

    def make_topic(self, way: Way) -> str:
        """One that only the right user of that way may use."""
        name = f"{way.user}-{uuid.uuid4().hex[:8]}"
        self.admin.create_topics([NewTopic(name, 1, 1)])[name].result(30)
        return name

    def topics(self) -> set[str]:
        return set(self.admin.list_topics(timeout=30).topics)

    def end_of(self, topic: str) -> int:
        asked = TopicPartition(topic, 0)
        return int(self.admin.list_offsets({asked: OffsetSpec.latest()})[asked].result(30).offset)


@contextmanager
def stage(folder: Path) -> Iterator[Stage]:
    authority, other = Authority(folder), Authority(folder, "other-ca")
    certificates = {
        "alice": authority.issue("alice"),
        "expired": authority.issue("expired", days=-1),
        "foreign": other.issue("mallory"),
    }
    ports: dict[str, int] = {}
    while len(set(ports.values())) < len(PROTOCOLS):
        ports = {name: free_port() for name in PROTOCOLS}
    provider = Provider(folder, GRANTED)
    settings = _settings(ports, authority.file, authority.issue("node-1", "nodes"), provider)
    node = BarnabasNode(folder / "node", settings, port=ports["OPEN"])
    super_user: dict[str, str | int | float | bool] = {
        "bootstrap.servers": f"127.0.0.1:{ports['LOGIN']}",
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.username": ADMIN,
        "sasl.password": ADMIN_PASSWORD,
        "log_level": 0,  # it outlives the node
    }
    try:
        provider.start()
        node.start()
        admin = AdminClient(super_user)
        _prepare(admin)
        yield Stage(node, ports, authority, certificates, provider, admin)
    finally:
        node.stop()
        provider.stop()


def _settings(ports: dict[str, int], trusted: Path, server: Certificate, provider: Provider) -> dict[str, str]:
    users = f'{PLAIN_MODULE} user_{USER}="{PASSWORDS["PLAIN"]}" user_{ADMIN}="{ADMIN_PASSWORD}";'
    settings = {
        "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items()),
        "listener.security.protocol.map": ",".join(f"{name}:{protocol}" for name, protocol in PROTOCOLS.items()),
        "ssl.keystore.location": str(server.pem),
        "ssl.truststore.location": str(trusted),
        "ssl.principal.mapping.rules": "RULE:^CN=([^,]+),?.*$/$1/,DEFAULT",
        "sasl.enabled.mechanisms": ",".join((*PASSWORDS, OAUTH)),
        "sasl.oauthbearer.expected.audience": AUDIENCE,
        "sasl.oauthbearer.expected.issuer": f"http://127.0.0.1:{provider.port}/cluster",
        "sasl.oauthbearer.jwks.endpoint.url": provider.url("cluster", "jwks"),
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": f"User:{ADMIN}",
        "auto.create.topics.enable": "false",
        "group.initial.rebalance.delay.ms": "0",
        "connection.failed.authentication.delay.ms": "0",  # it would double for whoever goes on failing, as these do
    }
    for name, protocol in PROTOCOLS.items():
        prefix = f"listener.name.{name.lower()}."
        if name in MUTUAL:
            settings[f"{prefix}ssl.client.auth"] = "required"
        if protocol.startswith("SASL"):
            settings[f"{prefix}plain.sasl.jaas.config"] = users
            settings[f"{prefix}oauthbearer.sasl.jaas.config"] = f"{OAUTH_MODULE};"
    return settings


def _prepare(admin: AdminClient) -> None:
    """SCRAM's users, and rules: alice has what begins with `alice-`, whoever comes without a login `ANONYMOUS-`."""
    scram: list[UserScramCredentialAlteration] = [
        UserScramCredentialUpsertion(
            USER, ScramCredentialInfo(getattr(ScramMechanism, name.replace("-", "_")), 4096), password.encode()
        )
        for name, password in PASSWORDS.items()
        if name != "PLAIN"
    ]
    kinds = (ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID)
    rules = [
        AclBinding(
            kind,
            f"{user}-",
            ResourcePatternType.PREFIXED,
            f"User:{user}",
            "*",
            AclOperation.ALL,
            AclPermissionType.ALLOW,
        )
        for user in (USER, ANONYMOUS)
        for kind in kinds
    ]
    for future in (*admin.alter_user_scram_credentials(scram).values(), *admin.create_acls(rules).values()):
        future.result(20)
