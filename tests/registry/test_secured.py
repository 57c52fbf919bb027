"""A secured cluster: its users sign in here with what they have there, and may here what its rules say."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka.admin import (
    AclBinding,
    AclOperation,
    AclPermissionType,
    AdminClient,
    ResourcePatternType,
    ResourceType,
)
from confluent_kafka.schema_registry import Schema, SchemaRegistryClient, SchemaRegistryError

from barnabas.cli.secure.files import CA_CERTIFICATE
from tests.conftest import FAST_GROUPS
from tests.support.cluster import BarnabasCluster
from tests.support.members import QUIET, until
from tests.support.nodes_security import by_certificate, create_user
from tests.support.registry import RegistryProcess

PASSWORDS = {each: f"pw of {each}" for each in ("registry", "reader", "writer", "owner", "nobody", "admin")}
ORDER = '{"type":"record","name":"Order","fields":[{"name":"id","type":"long"}]}'


def rule(user: str, operation: AclOperation, topic: str | None, kind: ResourceType = ResourceType.TOPIC) -> AclBinding:
    name, kind = ("kafka-cluster", ResourceType.BROKER) if topic is None else (topic, kind)
    return AclBinding(kind, name, ResourcePatternType.LITERAL, f"User:{user}", "*", operation, AclPermissionType.ALLOW)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasCluster]:
    folder = tmp_path_factory.mktemp("secured")
    security = by_certificate(folder / "secure")
    settings = {**FAST_GROUPS, "connection.failed.authentication.delay.ms": "2"}
    running = BarnabasCluster(folder, 1, settings, security=security)
    try:
        running.start()
        for user, password in PASSWORDS.items():
            create_user(running.bootstrap, user, password)
        every = AclOperation.ALL
        rules = [
            rule("registry", every, "_schemas"),
            rule("registry", every, "barnabas-registry-_schemas", ResourceType.TRANSACTIONAL_ID),
            *(rule("registry", each, None) for each in (AclOperation.DESCRIBE, AclOperation.DESCRIBE_CONFIGS)),
            rule("registry", AclOperation.CREATE, None),
            rule("reader", AclOperation.READ, "orders"),
            rule("writer", AclOperation.WRITE, "orders"),
            rule("owner", every, "orders"),
            rule("owner", every, "com.example.Event"),
            rule("admin", every, None),
        ]
        admin = AdminClient({**QUIET, "bootstrap.servers": running.bootstrap})
        for future in admin.create_acls(rules).values():
            future.result(20)
        yield running
    finally:
        running.stop()


@pytest.fixture(scope="module")
def registry(cluster: BarnabasCluster, tmp_path_factory: pytest.TempPathFactory) -> Iterator[RegistryProcess]:
    folder = tmp_path_factory.mktemp("registry")
    profile = folder / "client.properties"
    assert cluster.security is not None
    profile.write_text(
        "security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\nsasl.username=registry\n"
        f"sasl.password={PASSWORDS['registry']}\nssl.ca.location={cluster.security.folder / CA_CERTIFICATE}\n"
    )
    profile.chmod(0o600)
    serving = RegistryProcess(folder, cluster.nodes_bootstrap, env={"BARNABAS_PROFILE": str(profile)})
    try:
        serving.start()
        yield serving
    finally:
        serving.stop()


def header(user: str, password: str | None = None) -> str:
    told = f"{user}:{PASSWORDS[user] if password is None else password}"
    return "Basic " + base64.b64encode(told.encode()).decode()


def asked(registry: RegistryProcess, user: str, method: str, path: str, body: object = None) -> tuple[int, Any]:
    return registry.ask(method, path, body, Authorization=header(user))


def client(registry: RegistryProcess, user: str) -> SchemaRegistryClient:
    return SchemaRegistryClient(
        {"url": registry.address, "basic.auth.user.info": f"{user}:{PASSWORDS[user]}", "max.retries": 0}
    )


def test_nobody_gets_in_without_a_password(registry: RegistryProcess) -> None:
    assert registry.ask("GET", "/subjects") == (401, {"error_code": 401, "message": "Unauthorized"})
    for wrong in (
        header("reader", "wrong"),
        header("stranger", "x"),
        "Basic ???",
        "Basic",
        "Bearer x.y.z",
        "Negotiate x",
        "Bearer " + "x" * 20_000,
    ):
        assert registry.ask("GET", "/subjects", Authorization=wrong)[0] == 401
    log = registry.log_path.read_text()
    assert all(password not in log for password in PASSWORDS.values())


def test_rights_are_those_of_the_topic(registry: RegistryProcess) -> None:
    with client(registry, "writer") as writer:
        id = writer.register_schema("orders-value", Schema(ORDER, "AVRO"))
        assert writer.lookup_schema("orders-value", Schema(ORDER, "AVRO")).schema_id == id
    with client(registry, "reader") as reader:
        assert reader.get_schema(id).schema_str == ORDER
        assert reader.get_latest_version("orders-value").version == 1
        assert reader.get_subjects() == ["orders-value"]
        with pytest.raises(SchemaRegistryError) as refused:
            reader.register_schema("orders-value", Schema('"int"', "AVRO"))
        assert (refused.value.http_status_code, refused.value.error_code) == (403, 40301)
    assert asked(registry, "nobody", "GET", "/subjects") == (200, [])
    assert asked(registry, "nobody", "GET", f"/schemas/ids/{id}")[0] == 403
    assert asked(registry, "nobody", "GET", "/subjects/orders-value/versions")[0] == 403
    assert asked(registry, "nobody", "GET", "/schemas") == (200, [])
    event = {"schema": '{"type":"record","name":"Event","namespace":"com.example","fields":[]}'}
    assert asked(registry, "writer", "POST", "/subjects/com.example.Event/versions", event)[0] == 403
    assert asked(registry, "owner", "POST", "/subjects/com.example.Event/versions", event)[0] == 200
    assert asked(registry, "reader", "GET", "/subjects/com.example.Event/versions")[0] == 403


def test_settings_and_deletes(registry: RegistryProcess) -> None:
    level = {"compatibility": "FULL"}
    assert asked(registry, "owner", "POST", "/subjects/orders-key/versions", {"schema": '"long"'})[0] == 200
    assert asked(registry, "writer", "PUT", "/config/orders-key", level)[0] == 403
    assert asked(registry, "owner", "PUT", "/config/orders-key", level)[0] == 200
    assert asked(registry, "reader", "GET", "/config/orders-key")[1] == {"compatibilityLevel": "FULL"}
    assert asked(registry, "owner", "PUT", "/config", level)[0] == 403
    assert asked(registry, "owner", "PUT", "/config/:.other:", level)[0] == 403
    assert asked(registry, "admin", "PUT", "/config", {"compatibility": "BACKWARD"})[0] == 200
    assert asked(registry, "writer", "DELETE", "/subjects/orders-key")[0] == 403
    assert asked(registry, "owner", "DELETE", "/subjects/orders-key") == (200, [1])


def test_an_alias_and_a_reference_give_no_more_rights(registry: RegistryProcess) -> None:
    secret = {"schema": '{"type":"record","name":"Secret","namespace":"com.example","fields":[]}'}
    assert asked(registry, "owner", "POST", "/subjects/com.example.Event/versions", secret)[0] in (200, 409)
    asked(registry, "owner", "PUT", "/config/com.example.Event", {"compatibility": "NONE"})
    assert asked(registry, "owner", "PUT", "/config/orders-alias-value", {"alias": "com.example.Event"})[0] == 403
    assert asked(registry, "owner", "PUT", "/config/orders-key", {"alias": "com.example.Event"})[0] == 200
    assert asked(registry, "reader", "GET", "/subjects/orders-key/versions/latest")[0] == 403
    whole = '{"type":"record","name":"A","fields":[{"name":"a","type":"com.example.Event"}]}'
    named = [{"name": "com.example.Event", "subject": "com.example.Event", "version": 1}]
    body = {"schema": whole, "references": named}
    assert asked(registry, "writer", "POST", "/subjects/orders-value/versions", body)[0] == 403


def test_new_rules_count_soon(registry: RegistryProcess, cluster: BarnabasCluster) -> None:
    assert asked(registry, "nobody", "GET", "/subjects/orders-value/versions")[0] == 403
    admin = AdminClient({**QUIET, "bootstrap.servers": cluster.bootstrap})
    for future in admin.create_acls([rule("nobody", AclOperation.READ, "orders")]).values():
        future.result(20)
    until(lambda: asked(registry, "nobody", "GET", "/subjects/orders-value/versions")[0] == 200, "the rule")


def test_a_registry_that_may_not_see_the_rules_does_not_start(cluster: BarnabasCluster, tmp_path: Path) -> None:
    assert cluster.security is not None
    profile = tmp_path / "client.properties"
    profile.write_text(
        "security.protocol=SASL_SSL\nsasl.mechanism=SCRAM-SHA-512\nsasl.username=owner\n"
        f"sasl.password={PASSWORDS['owner']}\nssl.ca.location={cluster.security.folder / CA_CERTIFICATE}\n"
    )
    serving = RegistryProcess(tmp_path, cluster.nodes_bootstrap, env={"BARNABAS_PROFILE": str(profile)})
    with pytest.raises(RuntimeError, match="barnabas: "):
        serving.start()
    assert "Traceback" not in serving.log_path.read_text()


def test_an_id_does_not_tell_the_names_of_other_subjects(registry: RegistryProcess) -> None:
    """The same schema is registered for a topic that the user may not see."""
    shared = '{"type":"record","name":"InBoth","fields":[]}'
    told = asked(registry, "owner", "POST", "/subjects/com.example.Event-value/versions", {"schema": shared})[1]
    id, guid = told["id"], told["guid"]
    status, refused = asked(registry, "reader", "GET", f"/schemas/ids/{id}")
    assert status == 403 and "Event" not in refused["message"]
    asked(registry, "owner", "PUT", "/config/orders-value", {"compatibility": "NONE"})
    assert asked(registry, "owner", "POST", "/subjects/orders-value/versions", {"schema": shared})[1]["id"] == id
    assert asked(registry, "owner", "GET", f"/schemas/ids/{id}/subjects")[1] == [
        "com.example.Event-value",
        "orders-value",
    ]
    assert asked(registry, "reader", "GET", f"/schemas/ids/{id}/subjects") == (200, ["orders-value"])
    versions = asked(registry, "reader", "GET", f"/schemas/ids/{id}/versions")[1]
    assert {each["subject"] for each in versions} == {"orders-value"}
    named = asked(registry, "reader", "GET", f"/schemas/ids/{id}?subject=com.example.Event-value")[1]
    assert named["subject"] == "orders-value"
    assert asked(registry, "reader", "GET", f"/schemas/guids/{guid}/ids") == (200, [{"context": ".", "id": id}])
