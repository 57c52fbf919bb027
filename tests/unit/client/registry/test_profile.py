"""A registry's login from the client profile, for whoever names only its address."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas import BadSetting, Registry
from tests.unit.client.registry.small_registry import SmallRegistry

BASIC = "Basic YWRhOnNlY3JldA=="


def profile(path: Path, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path.write_text(text)
    path.chmod(0o600)
    monkeypatch.setenv("BARNABAS_PROFILE", str(path))


def test_the_table_with_the_address_counts(
    small: SmallRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"""
[other]
schema.registry.url = "http://other:8081"
schema.registry.basic.auth.user.info = "eve:no"
[orders]
bootstrap = "kafka:9092"
sasl.password = "of the cluster"
schema.registry.url = "{small.url}/"
schema.registry.basic.auth.user.info = "ada:secret"
"""
    profile(tmp_path / "client.toml", text, monkeypatch)
    Registry(small.url).subjects()
    Registry(small.url, bearer_auth_token="mine").subjects()
    assert [each["Authorization"] for each in small.headers] == [BASIC, "Bearer mine"]


def test_properties_are_for_one_registry(small: SmallRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    profile(tmp_path / "client.properties", "bootstrap.servers=a:1\nbasic.auth.user.info=ada:secret\n", monkeypatch)
    Registry(small.url).subjects()
    assert small.headers[0]["Authorization"] == BASIC


def test_nothing_is_said_of_others(small: SmallRegistry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("BARNABAS_PROFILE", raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    Registry(small.url).subjects()
    assert "Authorization" not in small.headers[0]
    profile(tmp_path / "client.toml", "no = toml = at all", monkeypatch)
    with pytest.raises(BadSetting, match=r"the client profile .*client.toml"):
        Registry(small.url)
