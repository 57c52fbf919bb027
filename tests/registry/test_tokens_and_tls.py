"""Tokens of a provider as bearer credentials, and HTTPS for clients and between instances."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from confluent_kafka.admin import AclOperation, AdminClient
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient, SchemaRegistryError

from barnabas.cli.secure import bundle
from barnabas.cli.secure.files import CA_CERTIFICATE
from tests.registry.test_secured import rule
from tests.support.members import QUIET
from tests.support.nodes_security import create_user
from tests.support.oauth_provider import Provider
from tests.support.process import free_port
from tests.support.registry import RegistryProcess
from tests.support.servers import BarnabasNode

VALIDATOR = "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"
LOGIN_MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required"
PASSWORD = "pw of the registry"


@pytest.fixture(scope="module")
def provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Provider]:
    granted = [{"requestParam": "grant_type", "match": "*", "claims": {"sub": "alice", "aud": ["kafka"]}}]
    running = Provider(tmp_path_factory.mktemp("provider"), granted)
    try:
        running.start()
        yield running
    finally:
        running.stop()


@pytest.fixture(scope="module")
def registry(provider: Provider, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryProcess]:
    """On a node that takes passwords and tokens on one listener; alice may use topic `hers`."""
    folder = tmp_path_factory.mktemp("tokens")
    ports = {"OPEN": free_port(), "PEOPLE": free_port()}
    told = "listener.name.people.oauthbearer.sasl."
    settings = {
        "listeners": ",".join(f"{name}://127.0.0.1:{port}" for name, port in ports.items()),
        "listener.security.protocol.map": "OPEN:PLAINTEXT,PEOPLE:SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "OAUTHBEARER,SCRAM-SHA-512",
        f"{told}server.callback.handler.class": VALIDATOR,
        f"{told}jaas.config": f"{LOGIN_MODULE};",
        f"{told}oauthbearer.jwks.endpoint.url": provider.url("cluster", "jwks"),
        f"{told}oauthbearer.expected.issuer": provider.url("cluster", "").rstrip("/"),
        f"{told}oauthbearer.expected.audience": "kafka",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:ANONYMOUS;User:registry",
    }
    profile = folder / "client.properties"
    profile.write_text(
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=SCRAM-SHA-512\nsasl.username=registry\n"
        f"sasl.password={PASSWORD}\n"
    )
    node = BarnabasNode(folder, settings, port=ports["OPEN"])
    serving = RegistryProcess(
        folder / "registry", f"127.0.0.1:{ports['PEOPLE']}", env={"BARNABAS_PROFILE": str(profile)}
    )
    try:
        node.start()
        create_user(node.bootstrap, "registry", PASSWORD)
        admin = AdminClient({**QUIET, "bootstrap.servers": node.bootstrap})
        for future in admin.create_acls([rule("alice", AclOperation.ALL, "hers")]).values():
            future.result(20)
        serving.start()
        yield serving
    finally:
        serving.stop()
        node.stop()


def test_a_token_of_the_provider(registry: RegistryProcess, provider: Provider) -> None:
    config = {
        "url": registry.address,
        "bearer.auth.credentials.source": "STATIC_TOKEN",
        "bearer.auth.token": provider.token(),
        "bearer.auth.logical.cluster": "lsrc-1",
        "bearer.auth.identity.pool.id": "pool-1",
        "max.retries": 0,
    }
    with SchemaRegistryClient(config) as alice:
        assert alice.register_schema("hers-value", Schema('"string"', "AVRO")) == 1
        assert alice.get_subjects() == ["hers-value"]
        with pytest.raises(SchemaRegistryError) as refused:
            alice.register_schema("others-value", Schema('"string"', "AVRO"))
        assert refused.value.http_status_code == 403
    head, body, signature = provider.token().split(".")
    forged = f"{head}.{body}.{signature[::-1]}"
    assert registry.ask("GET", "/subjects", Authorization=f"Bearer {forged}")[0] == 401
    assert registry.ask("GET", "/subjects", Authorization=f"Bearer {provider.token('other')}")[0] == 401


def test_https_and_instances_that_trust_each_other(node: BarnabasNode, tmp_path: Path) -> None:
    bundle.ensure(tmp_path / "secure", "registry", ["127.0.0.1"])
    certificate, ca = tmp_path / "secure/registry.pem", tmp_path / "secure" / CA_CERTIFICATE
    told = ["--topic", "_schemas-https", "--certificate", str(certificate), "--ca", str(ca)]
    made = [RegistryProcess(tmp_path / str(each), node.bootstrap, told) for each in range(2)]
    try:
        for each in made:
            each.start()
        for number, each in enumerate(made, 1):
            address = f"https://127.0.0.1:{each.port}"
            with SchemaRegistryClient({"url": address, "ssl.ca.location": str(ca), "max.retries": 0}) as client:
                text = f'{{"type":"record","name":"R{number}","fields":[]}}'
                assert client.register_schema(f"s{number}", Schema(text, "AVRO")) == number  # the second is handed on
                assert len(client.get_subjects()) == number
        stranger = SchemaRegistryClient({"url": address, "max.retries": 0})
        with stranger, pytest.raises(Exception, match="certificate"):
            stranger.get_subjects()
    finally:
        for each in made:
            each.stop()
