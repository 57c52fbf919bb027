"""Objects that hold secrets do not show them when they are printed, and `log dump` does so only when asked."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from barnabas.cli.log.meaning import HIDDEN, meaning
from barnabas.cli.secure import files
from barnabas.core.access.credentials import ScramCredential
from barnabas.core.cluster.access.linked_users import UserKeys
from barnabas.core.cluster.access.scram_users import ScramUpsertion
from barnabas.core.cluster.record_codec import encode_record
from barnabas.core.cluster.records import ConfigRecord, ScramCredentialRecord
from barnabas.link.sasl import Credentials
from barnabas.model.ids import METADATA_TOPIC
from barnabas.model.settings import Settings
from barnabas.model.settings.effective import StaticValue
from barnabas.model.settings.jaas import parse_jaas
from barnabas.model.settings.listener_security import tls_settings
from barnabas.model.settings.tables import is_secret
from barnabas.wire import apis
from barnabas.wire.codec import request_of, response_of

SECRET = "hunter2-hunter2-"  # 16 bytes, as an id has: it is not shown as one
BYTES = SECRET.encode()
JAAS = f'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="{SECRET}";'
CREDENTIAL = ScramCredentialRecord(
    user="alice", mechanism=1, salt=BYTES, stored_key=BYTES, server_key=BYTES, iterations=4096
)
PASSWORD = ConfigRecord(resource_type=4, resource_name="1", name="listener.name.x.ssl.key.password", value=SECRET)
CHANGE = {"name": "ssl.key.password", "config_operation": 0, "value": SECRET}
KEYS = {
    "user": "alice",
    "mechanism": 1,
    "iterations": 4096,
    "salt": BYTES,
    "stored_key": BYTES,
    "server_key": BYTES,
}
UPSERTION = {"name": "alice", "mechanism": 1, "iterations": 4096, "salt": BYTES, "salted_password": BYTES}

HOLDERS = [
    Credentials("PLAIN", "alice", SECRET),
    ScramCredential(BYTES, BYTES, BYTES, 4096),
    ScramUpsertion("alice", 1, 4096, BYTES, BYTES),
    UserKeys("alice", 1, 4096, BYTES, BYTES, BYTES),
    request_of(apis.ALTER_LINKED_USERS, {"source_cluster_id": "east", "keys": [KEYS]}),
    response_of(apis.DESCRIBE_SCRAM_KEYS, {"error_code": 0, "keys": [KEYS]}),
    CREDENTIAL,
    PASSWORD,
    StaticValue(SECRET, "a file"),
    Settings({"ssl.key.password": SECRET}),
    tls_settings(Settings({"ssl.key.password": SECRET, "ssl.keystore.key": SECRET}), "X"),
    parse_jaas("sasl.jaas.config", JAAS),
    request_of(apis.SASL_AUTHENTICATE, {"auth_bytes": BYTES}),
    request_of(apis.ALTER_USER_SCRAM_CREDENTIALS, {"deletions": [], "upsertions": [UPSERTION]}),
    request_of(
        apis.INCREMENTAL_ALTER_CONFIGS,
        {"resources": [{"resource_type": 4, "resource_name": "1", "configs": [CHANGE]}], "validate_only": False},
    ),
]


@pytest.mark.parametrize("holder", HOLDERS, ids=lambda holder: type(holder).__name__)
def test_a_secret_is_not_printed(holder: object) -> None:
    for text in (repr(holder), str(holder), f"{holder}", repr([holder])):
        assert SECRET not in text


@pytest.mark.parametrize(
    ("record", "fields"), [(CREDENTIAL, {"salt", "stored_key", "server_key"}), (PASSWORD, {"value"})]
)
def test_log_dump_shows_secrets_only_when_asked(record: ScramCredentialRecord | ConfigRecord, fields: set[str]) -> None:
    value = encode_record(record)
    shown = meaning(METADATA_TOPIC, None, value, control=False)
    asked = meaning(METADATA_TOPIC, None, value, control=False, secrets=True)
    assert shown is not None and asked is not None
    assert {name for name, each in shown.items() if each == HIDDEN} == fields
    assert HIDDEN not in asked.values() and {asked[name] for name in fields} <= {SECRET, BYTES.hex()}


def test_other_settings_are_shown() -> None:
    value = encode_record(ConfigRecord(resource_type=2, resource_name="t", name="retention.ms", value="5"))
    assert (meaning(METADATA_TOPIC, None, value, control=False) or {})["value"] == "5"
    assert is_secret("sasl.jaas.config") and is_secret("listener.name.a.plain.sasl.jaas.config")
    assert not is_secret("ssl.keystore.location") and not is_secret("password")


def test_a_file_with_a_secret_is_on_disk_before_it_has_its_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, seen = tmp_path / "new" / "secret", list[tuple[bool, int]]()
    sync = os.fsync

    def noted(fd: int) -> None:
        seen.append((path.exists(), os.fstat(fd).st_size))
        sync(fd)

    monkeypatch.setattr(os, "fsync", noted)
    files.write_secret(path, BYTES)
    assert seen[0] == (False, len(BYTES)), "first its bytes"
    assert len(seen) == 2 and seen[1][0], "then its name"
    assert path.read_bytes() == BYTES and path.stat().st_mode & 0o777 == 0o600
    assert [each.name for each in path.parent.iterdir()] == ["secret"]
